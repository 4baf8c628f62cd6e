"""Schemes that go on learning while a stream runs: counts of micro-batches in, plans out."""

from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan
from unskew.groupings.planned import PlannedGrouping
from unskew.spark.routing.schemes import learning_on_streams
from unskew.spark.stream.counters import MOST_SLOTS, EpochCounts

_FEWEST_HOT, _HOT_PER_WORKER = 64, 4


class Planner:
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
    Eight of ten rows are one key's, so that it is spread over both workers:

    >>> import numpy as np
    >>> from unskew.spark.routing.schemes import grouping_for
    >>> planner = Planner("doctest", grouping_for("popularity-counted", 2))
    >>> loads, hot = np.array([90.0, 10.0]), np.array([7], np.uint64)
    >>> planner.plan_after(EpochCounts(loads, loads, hot, np.array([80.0]), keys=9))
    Plan: 2 workers, 1 key split, predicted imbalance 0.0 %
    """

    def __init__(self, owner: str, grouping: Grouping) -> None:
        self.grouping = grouping
        planner = grouping.planner()
        if planner is None or not grouping.learns_on_streams:
            expected = f"a scheme that learns a plan ({', '.join(learning_on_streams())})"
            raise InvalidParameterError(owner, "grouping", expected, grouping.name)
        self._teachable = planner
        self.first_plan = self._teachable.plan
        self.n_slots = int(self.first_plan.slot_workers.size)
        if self.n_slots > MOST_SLOTS:
            expected = f"one with at most {MOST_SLOTS} slots"
            raise InvalidParameterError(owner, "grouping", expected, grouping)
        self.n_hot = max(_FEWEST_HOT, _HOT_PER_WORKER * grouping.workers, planner.most_hot_keys)
        self._learner: PlannedGrouping | None = None
        self.rows = 0.0
        """Rows that the last plan rests on, with decay."""

    def plan_after(self, counts: EpochCounts, present: Plan | None = None) -> Plan:
        """Return the plan for a stream that goes on as it did recently.

        Where a plan is followed at ``present``, a scheme that can changes it as little as need be.
        """
        if (
            self._learner is None or self._teachable.decay == 0.0
        ):  # what would never forget starts again
            self._learner = self._teachable.for_source(0, 1)
        self.rows = self._teachable.decay * self.rows + float(counts.loads.sum())
        if present is not None:
            self._learner.resume(present)
        self._learner.learn_counts(counts.hot_ids, counts.hot_loads, counts.slot_loads)
        return self._learner.build().plan

    def forget(self) -> None:
        """Let go of all that was learned."""
        self._learner = None
        self.rows = 0.0
