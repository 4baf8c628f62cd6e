"""Popularity by counts: the hot keys of a table or a micro-batch, which an engine can count."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from unskew.groupings.base import Weights
from unskew.groupings.plan import Plan, shuffling_plan, slots_of
from unskew.groupings.planned import PlannedGrouping
from unskew.hashing import Ids
from unskew.scheduling import LoadArray, sums_of
from unskew.sketches.space_saving import SpaceSaving

if TYPE_CHECKING:
    from unskew.groupings.popularity.popularity import Popularity


class CountedPopularity(PlannedGrouping):
    """Spread keys whose share of the rows reaches a threshold over all workers, hash all others.

    What earlier micro-batches have shown counts half as much with each one that follows.

    Parameters
    ----------
    grouping
        Whose workers, threshold and seed these are.

    Examples
    --------
    >>> from unskew.groupings.popularity import Popularity
    >>> plan = CountedPopularity(Popularity(3)).learn([7] * 50 + list(range(50))).build().plan
    >>> plan.hot_ids.tolist(), plan.n_split_keys
    ([7], 1)
    """

    splits_keys: bool = True
    decay: float = 0.5

    def __init__(self, grouping: "Popularity") -> None:
        self.grouping = grouping
        super().__init__(
            grouping.workers,
            n_slots=grouping.workers,
            n_counters=math.ceil(4 / grouping.threshold),
            seed=grouping.seed,
        )

    def __repr__(self) -> str:
        return f"CountedPopularity({self.grouping!r})"

    @property
    def most_hot_keys(self) -> int:
        """As many keys can have the share from which on a key is hot."""
        return math.ceil(1 / self.grouping.threshold)

    def build(self) -> Self:
        """Make the plan from all that was learned, then let what was learned decay."""
        super().build()
        self._slot_loads *= self.decay
        self._summary.scale(self.decay)
        return self

    def _learn(self, ids: Ids, weights: Weights) -> None:
        found, at = np.unique(ids, return_inverse=True)
        loads = sums_of(weights if weights.size else np.ones(ids.size), at, found.size)
        n_slots = self._slot_loads.size
        slots = slots_of(found, self._plan.slot_member, n_slots)
        self.learn_counts(found, loads, sums_of(loads, slots, n_slots))

    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        ids, loads = summary.heavy_hitters(self.grouping.threshold)
        plan = shuffling_plan(self.workers, ids, member=self._plan.slot_member)
        slots = slots_of(ids, plan.slot_member, slot_loads.size)
        rest = np.maximum(slot_loads - sums_of(loads, slots, slot_loads.size), 0.0)
        return replace(plan, predicted_loads=rest + loads.sum() / self.workers)
