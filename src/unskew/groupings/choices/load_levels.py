"""The least loaded of any set of workers in a few steps, while loads are row counts.

For each load there is the set of the workers that stand at it; the least loaded of other workers
is then found with a few comparisons of bit sets, however many they are. Loads that differ by a
multiple of 256 share a set, which takes a look at the load of what is found there.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import borrowed, compiled, inlined

Sets = NDArray[np.uint64]
"""A row a set: bit ``worker % 64`` of word ``worker // 64`` tells whether the worker is in it."""

Number = int | np.int64

_LEVELS = 256
_LEVEL = _LEVELS - 1
_IN_WORD = 63
_ONE = np.uint64(1)
# Multiplied by a power of two, the de Bruijn sequence has other top six bits for each.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT_OF = np.zeros(64, np.int64)
for _bit in range(64):
    _BIT_OF[(int(_DE_BRUIJN) << _bit) % 2**64 >> 58] = _bit


class Levels(NamedTuple):
    """Workers by load, and sets of workers in which the least loaded is wanted."""

    at_load: Sets
    """Row ``load % 256`` is the set of the workers at that load."""
    sets: Sets
    bounds: NDArray[np.int64]
    """For every set, a load that its least loaded worker has at least."""


def new_levels(workers: int, n_sets: int) -> Levels:
    """Return room for ``n_sets`` sets, all empty."""
    n_words = words_for(workers)
    return Levels(
        at_load=np.zeros((_LEVELS, n_words), np.uint64),
        sets=np.zeros((n_sets, n_words), np.uint64),
        bounds=np.zeros(n_sets, np.int64),
    )


def words_for(workers: int) -> int:
    """Return how many words a set of workers takes.

    >>> words_for(64), words_for(65)
    (1, 2)
    """
    return (workers + 63) // 64


@inlined
def borrow_levels(levels: Levels) -> Levels:
    """Return the same for use inside one compiled function (see `borrowed`)."""
    return Levels(borrowed(levels.at_load), borrowed(levels.sets), borrowed(levels.bounds))


@inlined
def put_in(sets: Sets, at: Number, worker: Number) -> None:
    """Add a worker to a set."""
    sets[at, worker >> 6] |= _ONE << np.uint64(worker & _IN_WORD)


@inlined
def is_in(sets: Sets, at: Number, worker: Number) -> Any:
    """Tell whether a worker is in a set."""
    return (sets[at, worker >> 6] >> np.uint64(worker & _IN_WORD)) & _ONE != np.uint64(0)


@inlined
def raise_load(levels: Levels, worker: Number, load: Number) -> None:
    """Note that the load of a worker was ``load`` and is one more now."""
    bit = _ONE << np.uint64(worker & _IN_WORD)
    levels.at_load[load & _LEVEL, worker >> 6] &= ~bit
    levels.at_load[(load + 1) & _LEVEL, worker >> 6] |= bit


@compiled
def start_levels(levels: Levels, n_sets: int, loads: NDArray[Any]) -> None:
    """Note all loads, after they have changed unnoticed or sets have changed."""
    levels.at_load[:] = np.uint64(0)
    for worker in range(loads.size):
        put_in(levels.at_load, np.int64(loads[worker]) & _LEVEL, worker)
    for at in range(n_sets):
        levels.bounds[at] = loads[least_by_comparison(levels.sets, at, loads)]


@inlined
def least_loaded(levels: Levels, at: int, loads: NDArray[Any]) -> Any:
    """Return the least loaded worker of a set; a tie goes to the first."""
    load = levels.bounds[at]
    word, found = _first_word(levels, at, load)
    while found == 0:
        load += 1
        word, found = _first_word(levels, at, load)
    worker = (word << 6) + lowest_bit(found)
    if loads[worker] != load:
        worker = _look_at_loads(levels, at, load, loads)
        load = np.int64(loads[worker])
    levels.bounds[at] = load
    return worker


@inlined
def _first_word(levels: Levels, at: int, load: int) -> tuple[int, Any]:
    """Return the first word in which a set and the workers at a load meet, without a branch."""
    first, found = 0, np.uint64(0)
    for word in range(levels.sets.shape[1]):
        here = levels.at_load[load & _LEVEL, word] & levels.sets[at, word]
        first = word if found == 0 else first
        found = here if found == 0 else found
    return first, found


@compiled
def _look_at_loads(levels: Levels, at: int, load: int, loads: NDArray[Any]) -> Any:
    """Find the least loaded worker, at ``load`` or above, where loads share a set."""
    while True:
        for word in range(levels.sets.shape[1]):
            found = levels.at_load[load & _LEVEL, word] & levels.sets[at, word]
            while found:
                worker = (word << 6) + lowest_bit(found)
                if loads[worker] == load:
                    return worker
                found &= found - _ONE
        load += 1


@inlined
def lowest_bit(bits: np.uint64) -> Any:
    """Return the number of zeros below the lowest one."""
    return _BIT_OF[((bits & (~bits + _ONE)) * _DE_BRUIJN) >> np.uint64(58)]


@compiled
def least_by_comparison(sets: Sets, at: int, loads: NDArray[Any]) -> Any:
    """Return the least loaded worker of a set, for loads of any kind; a tie goes to the first."""
    best = -1
    for word in range(sets.shape[1]):
        rest = sets[at, word]
        while rest:
            worker = (word << 6) + lowest_bit(rest)
            if best < 0 or loads[worker] < loads[best]:
                best = worker
            rest &= rest - _ONE
    return best
