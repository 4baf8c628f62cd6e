"""A plan: the data that says where every key goes until the next plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._table import ABSENT, Table, get, new_table, put
from unskew.groupings.base import Weights, Workers
from unskew.hashing import Ids, universal
from unskew.scheduling import Loads, Pieces

_WINDOW = 8  # pieces looked at for one row of a key that has many


@dataclass(frozen=True)
class Plan:
    """Hot keys have places of their own; all other keys share the place of their hash slot.

    Parameters
    ----------
    n_workers
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
    """

    n_workers: int
    slot_member: Ids
    slot_workers: NDArray[np.int32]
    hot_ids: Ids
    pieces: Pieces
    predicted_loads: Loads

    @property
    def n_split_keys(self) -> int:
        """Number of keys that live on several workers."""
        return int(np.count_nonzero(np.diff(self.pieces.starts) > 1))

    @property
    def extra_pieces(self) -> int:
        """Number of pieces beyond one a key: what splitting costs in memory."""
        return int(self.pieces.workers.size - self.hot_ids.size)

    @property
    def predicted_imbalance(self) -> float:
        """The percentage of imbalance λ if the stream goes on as it was learned."""
        mean = float(self.predicted_loads.mean())
        return 100.0 * (float(self.predicted_loads.max()) / mean - 1.0) if mean > 0 else 0.0

    def __repr__(self) -> str:
        return (
            f"Plan: {self.n_workers} workers, {self.hot_ids.size} hot keys, "
            f"{self.n_split_keys} keys split, "
            f"predicted imbalance {self.predicted_imbalance:.1f} %"
        )


def hashing_plan(n_workers: int, slot_member: Ids, n_slots: int) -> Plan:
    """Return the plan of one who knows nothing yet: slots dealt in turn, no hot keys.

    >>> hashing_plan(3, np.arange(3, dtype=np.uint64), 6)
    Plan: 3 workers, 0 hot keys, 0 keys split, predicted imbalance 0.0 %
    """
    return Plan(
        n_workers=n_workers,
        slot_member=slot_member,
        slot_workers=np.arange(n_slots, dtype=np.int32) % np.int32(n_workers),
        hot_ids=np.empty(0, np.uint64),
        pieces=Pieces(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0)),
        predicted_loads=np.zeros(n_workers),
    )


class PlanIndex(NamedTuple):
    """A plan in the form that a compiled loop reads."""

    slot_member: Ids
    slot_codes: NDArray[np.int32]  # the slot's worker, or −1 − worker where a hot key is in it
    hot: Table
    starts: NDArray[np.int64]
    workers: NDArray[np.int32]
    cursors: NDArray[np.int64]  # where the next row of a hot key starts to look


def index_plan(plan: Plan) -> PlanIndex:
    """Return ``plan`` indexed for `route_planned`."""
    codes = plan.slot_workers.copy()
    table = new_table(plan.hot_ids.size)
    slots = np.unique(slots_of(plan.hot_ids, plan.slot_member, codes.size))
    codes[slots] = -1 - codes[slots]
    _fill(table, plan.hot_ids)
    cursors = np.zeros(plan.hot_ids.size, np.int64)
    return PlanIndex(
        plan.slot_member, codes, table, plan.pieces.starts, plan.pieces.workers, cursors
    )


@compiled
def _fill(table: Table, hot_ids: Ids) -> None:
    for i in range(hot_ids.size):
        put(table, hot_ids[i], np.int64(i))


@compiled
def slots_of(ids: Ids, member: Ids, n_slots: int) -> NDArray[np.int64]:
    """Return the slot of every identity."""
    slots = np.empty(ids.size, np.int64)
    for i in range(ids.size):
        slots[i] = universal(ids[i], member, np.uint64(n_slots))
    return slots


@compiled
def route_planned(
    ids: Ids, weights: Weights, index: PlanIndex, loads: NDArray[np.int64], out: Workers
) -> None:
    """Send every row where the plan says; rows of a split key to its least loaded worker."""
    n_slots = np.uint64(index.slot_codes.size)
    one = loads.dtype.type(1)
    for i in range(ids.size):
        worker = np.int64(index.slot_codes[universal(ids[i], index.slot_member, n_slots)])
        if worker < 0:
            worker = -1 - worker
            hot = get(index.hot, ids[i])
            if hot != ABSENT:
                first, last = index.starts[hot], index.starts[hot + 1]
                worker = np.int64(index.workers[first])
                if last - first > 1:
                    worker = _least_loaded_piece(index, hot, first, last - first, loads)
        loads[worker] += weights[i] if weights.size else one
        out[i] = worker


@compiled
def _least_loaded_piece(
    index: PlanIndex, hot: np.int64, first: np.int64, count: np.int64, loads: NDArray[np.int64]
) -> np.int64:
    """Look at a few pieces in turn: rows of one key reach all its pieces at a constant price."""
    at = index.cursors[hot]
    best = np.int64(index.workers[first + at])
    for _ in range(1, min(int(count), _WINDOW)):
        at += 1
        if at == count:
            at = 0
        worker = np.int64(index.workers[first + at])
        if loads[worker] < loads[best]:
            best = worker
    if count > _WINDOW:
        index.cursors[hot] = at
    return best


class PlaceHistory:
    """All workers that keys were ever sent to, over all plans so far, in bounded memory.

    It remembers a set of workers a *slot*, so that the answer for a key may name workers where
    only its neighbours were, but never misses one where the key was.
    """

    def __init__(self, n_workers: int, n_slots: int) -> None:
        self._places: NDArray[np.uint64] = np.zeros((n_slots, -(-n_workers // 64)), np.uint64)

    def add(self, plan: Plan) -> None:
        """Note all places of ``plan``."""
        n_slots = self._places.shape[0]
        _note(self._places, np.arange(n_slots), plan.slot_workers)
        slots = slots_of(plan.hot_ids, plan.slot_member, n_slots)
        _note(self._places, np.repeat(slots, np.diff(plan.pieces.starts)), plan.pieces.workers)

    def workers_of(self, slot: int) -> Sequence[int]:
        """Return every worker noted for ``slot``."""
        words = self._places[slot].astype("<u8").view(np.uint8)
        found: list[int] = np.flatnonzero(np.unpackbits(words, bitorder="little")).tolist()
        return found


@compiled
def _note(places: Ids, slots: NDArray[np.int64], workers: NDArray[np.int32]) -> None:
    for i in range(slots.size):
        word, bit = divmod(workers[i], 64)
        places[slots[i], word] |= np.uint64(1) << np.uint64(bit)
