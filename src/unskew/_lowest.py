"""The place of the lowest of many values that only grow, for use inside hot loops.

Two ways. While values grow by ones, a list of all places that stood at the lowest value when it was
last made: each new list raises the lowest value, which is at most the mean, so that lists cost
O(1) a growth. With any other growth, a heap whose entries may lag behind the values (an entry that
lags is put right when it comes to the top): O(log size) a growth, amortised. Either way a call
answers what ``values.argmin()`` would, the first place if there are several.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import borrowed, compiled, inlined

_ENTRY = np.dtype([("place", np.int64), ("bound", np.float64)])
_STATE = np.dtype(
    [
        ("level", np.float64),  # the value at the places in the list
        ("list_at", np.int64),
        ("list_end", np.int64),
        ("is_heap", np.int64),
    ]
)


class Lowest(NamedTuple):
    """What is known of the order of the values: the list, or the heap, and one record on it."""

    entries: NDArray[Any]
    state: NDArray[Any]


def new_lowest(size: int) -> Lowest:
    """Return the search for the lowest of ``size`` values that are not negative."""
    return Lowest(np.zeros(size, _ENTRY), np.zeros(1, _STATE))


@inlined
def borrow_lowest(lowest: Lowest) -> Lowest:
    """Return the same for use inside one compiled function (see `borrowed`)."""
    return Lowest(borrowed(lowest.entries), borrowed(lowest.state))


@inlined
def lowest_by_ones(lowest: Lowest, values: NDArray[Any]) -> Any:
    """Return the place of the lowest value; quick if values grow by ones."""
    state = lowest.state[0]
    at = state.list_at
    # Values never fall, so one that still stands at the level is still a lowest one.
    while at < state.list_end and values[lowest.entries[at].place] != state.level:
        at += 1
    if at == state.list_end:
        at = 0
        _make_list(lowest, values)
    state.list_at = at
    return lowest.entries[at].place


@compiled
def lowest_of_any(lowest: Lowest, values: NDArray[Any]) -> Any:
    """Return the place of the lowest value; `lowest_by_ones` must not be used after this."""
    entries = lowest.entries
    if not lowest.state[0].is_heap:
        for place in range(entries.size):
            entries[place].place = place
            entries[place].bound = 0.0
        lowest.state[0].is_heap = 1
    while entries[0].bound != values[entries[0].place]:
        _sink_top(entries, values[entries[0].place])
    return entries[0].place


@compiled
def _make_list(lowest: Lowest, values: NDArray[Any]) -> None:
    level = values[0]
    for place in range(values.size):
        level = min(level, values[place])
    end = 0
    for place in range(values.size):
        # Write always, advance if it counts: no branch to guess wrong.
        lowest.entries[end].place = place
        end += values[place] == level
    lowest.state[0].level = level
    lowest.state[0].list_end = end


@inlined
def _sink_top(entries: NDArray[Any], bound: float) -> None:
    """Put the top's entry right and let it sink to its place in the heap."""
    place = entries[0].place
    at, child = 0, 1
    while child < entries.size:
        if child + 1 < entries.size and _before(
            entries[child + 1].bound,
            entries[child + 1].place,
            entries[child].bound,
            entries[child].place,
        ):
            child += 1
        if not _before(entries[child].bound, entries[child].place, bound, place):
            break
        entries[at].place = entries[child].place
        entries[at].bound = entries[child].bound
        at, child = child, 2 * child + 1
    entries[at].place = place
    entries[at].bound = bound


@inlined
def _before(bound: float, place: int, other_bound: float, other_place: int) -> Any:
    return bound < other_bound or (bound == other_bound and place < other_place)
