"""The counters of SpaceSaving as arrays, with compiled steps that any hot loop can take.

Every monitored key has a *slot*: a record with its identity, count and error. A chained hash table
finds the slot of a key; a key that is taken out leaves its chain without any other key moving.

A compiled loop first takes ``state = borrow(counters)`` and then ``step(state, key_id, weight)``
for each row.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._borrowed import borrowed
from unskew._compiled import compiled, inlined
from unskew._lowest import Lowest, borrow_lowest, lowest_by_ones, lowest_of_any, new_lowest
from unskew.hashing import Ids, mix

ABSENT = -1
"""What `find` answers for a key that is not monitored; slots are never negative."""

_SPREAD = np.uint64(0xD6E8FEB86659FD93)
_SLOT = np.dtype(
    [
        ("id", np.uint64),
        ("error", np.float64),
        ("chain", np.int32),  # where in the hash table the slot is linked
        ("after", np.int32),  # the next slot of that chain, or ABSENT
    ]
)
_SUMMARY = np.dtype([("total", np.float64), ("used", np.int64), ("weighted", np.int64)])


class Counters(NamedTuple):
    """The state of a SpaceSaving sketch."""

    slots: NDArray[Any]
    """A record a slot: id, error, and its place in the hash table."""
    counts: NDArray[np.float64]
    """The count of each slot."""
    first: NDArray[np.int32]
    """The first slot of each chain, or `ABSENT`; a power of two of them."""
    summary: NDArray[Any]
    """One record for the whole: total, slots in use, whether a row weighed other than one."""
    lowest: Lowest
    """The search for the slot with the lowest count."""


def new_counters(capacity: int) -> Counters:
    """Return counters for ``capacity`` keys that have seen nothing."""
    chains = 1 << (8 * capacity - 1).bit_length()
    return Counters(
        slots=np.zeros(capacity, _SLOT),
        counts=np.zeros(capacity, np.float64),
        first=np.full(chains, ABSENT, np.int32),
        summary=np.zeros(1, _SUMMARY),
        lowest=new_lowest(capacity),
    )


@inlined
def borrow(state: Counters) -> Counters:
    """Return the same counters for use inside one compiled function (see `borrowed`)."""
    return Counters(
        borrowed(state.slots),
        borrowed(state.counts),
        borrowed(state.first),
        borrowed(state.summary),
        borrow_lowest(state.lowest),
    )


@compiled
def find(state: Counters, key_id: np.uint64) -> Any:
    """Return the slot of a key, or `ABSENT`."""
    slot = np.int64(state.first[_chain(state, key_id)])
    while slot != ABSENT and state.slots[slot].id != key_id:
        slot = np.int64(state.slots[slot].after)
    return slot


@inlined
def step(state: Counters, key_id: np.uint64, weight: float) -> Any:
    """Count one row of a key and return the key's slot; the key may have taken another's."""
    if weight != 1.0:
        state.summary[0].weighted = 1
    slot = find(state, key_id)
    if slot == ABSENT:
        slot = _take_slot(state, key_id)
    state.counts[slot] += weight
    state.summary[0].total += weight
    return slot


@compiled
def step_many(counters: Counters, ids: Ids, weights: NDArray[np.float64]) -> None:
    """Count many rows; empty ``weights`` mean that all are 1."""
    state = borrow(counters)
    if weights.size == 0:
        for i in range(ids.size):
            step(state, ids[i], 1.0)
    else:
        for i in range(ids.size):
            step(state, ids[i], weights[i])


@compiled
def fill(
    counters: Counters, ids: Ids, counts: NDArray[np.float64], errors: NDArray[np.float64]
) -> None:
    """Monitor keys that are not monitored yet and whose counts are known; there is room for all."""
    state = borrow(counters)
    for i in range(ids.size):
        slot = _take_slot(state, ids[i])
        state.counts[slot] = counts[i]
        state.slots[slot].error = errors[i]


@inlined
def _chain(state: Counters, key_id: np.uint64) -> np.int64:
    return np.int64(mix(key_id, _SPREAD) & np.uint64(state.first.size - 1))


@inlined
def _take_slot(state: Counters, key_id: np.uint64) -> Any:
    """Give a key a slot: a free one, or else the one with the lowest count."""
    whole = state.summary[0]
    slot = whole.used
    if slot < state.slots.size:
        whole.used += 1
    else:
        slot = _lowest(state)
        _unlink(state, slot)
    chain = _chain(state, key_id)
    taken = state.slots[slot]
    taken.id = key_id
    taken.error = state.counts[slot]
    taken.chain = chain
    taken.after = state.first[chain]
    state.first[chain] = slot
    return slot


@inlined
def _unlink(state: Counters, slot: int) -> None:
    chain = state.slots[slot].chain
    before = state.first[chain]
    if before == slot:
        state.first[chain] = state.slots[slot].after
    else:
        while state.slots[before].after != slot:
            before = state.slots[before].after
        state.slots[before].after = state.slots[slot].after


@inlined
def _lowest(state: Counters) -> Any:
    if state.summary[0].weighted:
        return lowest_of_any(state.lowest, state.counts)
    return lowest_by_ones(state.lowest, state.counts)
