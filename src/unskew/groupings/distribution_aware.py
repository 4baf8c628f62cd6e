"""Distribution-aware key grouping (DKG 2015): whole keys, placed by what was learned."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int, check_real
from unskew.groupings.base import SparkMode
from unskew.groupings.plan import Plan, slots_of
from unskew.groupings.planned import PlannedGrouping
from unskew.hashing import Ids
from unskew.scheduling import LoadArray, Pieces, longest_first
from unskew.sketches.space_saving import SpaceSaving

_LEAST_SHARE = 1e-6  # a summary has twice as many counters as keys can have such a share


class DistributionAware(PlannedGrouping):
    """Place heavy keys one by one and the others in buckets, by LPT, after a learning phase [1].

    A key stays on one worker, so operators that cannot merge partial results may use it. No more
    than one hot key can be done about: its worker gets all of its rows.

    Parameters
    ----------
    workers
        Number of downstream workers (the paper's k), at least 1.
    threshold
        Share of the stream from which a key is heavy (Θ), in [1e-6, 1].
    epsilon
        Precision of the SpaceSaving summary, 1/ε counters (ε < Θ); Θ/2 by default.
    buckets_per_worker
        Buckets per worker for all other keys (μ), at least 1.
    schedule_buckets
        Off: other keys are hashed straight to the workers and only the heavy ones scheduled (the
        paper's WOSIM).
    split_heavy
        Each heavy key enters the schedule as two halves, and a row goes to the less loaded of its
        two workers (the paper's DKG-PKG). Results then need a merge.
    quadratic
        Loads are squared before scheduling, for work that grows with the square of the rows.
    seed
        Picks the hash function.

    Examples
    --------
    A key of a third of the rows gets a worker (almost) of its own:

    >>> keys = ["hot", "a", "b", "hot", "c", "d"] * 50
    >>> grouping = DistributionAware(3, seed=1).learn(keys).build()
    >>> workers = grouping.route_many(keys)
    >>> np.bincount(workers).tolist()
    [100, 100, 100]
    >>> grouping.candidates("hot") == (int(workers[0]),)
    True

    References
    ----------
    [1] Rivetti et al., "Efficient Key Grouping for Near-Optimal Load Balancing in Stream Processing
       Systems", DEBS 2015.
    """

    name: ClassVar[str] = "distribution-aware"
    paper: ClassVar[str] = "Rivetti et al. 2015 (DKG)"
    splits_keys: bool = False
    spark: ClassVar[SparkMode | None] = "plan"
    learns_on_streams: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        *,
        threshold: float = 0.1,
        epsilon: float | None = None,
        buckets_per_worker: int = 2,
        schedule_buckets: bool = True,
        split_heavy: bool = False,
        quadratic: bool = False,
        seed: int = 0,
    ) -> None:
        owner = "DistributionAware"
        self.threshold = check_real(owner, "threshold", threshold, minimum=_LEAST_SHARE, maximum=1)
        if epsilon is not None:
            epsilon = check_real(
                owner, "epsilon", epsilon, minimum=_LEAST_SHARE / 2, below=self.threshold
            )
        self.epsilon = epsilon
        self.buckets_per_worker = check_int(
            owner, "buckets_per_worker", buckets_per_worker, minimum=1
        )
        self.schedule_buckets = bool(schedule_buckets)
        self.split_heavy = self.splits_keys = bool(split_heavy)
        self.quadratic = bool(quadratic)
        workers = check_int(owner, "workers", workers, minimum=1)
        super().__init__(
            workers,
            n_slots=workers * self.buckets_per_worker if schedule_buckets else workers,
            n_counters=math.ceil(1 / (self.threshold / 2 if epsilon is None else epsilon)),
            seed=seed,
        )

    @property
    def most_hot_keys(self) -> int:
        """As many keys can have the share from which on a key is heavy."""
        return math.ceil(1 / self.threshold)

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        heavy_ids, heavy_loads = summary.heavy_hitters(self.threshold)
        buckets = _without(slot_loads, heavy_ids, heavy_loads, self.plan.slot_member)
        halves = 2 if self.split_heavy else 1
        pieces = np.repeat(heavy_loads / halves, halves)
        bucket_workers, piece_workers = self._schedule(buckets, pieces)
        starts = np.arange(heavy_ids.size + 1, dtype=np.int64) * halves
        predicted = np.zeros(self.workers)
        np.add.at(predicted, bucket_workers, buckets)
        np.add.at(predicted, piece_workers, pieces)
        return Plan(
            workers=self.workers,
            slot_member=self.plan.slot_member,
            slot_workers=bucket_workers,
            hot_ids=heavy_ids,
            pieces=Pieces(starts, piece_workers, pieces),
            predicted_loads=predicted,
        )

    def _schedule(
        self, buckets: LoadArray, pieces: LoadArray
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        power = 2 if self.quadratic else 1
        if not self.schedule_buckets:
            straight = np.arange(self.workers, dtype=np.int32)
            return straight, longest_first(pieces**power, self.workers)
        workers = longest_first(np.concatenate([buckets, pieces]) ** power, self.workers)
        return workers[: buckets.size], workers[buckets.size :]


def _without(slot_loads: LoadArray, ids: Ids, loads: LoadArray, member: Ids) -> LoadArray:
    """Take the heavy keys out of their buckets; a summary over-estimates, so stop at zero."""
    rest = slot_loads.copy()
    np.subtract.at(rest, slots_of(ids, member, rest.size), loads)
    return np.maximum(rest, 0.0)
