"""Popularity by counts: the hot keys of a table or a micro-batch, which an engine can count."""

import math
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from unskew.groupings.base import SparkMode, Weights
from unskew.groupings.plan import Plan, shuffling_plan, slots_of
from unskew.groupings.planned import PlannedGrouping
from unskew.groupings.popularity.adaptive_threshold import hot_share
from unskew.hashing import Ids
from unskew.scheduling import LoadArray, sums_of
from unskew.sketches.space_saving import SpaceSaving


class CountedPopularity(PlannedGrouping):
    """Spread keys whose counted share of the rows reaches a threshold, hash all others.

    `Popularity` without its predictor: no coin, no vectors and no filter, but counts. On Spark the
    counts are Spark's own and the plan is one native expression, which costs less than a Python
    task; on a stream each micro-batch is counted for the next.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    frequency
        Share of all rows from which on a key is spread over all workers, in [1e-6, 1]; by default
        1/(20·workers), as in `Popularity`.
    seed
        Picks the hash function; equal seeds give equal answers in every process.

    Notes
    -----
    What earlier micro-batches have shown counts half as much with each one that follows: a key
    that had the share s for long and stays away is hashed again after log₂(s/frequency)
    micro-batches of equal size, rounded up.

    Examples
    --------
    >>> plan = CountedPopularity(3).learn([7] * 50 + list(range(50))).build().plan
    >>> plan.hot_ids.tolist(), plan.n_split_keys
    ([7], 1)
    """

    name: ClassVar[str] = "popularity-counted"
    paper: ClassVar[str] = "after Chen, Zhang, Jin (PStream)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "plan"
    learns_on_streams: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    decay: float = 0.5

    def __init__(self, workers: int, *, frequency: float | None = None, seed: int = 0) -> None:
        self.frequency = frequency
        self._threshold = hot_share("CountedPopularity", frequency, workers)
        super().__init__(
            workers, n_slots=workers, n_counters=math.ceil(4 / self._threshold), seed=seed
        )

    @property
    def most_hot_keys(self) -> int:
        """As many keys can have the share from which on a key is hot."""
        return math.ceil(1 / self._threshold)

    def build(self) -> Self:
        """Make the plan from all that was learned, then let what was learned decay."""
        super().build()
        self._fade()
        return self

    def _learn(self, ids: Ids, weights: Weights) -> None:
        found, at = np.unique(ids, return_inverse=True)
        loads = sums_of(weights if weights.size else np.ones(ids.size), at, found.size)
        n_slots = self._slot_loads.size
        slots = slots_of(found, self._plan.slot_member, n_slots)
        self.learn_counts(found, loads, sums_of(loads, slots, n_slots))

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        ids, loads = summary.heavy_hitters(self._threshold)
        plan = shuffling_plan(self.workers, ids, member=self._plan.slot_member)
        slots = slots_of(ids, plan.slot_member, slot_loads.size)
        rest = np.maximum(slot_loads - sums_of(loads, slots, slot_loads.size), 0.0)
        return replace(plan, predicted_loads=rest + loads.sum() / self.workers)
