"""SpaceSaving: the most frequent keys of a stream, counted in a fixed number of counters.

The counters are arrays, with compiled steps that any hot loop can take.
"""

import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import borrowed, compiled, inlined
from unskew._lowest import Lowest, borrow_lowest, lowest_by_ones, lowest_of_any, new_lowest
from unskew._validation import check_int, check_real, check_weights
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Key, Keys, distinct, identities, identity, mix

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
_Floats = NDArray[np.float64]


class Counters(NamedTuple):
    """The state of a SpaceSaving sketch."""

    slots: NDArray[Any]
    """A record per slot: id, error, and its place in the hash table."""
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


class SpaceSaving:
    """Count the heavy keys of a stream: never too low, too high by at most total / capacity [1]_.

    For every key, whether it is monitored or not::

        true <= estimate(key) <= true + error(key),    error(key) <= total / capacity

    and each key whose true weight exceeds total / capacity is monitored. All of this also holds
    for weighted rows and after any number of merges [2]_ [3]_.

    Parameters
    ----------
    capacity
        Number of counters, at least 1. Memory is 80 to 112 bytes per counter and never grows.

    Notes
    -----
    A row costs O(1) (amortised) while all rows weigh one, O(log capacity) from the first other
    weight on. A compiled loop of its own takes ``state = borrow(sketch.counters)`` once and
    ``step(state, key_id, weight)`` for each row.

    The ``frequent_items_sketch`` of Apache DataSketches bounds counts as well. This class exists
    because groupings need the paper's definition (a fixed number of counters, an error for each
    key and not one for all) inside compiled loops. It is also 7 to 16 times as fast from Python,
    where theirs takes one row a call; for the same bound theirs keeps more counters, and then
    errs less (``benchmarks/sketches.py``).

    Examples
    --------
    Two counters suffice to find a key that has more than half of all rows:

    >>> sketch = SpaceSaving(2)
    >>> sketch.update_many(["a", "hot", "b", "hot", "c", "hot", "hot"])
    >>> "hot" in sketch, sketch.estimate("hot"), sketch.error("hot") <= 4
    (True, 4.0, True)

    References
    ----------
    .. [1] Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
       Data Streams", ICDT 2005.
    .. [2] Agarwal et al., "Mergeable Summaries", PODS 2012.
    .. [3] Cafaro, Pulimeno, Tempesta, "A Parallel Space Saving Algorithm for Frequent Items and
       the Hurwitz Zeta Distribution", Information Sciences 2016.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = check_int("SpaceSaving", "capacity", capacity, minimum=1)
        self.counters = new_counters(self.capacity)

    def update(self, key: Key, weight: float = 1.0) -> None:
        """Count one row of ``key``."""
        self.update_many([key], None if weight == 1.0 else [weight])

    def update_many(self, keys: Keys, weights: ArrayLike | None = None) -> None:
        """Count a row of every key, in order; ``None`` or empty ``weights`` mean all are 1."""
        ids = identities(keys)
        given = np.empty(0) if weights is None else np.asarray(weights)
        if given.size:  # none stands for all ones
            given = check_weights("SpaceSaving", "weights", given, ids.size)
        step_many(self.counters, ids, given)

    @property
    def total(self) -> float:
        """Summed weight of all rows."""
        return float(self.counters.summary["total"][0])

    @property
    def unseen_bound(self) -> float:
        """The most that an unmonitored key can weigh: the lowest count if full, else 0."""
        return float(self.counters.counts.min()) if len(self) == self.capacity else 0.0

    def estimate(self, key: Key) -> float:
        """Return a weight that ``key`` certainly does not exceed.

        For a key that is not monitored (``key not in sketch``) this is `unseen_bound`.
        """
        slot = find(self.counters, identity(key))
        return self.unseen_bound if slot == ABSENT else float(self.counters.counts[slot])

    def error(self, key: Key) -> float:
        """Return by how much at most `estimate` is too high."""
        slot = find(self.counters, identity(key))
        return self.unseen_bound if slot == ABSENT else float(self.counters.slots["error"][slot])

    def items(self) -> tuple[Ids, _Floats, _Floats]:
        """Return identity, estimate and error of the monitored keys, the heaviest first.

        Equal estimates stand in the order of their identities.
        """
        slots, counts = self.counters.slots[: len(self)], self.counters.counts[: len(self)]
        order = np.lexsort((slots["id"], -counts))
        return slots["id"][order], counts[order], slots["error"][order]

    def heavy_hitters(self, share: float) -> tuple[Ids, _Floats]:
        """Return identity and estimate of the keys with estimate >= share · total, heaviest first.

        No key with a true share of at least ``share`` is missing if share > 1 / capacity.

        >>> sketch = SpaceSaving(10)
        >>> sketch.update_many([7] * 5 + [8] * 4 + [9])
        >>> [values.tolist() for values in sketch.heavy_hitters(0.4)]
        [[7, 8], [5.0, 4.0]]
        """
        check_real("heavy_hitters", "share", share, minimum=0, maximum=1)
        ids, counts, _ = self.items()
        heavy = counts >= share * self.total
        return ids[heavy], counts[heavy]

    def merge(self, other: Self) -> None:
        """Take in what ``other`` has seen, as if both streams had come here.

        A key that one of the two does not monitor may have weighed up to its `unseen_bound`
        there: that much is added to the key's estimate and to its error. Of all keys the
        heaviest ``capacity`` stay. The bounds of the class hold for the summed total.
        """
        if other.capacity != self.capacity:
            expected = f"a sketch of the same capacity ({self.capacity})"
            raise InvalidParameterError("SpaceSaving.merge", "other", expected, other.capacity)
        ids = distinct(np.concatenate([self.items()[0], other.items()[0]]))
        parts = [sketch._bounds_of(ids) for sketch in (self, other)]
        counts, errors = (first + second for first, second in zip(*parts, strict=True))
        kept = np.lexsort((ids, -counts))[: self.capacity]
        merged = new_counters(self.capacity)
        fill(merged, ids[kept], counts[kept], errors[kept])
        for name, combine in (("total", np.add), ("weighted", np.maximum)):
            merged.summary[name] = combine(
                self.counters.summary[name], other.counters.summary[name]
            )
        self.counters = merged

    def scale(self, factor: float) -> None:
        """Multiply all that was counted by ``factor`` (0: forget it)."""
        if check_real("SpaceSaving.scale", "factor", factor, minimum=0) == 0:
            self.counters = SpaceSaving(self.capacity).counters
            return
        for values in (self.counters.counts, self.counters.slots["error"]):
            values *= factor
        self.counters.summary["total"] *= factor
        self.counters.summary["weighted"] = 1
        self.counters = self.counters._replace(lowest=new_lowest(self.capacity))

    def copy(self) -> "SpaceSaving":
        """Return a sketch in the same state that goes its own way from here."""
        twin = SpaceSaving(self.capacity)
        twin.counters = copy.deepcopy(self.counters)
        return twin

    def _bounds_of(self, ids: Ids) -> tuple[_Floats, _Floats]:
        """Return estimate and error of every identity, monitored or not."""
        counts = np.full(ids.size, self.unseen_bound)
        errors = counts.copy()
        own = self.items()
        at = np.searchsorted(ids, own[0])
        counts[at], errors[at] = own[1], own[2]
        return counts, errors

    def __contains__(self, key: Key) -> bool:
        return bool(find(self.counters, identity(key)) != ABSENT)

    def __len__(self) -> int:
        return int(self.counters.summary["used"][0])

    def __repr__(self) -> str:
        return f"SpaceSaving({self.capacity})"
