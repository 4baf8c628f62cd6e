"""A counting Bloom filter, as compiled steps: a set of keys in little memory that can forget.

It never denies a key that it holds, and wrongly claims at most a small share of the others [1].
Adding a key twice asks for removing it twice. A counter that reaches 255 stays there, so removals
never make the filter deny a key that was added more often than removed. Remove only what was
added: a removal of an absent key that the filter wrongly claims takes counts away from others.

A key touches as few counters as the rate allows, in an array of at least twice the size that would
be the smallest possible: the test of an absent key then nearly always ends at its first counter.
All positions come from one 64-bit hash (double hashing with an odd step, hence distinct).

[1] Fan, Cao, Almeida, Broder, "Summary Cache: a Scalable Wide-Area Web Cache Sharing Protocol",
2000.
"""

import math

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined

FULL = np.uint8(255)
"""A counter that gets here stays here: nobody knows any more how many keys share it."""

_ZERO = np.uint8(0)
_ONE = np.uint8(1)
_SMALLEST = 64


def new_counters(capacity: int, false_positive_rate: float) -> tuple[NDArray[np.uint8], int]:
    """Return counters for ``capacity`` keys, all zero, and how many of them a key touches.

    The well-known formula of the rate holds in the limit of large filters, therefore half of
    ``false_positive_rate`` is aimed at.
    """
    aim = false_positive_rate / 2
    fewest = -capacity * math.log(aim) / math.log(2) ** 2
    size = max(_SMALLEST, 1 << math.ceil(math.log2(2 * fewest)))
    probes = 1
    while (-math.expm1(-probes * capacity / size)) ** probes > aim:
        probes += 1
    return np.zeros(size, np.uint8), probes


@inlined
def contains_hash(counters: NDArray[np.uint8], probes: int, bits: np.uint64) -> bool:
    """Return whether the key with the hash ``bits`` may be held; ends at the first zero."""
    mask = np.uint64(counters.size - 1)
    step = (bits >> np.uint64(32)) | np.uint64(1)
    place = bits
    found = True
    for _ in range(probes):
        if counters[place & mask] == _ZERO:
            found = False
            break
        place += step
    return found


@compiled
def add_hash(counters: NDArray[np.uint8], probes: int, bits: np.uint64) -> None:
    """Count the key with the hash ``bits`` in."""
    mask = np.uint64(counters.size - 1)
    step = (bits >> np.uint64(32)) | np.uint64(1)
    place = bits
    for _ in range(probes):
        if counters[place & mask] != FULL:
            counters[place & mask] += _ONE
        place += step


@compiled
def remove_hash(counters: NDArray[np.uint8], probes: int, bits: np.uint64) -> None:
    """Count the key with the hash ``bits`` out; the caller knows that it is in."""
    mask = np.uint64(counters.size - 1)
    step = (bits >> np.uint64(32)) | np.uint64(1)
    place = bits
    for _ in range(probes):
        if counters[place & mask] != FULL:
            counters[place & mask] -= _ONE
        place += step
