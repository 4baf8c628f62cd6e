"""A plan: the data that says where every key goes until the next plan."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._bars import bars_of
from unskew._compiled import compiled, inlined
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Weights, Workers
from unskew.hashing import Ids, distinct, mix, universal
from unskew.scheduling import LoadArray, Pieces

HASHED_MEMBER: Ids = np.array([0, 1 << 32, 0], np.uint64)
"""The member that takes an identity's upper half as it is, for identities that are hashes already.

The slot of h is ((h >> 32) · n_slots) >> 32, which any engine computes that hashes to 64 bits.
"""

_MOST_ADDED = 16  # plans whose places are noted one beside the other before they are merged
_DRAWS = np.uint64(0x5851F42D4C957F2D)  # the seed of the draws among a key's pieces


@dataclass(frozen=True, eq=False)
class Plan:
    """Hot keys have places of their own; all other keys share the place of their hash slot.

    Parameters
    ----------
    workers
        Number of workers that the plan is for.
    slot_member
        The member of the 2-universal family that maps an identity to its slot.
    slot_workers
        The worker of each slot.
    hot_ids
        Identities of the keys with places of their own.
    pieces
        The places of each hot key: one worker, or several where the key is split.
    predicted_loads
        What each worker should receive, in the units that were learned.
    capacity
        How much each worker can do; None if all are alike.
    why
        Why it was chosen, in words, where something has chosen it.
    """

    workers: int
    slot_member: Ids
    slot_workers: NDArray[np.int32]
    hot_ids: Ids
    pieces: Pieces
    predicted_loads: LoadArray
    capacity: LoadArray | None = None
    why: str = ""

    @property
    def n_split_keys(self) -> int:
        """Number of keys that live on several workers."""
        return int(np.count_nonzero(np.diff(self.pieces.starts) > 1))

    @property
    def extra_pieces(self) -> int:
        """Number of pieces beyond one per key: what splitting costs in memory."""
        return int(self.pieces.workers.size - self.hot_ids.size)

    @property
    def predicted_imbalance(self) -> float:
        """The percentage of imbalance λ if the stream goes on as it was learned."""
        capacity = np.ones(self.workers) if self.capacity is None else self.capacity
        mean = float(self.predicted_loads.sum() / capacity.sum())
        fullest = float((self.predicted_loads / capacity).max())
        return 100.0 * (fullest / mean - 1.0) if mean > 0 else 0.0

    @property
    def summary(self) -> str:
        """What it is and promises, in a few words."""
        split = f"{self.n_split_keys} key{'' if self.n_split_keys == 1 else 's'} split"
        even = f"predicted imbalance {self.predicted_imbalance:.1f} %"
        return f"{self.workers} workers, {split}, {even}"

    def __repr__(self) -> str:
        return f"Plan: {self.summary}"

    def _repr_html_(self) -> str:
        """Return the summary, why it was chosen, and a bar for the predicted load of a worker."""
        lines = [f"<b>{escape(repr(self))}</b>"]
        if self.why:
            lines.append(escape(self.why))
        drawn = bars_of(self.predicted_loads.tolist(), "predicted load per worker")
        return f"<div>{'<br>'.join(lines)}</div>{drawn}"


def hashing_plan(workers: int, slot_member: Ids, n_slots: int) -> Plan:
    """Return the plan before anything is known: slot i goes to worker i mod W, no hot keys.

    >>> hashing_plan(3, np.arange(3, dtype=np.uint64), 6)
    Plan: 3 workers, 0 keys split, predicted imbalance 0.0 %
    """
    return Plan(
        workers=workers,
        slot_member=slot_member,
        slot_workers=np.arange(n_slots, dtype=np.int32) % np.int32(workers),
        hot_ids=np.empty(0, np.uint64),
        pieces=Pieces(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)),
        predicted_loads=np.zeros(workers),
    )


def check_plan(owner: str, plan: Plan) -> None:
    """Raise, in the name of ``owner``, if a plan is for other identities than Spark computes."""
    if not np.array_equal(plan.slot_member, HASHED_MEMBER):
        raise InvalidParameterError(
            owner,
            "plan",
            "one that was learned from the identities that Spark computes",
            plan,
            hint="let us.plan make it",
        )


def shuffling_plan(workers: int, hot_ids: Ids, *, member: Ids = HASHED_MEMBER) -> Plan:
    """Return the plan that spreads hot keys evenly over all workers and hashes the others.

    >>> shuffling_plan(3, np.array([7], np.uint64))
    Plan: 3 workers, 1 key split, predicted imbalance 0.0 %
    """
    placed = np.tile(np.arange(workers, dtype=np.int32), hot_ids.size)
    starts = np.arange(hot_ids.size + 1, dtype=np.int64) * workers
    pieces = Pieces(starts, placed, np.ones(placed.size))
    return replace(hashing_plan(workers, member, workers), hot_ids=hot_ids, pieces=pieces)


def refuse_inconsistent(plan: Plan) -> None:
    """Raise ValueError unless every slot and every hot key has workers that there are.

    Compiled loops look things up without asking: a plan that is not whole could end the process.
    """
    starts, workers, loads = plan.pieces
    places = np.concatenate([plan.slot_workers, workers])
    whole = (
        plan.slot_workers.size > 0
        and plan.predicted_loads.size == plan.workers
        and (plan.capacity is None or plan.capacity.size == plan.workers)
        and starts.size == plan.hot_ids.size + 1 == np.unique(plan.hot_ids).size + 1
        and starts[0] == 0
        and starts[-1] == workers.size == loads.size
        and bool(np.all(np.diff(starts) > 0))
        and 0 <= places.min() <= places.max() < plan.workers
        and bool(np.all(np.isfinite(loads) & (loads >= 0)))
    )
    if not whole:
        raise ValueError("its tables do not fit together")


def places_of(plan: Plan, key_id: np.uint64) -> set[int]:
    """Return the workers that ``plan`` has for the key with this identity.

    >>> places_of(hashing_plan(3, HASHED_MEMBER, 6), np.uint64(0))
    {0}
    """
    hot = np.flatnonzero(plan.hot_ids == key_id)
    if hot.size:
        first, last = plan.pieces.starts[hot[0]], plan.pieces.starts[hot[0] + 1]
        return set(plan.pieces.workers[first:last].tolist())
    slot = slots_of(np.array([key_id], np.uint64), plan.slot_member, plan.slot_workers.size)[0]
    return {int(plan.slot_workers[slot])}


class PlanIndex(NamedTuple):
    """A plan in the form that a compiled loop reads: hot keys one after the other, by slot."""

    slot_member: Ids
    slot_codes: NDArray[np.int32]  # the slot's worker, or −1 − the first hot key in it
    hot_ids: Ids
    hot_slots: NDArray[np.int64]
    slot_workers: NDArray[np.int32]
    starts: NDArray[np.int64]  # of the pieces of each hot key
    counts: NDArray[np.int64]
    workers: NDArray[np.int32]


def index_plan(plan: Plan) -> PlanIndex:
    """Return ``plan`` indexed for `route_planned`, or raise if it is not whole."""
    refuse_inconsistent(plan)
    slots = slots_of(plan.hot_ids, plan.slot_member, plan.slot_workers.size)
    order = np.argsort(slots, kind="stable")
    codes = plan.slot_workers.copy()
    occupied, first = np.unique(slots[order], return_index=True)
    codes[occupied] = -1 - first
    return PlanIndex(
        slot_member=plan.slot_member,
        slot_codes=codes,
        hot_ids=plan.hot_ids[order],
        hot_slots=np.append(slots[order], -1),
        slot_workers=plan.slot_workers,
        starts=plan.pieces.starts[order],
        counts=np.diff(plan.pieces.starts)[order],
        workers=plan.pieces.workers,
    )


@compiled
def slots_of(ids: Ids, member: Ids, n_slots: int) -> NDArray[np.int64]:
    """Return the slot of every identity."""
    slots = np.empty(ids.size, np.int64)
    for i in range(ids.size):
        slots[i] = universal(ids[i], member, np.uint64(n_slots))
    return slots


@compiled
def route_planned(
    ids: Ids,
    weights: Weights,
    index: PlanIndex,
    first_row: int,
    loads: NDArray[np.int64],
    slowness: LoadArray,
    out: Workers,
) -> None:
    """Send every row where the plan says; rows of a split key to a little loaded worker of it.

    Of a key's pieces four are looked at, one drawn from each quarter, and the least loaded is
    taken. Up to four pieces this is about the least loaded of all; beyond, as good as: the power
    of several choices at the price of a few. What is drawn depends on the number of the row.
    A row weighs ``slowness[worker]`` times as much where workers are unlike (else it is empty).
    """
    member, codes, hot_ids, hot_slots, slot_workers, starts, counts, workers = index
    n_slots = np.uint64(codes.size)
    one = loads.dtype.type(1)
    for i in range(ids.size):
        slot = universal(ids[i], member, n_slots)
        worker = np.int64(codes[slot])
        if worker < 0:
            hot = -1 - worker
            while hot_ids[hot] != ids[i] and hot_slots[hot + 1] == slot:
                hot += 1
            if hot_ids[hot] != ids[i]:
                worker = np.int64(slot_workers[slot])
            else:
                first, count = starts[hot], np.uint64(counts[hot])
                drawn = mix(np.uint64(first_row + i), _DRAWS)
                a = np.int64(workers[first + _drawn_piece(drawn, 0, count)])
                b = np.int64(workers[first + _drawn_piece(drawn, 1, count)])
                c = np.int64(workers[first + _drawn_piece(drawn, 2, count)])
                d = np.int64(workers[first + _drawn_piece(drawn, 3, count)])
                load_a, load_b, load_c, load_d = loads[a], loads[b], loads[c], loads[d]
                b_is_less, d_is_less = load_b < load_a, load_d < load_c
                lower, lower_load = b if b_is_less else a, load_b if b_is_less else load_a
                upper, upper_load = d if d_is_less else c, load_d if d_is_less else load_c
                worker = upper if upper_load < lower_load else lower
        if slowness.size:
            loads[worker] += (weights[i] if weights.size else 1.0) * slowness[worker]
        else:
            loads[worker] += weights[i] if weights.size else one
        out[i] = worker


@inlined
def _drawn_piece(drawn: np.uint64, quarter: int, count: np.uint64) -> np.int64:
    """Return a piece of the given quarter of all pieces, by 14 bits of ``drawn``."""
    bits = (drawn >> np.uint64(14 * quarter)) & np.uint64(0x3FFF)
    place = (np.uint64(quarter) << np.uint64(14)) | bits
    return np.int64((place * count) >> np.uint64(16))


class PlaceHistory:
    """All workers that keys were ever sent to, over all plans so far, in bounded memory.

    It remembers a set of workers a *slot*, so that the answer for a key may name workers where
    only its neighbours were, but never misses one where the key was.
    """

    def __init__(self, workers: int, n_slots: int) -> None:
        self._workers, self._n_slots = workers, n_slots
        self._places: Ids = np.empty(0, np.uint64)  # slot · workers + worker, each once
        self._added: list[Ids] = []

    def add(self, plan: Plan) -> None:
        """Note all places of ``plan``."""
        hot = slots_of(plan.hot_ids, plan.slot_member, self._n_slots)
        slots = np.concatenate([np.arange(self._n_slots), hot.repeat(np.diff(plan.pieces.starts))])
        workers = np.concatenate([plan.slot_workers, plan.pieces.workers])
        self._added.append((slots * self._workers + workers).astype(np.uint64))
        if len(self._added) >= _MOST_ADDED:
            self._settle()

    def workers_of(self, slot: int) -> Sequence[int]:
        """Return every worker noted for ``slot``."""
        self._settle()
        begin = slot * self._workers
        ends = np.array([begin, begin + self._workers], np.uint64)
        first, end = np.searchsorted(self._places, ends)
        found: list[int] = (self._places[first:end] - np.uint64(begin)).tolist()
        return found

    def _settle(self) -> None:
        if self._added:
            self._places = distinct(np.concatenate([self._places, *self._added]))
            self._added = []
