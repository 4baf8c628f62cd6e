"""KIP: the heaviest keys are put on workers one by one, all others hashed into what is left."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int, check_real
from unskew.groupings.base import SparkMode
from unskew.groupings.plan import Plan, places_of, slots_of
from unskew.groupings.planned import PlannedGrouping
from unskew.hashing import Ids
from unskew.scheduling import LoadArray, Pieces, sums_of
from unskew.sketches.space_saving import SpaceSaving

_SLOTS_PER_WORKER = 100
_ALLOWED_ERROR = 0.001
_COUNTERS_PER_KEY = 8


class Kip(PlannedGrouping):
    """Isolate the heaviest keys, and hash the rest in proportion to the room that they leave [1].

    At each epoch the heaviest keys are told from what was counted, and each gets a worker: its
    present one while that has room, else the one that its hash gives it, else the emptiest. What
    then lacks of an even load on every worker is the part of all other keys that it is hashed.
    As few keys as possible move from one plan to the next, since their state would have to move
    along. A key stays on one worker, so operators that cannot merge partial results may use it; a
    key with more rows than a worker's fair share makes its worker late all the same.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    excess
        How many keys are isolated, per worker, above 0.
    seed
        Picks the hash function.

    Notes
    -----
    Rule and numbers are those of the authors' program: 2 · W keys, a worker has room up to the
    larger of the hottest key's share and 1 / W, and 0.001 more; 100 hash slots per worker. There
    slots are points on a ring, here they are dealt out in proportion, and those that move are as
    few as the proportions allow. What a slot's keys weigh is not looked at, as in the paper.

    Decided: each plan is made from the rows since the one before (the paper's histograms fade, at
    a pace that could not be looked up).

    Examples
    --------
    A key of a third of the rows gets a worker of its own, to which no other key is hashed:

    >>> keys = [7] * 500 + list(range(100, 1100))
    >>> plan = Kip(3, seed=1).learn(keys).build().plan
    >>> plan.n_split_keys, int(np.bincount(plan.slot_workers, minlength=3).min())
    (0, 0)

    References
    ----------
    [1] Zvara et al., "System-aware dynamic partitioning for batch and streaming workloads",
       arXiv 2105.15023, 2021.
    """

    name: ClassVar[str] = "kip"
    paper: ClassVar[str] = "Zvara et al. 2021 (DR, KIP)"
    splits_keys: bool = False
    spark: ClassVar[SparkMode | None] = "plan"
    learns_on_streams: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True

    def __init__(self, workers: int, *, excess: float = 2.0, seed: int = 0) -> None:
        workers = check_int("Kip", "workers", workers, minimum=1)
        self.excess = check_real("Kip", "excess", excess, above=0)
        self._isolated = max(1, round(workers * self.excess))
        super().__init__(
            workers,
            n_slots=_SLOTS_PER_WORKER * workers,
            n_counters=_COUNTERS_PER_KEY * self._isolated,
            seed=seed,
        )

    @property
    def most_hot_keys(self) -> int:
        """So many keys are isolated."""
        return self._isolated

    def build(self) -> Self:
        """Make the plan from what was learned since the last one."""
        super().build()
        self._fade()  # to nothing
        return self

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        ids, counts, errors = summary.items()
        ids, loads = ids[: self._isolated], (counts - errors)[: self._isolated]
        order = np.argsort(-loads, kind="stable")
        ids, loads = ids[order], loads[order]
        workers = self._isolate(ids, loads / max(summary.total, 1.0))
        sizes = sums_of(loads, workers, self.workers)
        slot_workers = self._hash_the_rest(sizes, summary.total)
        rest = slot_loads.copy()
        np.subtract.at(rest, slots_of(ids, self.plan.slot_member, rest.size), loads)
        return Plan(
            workers=self.workers,
            slot_member=self.plan.slot_member,
            slot_workers=slot_workers,
            hot_ids=ids,
            pieces=Pieces(np.arange(ids.size + 1, dtype=np.int64), workers, loads),
            predicted_loads=sizes + sums_of(np.maximum(rest, 0.0), slot_workers, self.workers),
        )

    def _isolate(self, ids: Ids, shares: LoadArray) -> NDArray[np.int32]:
        """Return the worker of each heavy key, the heaviest first."""
        placed, sizes = np.empty(ids.size, np.int32), np.zeros(self.workers)
        room = max(float(shares.max(initial=0.0)), 1 / self.workers) + _ALLOWED_ERROR
        slots = slots_of(ids, self.plan.slot_member, self.plan.slot_workers.size)
        hashed = self.plan.slot_workers[slots]
        moving = []
        for at, key_id in enumerate(ids):
            (present,) = places_of(self.plan, key_id)
            if sizes[present] + shares[at] <= room or sizes[present] == 0:
                placed[at] = present
                sizes[present] += shares[at]
            else:
                moving.append(at)
        for at in moving:
            worker = hashed[at]
            if sizes[worker] + shares[at] >= room and sizes[worker] > 0:
                worker = np.int32(sizes.argmin())
            placed[at] = worker
            sizes[worker] += shares[at]
        return placed

    def _hash_the_rest(self, sizes: LoadArray, total: float) -> NDArray[np.int32]:
        """Return the worker of each slot: in proportion to the room left, moving few slots."""
        slot_workers = self.plan.slot_workers.copy()
        room = np.maximum(_level(sizes, max(total, 1.0)) - sizes, 0.0)
        if not room.any():  # heavy keys had all rows
            return slot_workers
        wanted = slot_workers.size * room / room.sum()
        quota = np.floor(wanted).astype(np.int64)
        short = slot_workers.size - int(quota.sum())
        quota[np.argsort(quota - wanted, kind="stable")[:short]] += 1
        free = []
        for worker in range(self.workers):
            own = np.flatnonzero(slot_workers == worker)
            free.append(own[quota[worker] :])
            quota[worker] -= min(own.size, quota[worker])
        slot_workers[np.concatenate(free)] = np.repeat(np.arange(self.workers), quota)
        return slot_workers


def _level(sizes: LoadArray, total: float) -> float:
    """Return the load of a worker that is not above it, where the rest fills the others up.

    >>> _level(np.array([6.0, 0.0, 1.0]), 10.0)
    2.0
    """
    ordered = np.sort(sizes)
    rest = total - float(sizes.sum())
    levels = (np.cumsum(ordered) + rest) / np.arange(1, sizes.size + 1)
    above = np.append(ordered[1:], np.inf)
    return float(levels[np.argmax(levels <= above)])
