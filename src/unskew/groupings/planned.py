"""Schemes that learn a plan and then follow it."""

import copy
from abc import abstractmethod
from typing import Self

import numpy as np

from unskew._compiled import compiled
from unskew.errors import InvalidParameterError
from unskew.groupings.base import NO_WEIGHTS, LearnedGrouping, LoadVector, Weights, Workers
from unskew.groupings.plan import (
    HASHED_MEMBER,
    PlaceHistory,
    Plan,
    hashing_plan,
    index_plan,
    places_of,
    route_planned,
    slots_of,
)
from unskew.hashing import Ids, derive_seeds, universal
from unskew.scheduling import LoadArray
from unskew.sketches.space_saving import SpaceSaving

_FEWEST_ROWS, _ROWS_PER_WORKER = 200_000, 8_000


def sample_size(workers: int) -> int:
    """Return how many rows show the load of each worker within about 1 %.

    >>> sample_size(8), sample_size(100)
    (200000, 800000)
    """
    return max(_FEWEST_ROWS, _ROWS_PER_WORKER * workers)


class PlannedGrouping(LearnedGrouping):
    """Learn hot keys in a SpaceSaving summary and all keys in a histogram of hash slots.

    A subclass says in `_make_plan` what becomes of them.
    """

    decay: float = 0.0
    """The part of what was learned that counts for the plan after the next one."""

    @property
    def most_hot_keys(self) -> int:
        """How many keys may become hot at the same time, where that is known; else 0."""
        return 0

    def __init__(self, workers: int, *, n_slots: int, n_counters: int, seed: int) -> None:
        super().__init__(workers, seed=seed)
        self._slot_loads: LoadArray = np.zeros(n_slots)
        self._summary = SpaceSaving(n_counters)
        self._loads = LoadVector(self.workers)
        self._history: PlaceHistory | None = None
        self._received: LoadArray | None = None
        self._has_routed = self._is_built = False
        self._n_routed = 0
        member = derive_seeds(seed, 3, purpose="slots")
        self._follow(hashing_plan(self.workers, member, n_slots))

    @property
    def plan(self) -> Plan:
        """The plan that rows follow now."""
        return self._plan

    def planner(self) -> Self:
        """Return a copy that learns from the identities that Spark computes; itself if built."""
        return self if self.is_built else self.for_source(0, 1)._with_hashed_keys()

    @property
    def is_built(self) -> bool:
        """Whether a plan has been made or adopted."""
        return self._is_built

    def build(self) -> Self:
        """Make the plan from all that was learned; from now on routing follows it."""
        self._change_to(self._make_plan(self._slot_loads, self._summary))
        return self

    def _fade(self) -> None:
        """Leave ``decay`` of what was learned, for a scheme whose next plan is to follow."""
        self._slot_loads *= self.decay
        self._summary.scale(self.decay)

    def adopt(self, planner: Self) -> None:
        """Go on with the plan of ``planner``."""
        self._change_to(planner.plan)

    def resume(self, plan: Plan) -> None:
        """Go on from a plan that was made before, unless it has other slots than this scheme."""
        if plan.slot_workers.size == self._slot_loads.size:
            self._change_to(plan)

    def note_loads(self, loads: LoadArray) -> None:
        """Take in what every worker has received since the start."""
        self._received = np.array(loads, dtype=np.float64)

    @abstractmethod
    def _make_plan(self, slot_loads: LoadArray, summary: SpaceSaving) -> Plan:
        """Return the plan for a stream that goes on as it was learned."""

    def _with_hashed_keys(self) -> Self:
        """Take the slots from the identities as they are: for engines that hash by themselves.

        Raises
        ------
        InvalidParameterError
            Where it has learned from other identities already.
        """
        if self._summary.total > 0:
            expected = "one that has learned nothing from other identities"
            raise InvalidParameterError(type(self).__name__, "grouping", expected, self)
        self._follow(hashing_plan(self.workers, HASHED_MEMBER, self._slot_loads.size))
        return self

    def learn_counts(self, ids: Ids, loads: LoadArray, slot_loads: LoadArray) -> None:
        """Take in exact counts: the load of every slot, and of those keys that may be hot.

        What is counted is not a sample, so it adds nothing to what chance makes of loads.
        """
        heaviest = np.argsort(-loads, kind="stable")[: self._summary.capacity]
        self._summary.update_many(ids[heaviest], loads[heaviest])
        # The other keys have no counters, but are part of the whole that shares are taken of.
        others = slot_loads.sum() - loads[heaviest].sum()
        self._summary.counters.summary["total"] += others
        self._slot_loads += slot_loads

    def _learn(self, ids: Ids, weights: Weights) -> None:
        self._summary.update_many(ids, weights if weights.size else None)
        _add_to_slots(ids, weights, self._plan.slot_member, self._slot_loads)

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        slowness = NO_WEIGHTS if self._plan.capacity is None else 1.0 / self._plan.capacity
        loads = self._loads.for_weights(weights if weights.size else slowness)
        route_planned(ids, weights, self._index, self._n_routed, loads, slowness, out)
        self._n_routed += ids.size
        self._has_routed = self._has_routed or ids.size > 0

    def _change_to(self, plan: Plan) -> None:
        if self._has_routed:
            if self._history is None:
                self._history = PlaceHistory(self.workers, self._slot_loads.size)
            self._history.add(self._plan)
        self._follow(plan)
        self._is_built = True

    def _follow(self, plan: Plan) -> None:
        self._plan = plan
        self._index = index_plan(plan)
        self._has_routed = False

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        plan = self._plan
        slot = int(slots_of(np.array([key_id]), plan.slot_member, plan.slot_workers.size)[0])
        before = set(self._history.workers_of(slot)) if self._history else set()
        return tuple(sorted(before | places_of(plan, key_id)))

    def for_source(self, source: int, n_sources: int) -> Self:
        """Return an object of its own that follows the same plan and has sent nothing yet."""
        own = copy.copy(self)
        own._summary = self._summary.copy()
        own._slot_loads = self._slot_loads.copy()
        own._loads = copy.deepcopy(self._loads)
        own._history = copy.deepcopy(self._history)
        return own


@compiled
def _add_to_slots(ids: Ids, weights: Weights, member: Ids, slot_loads: LoadArray) -> None:
    n_slots = np.uint64(slot_loads.size)
    for i in range(ids.size):
        slot_loads[universal(ids[i], member, n_slots)] += weights[i] if weights.size else 1.0
