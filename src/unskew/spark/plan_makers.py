"""Schemes that go on learning while a stream runs: counts of micro-batches in, plans out."""

import math
from dataclasses import replace
from typing import ClassVar, Self

from unskew.errors import InvalidParameterError
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Grouping
from unskew.groupings.distribution_aware import DistributionAware
from unskew.groupings.plan import Plan
from unskew.groupings.popularity import Popularity
from unskew.scheduling import Loads
from unskew.sketches.space_saving import SpaceSaving
from unskew.spark.observing import MOST_SLOTS, Counts
from unskew.spark.plan_effects import expected_loads
from unskew.spark.schemes import shuffling_plan

LEARNING = ("wrap", "distribution-aware", "popularity")
"""Schemes that learn a plan and can go on learning while a stream runs."""

_FEWEST_HOT, _HOT_A_WORKER = 64, 4


class PlanMaker:
    """Learn from micro-batch after micro-batch, and say what the next ones should follow.

    Parameters
    ----------
    owner
        Who asks, for errors.
    grouping
        The scheme, as `schemes.grouping_for` returns it. It stays as it is: a copy learns.

    Raises
    ------
    InvalidParameterError
        Where the scheme learns no plan, or has more slots than can be counted.

    Examples
    --------
    Eight of ten rows are one key's, so that is dealt to both workers:

    >>> import numpy as np
    >>> from unskew.spark.schemes import grouping_for
    >>> maker = PlanMaker("doctest", grouping_for("popularity", 2))
    >>> loads, hot = np.array([90.0, 10.0]), np.array([7], np.uint64)
    >>> maker.plan_after(Counts(loads, loads, hot, np.array([80.0]), keys=9))
    Plan: 2 workers, 1 key split, predicted imbalance 0.0 %
    """

    def __init__(self, owner: str, grouping: Grouping) -> None:
        self.grouping = grouping
        self._teachable = _teachable(owner, grouping)
        self.first_plan = self._teachable.plan
        self.n_slots = int(self.first_plan.slot_workers.size)
        if self.n_slots > MOST_SLOTS:
            expected = f"one with at most {MOST_SLOTS} slots"
            raise InvalidParameterError(owner, "grouping", expected, grouping)
        self.n_hot = max(_FEWEST_HOT, _HOT_A_WORKER * grouping.workers, _most_hot(grouping))
        self._decay = float(getattr(self._teachable, "decay", 0.0))
        self._learner: PlannedGrouping | None = None
        self.rows = 0.0
        """Rows that the last plan rests on, with decay."""

    def plan_after(self, counts: Counts, present: Plan | None = None) -> Plan:
        """Return the plan for a stream that goes on as it did of late.

        Where a plan is followed at ``present``, a scheme that can changes it as little as need be.
        """
        if self._learner is None or self._decay == 0.0:  # what would never forget starts anew
            self._learner = self._teachable.for_source(0, 1)
        self.rows = self._decay * self.rows + float(counts.loads.sum())
        if present is not None:
            self._learner.resume(present)
        self._learner.learn_counts(counts.hot_ids, counts.hot_loads, counts.slot_loads)
        return self._learner.build().plan

    def forget(self) -> None:
        """Let go of all that was learned."""
        self._learner = None
        self.rows = 0.0


def _teachable(owner: str, grouping: Grouping) -> PlannedGrouping:
    if isinstance(grouping, Popularity):
        return _PopularKeys(grouping)._with_hashed_keys()
    if isinstance(grouping, PlannedGrouping):
        return grouping
    expected = f"a scheme that learns a plan ({', '.join(LEARNING)})"
    raise InvalidParameterError(owner, "grouping", expected, grouping.name)


def _most_hot(grouping: Grouping) -> int:
    """Return how many keys may reach the share of rows from which on a key counts as hot."""
    if isinstance(grouping, Popularity | DistributionAware):
        return math.ceil(1 / grouping.threshold)
    return 0


class _PopularKeys(PlannedGrouping):
    """Popularity by counts: keys of a share that reaches its threshold are dealt to all workers.

    What earlier micro-batches have shown counts half as much with each one that follows.
    """

    name: ClassVar[str] = Popularity.name
    paper: ClassVar[str] = Popularity.paper
    splits_keys: bool = True
    decay = 0.5

    def __init__(self, grouping: Popularity) -> None:
        self._threshold = grouping.threshold
        super().__init__(
            grouping.workers,
            n_slots=grouping.workers,
            n_counters=math.ceil(4 / grouping.threshold),
            seed=grouping.seed,
        )

    def build(self) -> Self:
        super().build()
        self._slot_loads *= self.decay
        self._summary.scale(self.decay)
        return self

    def _make_plan(self, slot_loads: Loads, summary: SpaceSaving) -> Plan:
        ids, loads = summary.heavy_hitters(self._threshold)
        plan = shuffling_plan(self, ids)
        predicted = expected_loads(plan, Counts(slot_loads, slot_loads, ids, loads, keys=0))
        return replace(plan, predicted_loads=predicted)
