"""Choose a plan for a DataFrame: what a scheme learns, or what ``auto`` finds worth following.

For ``auto`` nothing more is run than to learn a plan: what plain hashing would do with the rows
shows in the same sample, or the same counts.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame

from unskew.groupings.auto import Auto, is_worth_planning
from unskew.groupings.base import Grouping
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan, slots_of
from unskew.groupings.planned import PlannedGrouping, sample_size
from unskew.hashing import Ids
from unskew.metrics import imbalance_percent
from unskew.scheduling import LoadArray
from unskew.spark.routing.learning import (
    Learned,
    count_all,
    learn_placing,
    planned,
    refuse_stream,
    take_sample,
    telling_columns,
)
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.worker.row_costs import RowWeights

AUTO = Auto.name
"""The default grouping: whatever suits the keys and the work."""

_log = logging.getLogger("unskew.spark")
_DEVIATIONS = 3.0


class _Choice(NamedTuple):
    """A scheme by the spec that chose it, and the plan that it made."""

    name: str
    plan: Plan


def settled(grouping: Grouping, *, whole_keys: bool) -> Grouping:
    """Return ``grouping``; for ``auto``, the first of its candidates.

    A stream has no sample to choose by before it runs.
    """
    if not isinstance(grouping, Auto):
        return grouping
    first = _candidates(grouping, whole_keys)[0]
    return grouping_for(first, grouping.workers, seed=grouping.seed)


def choose_plan(
    df: DataFrame,
    identity: Column,
    grouping: Grouping,
    *,
    how: str,
    likely: Sequence[str] = (),
    costs: RowWeights | None = None,
    whole_keys: bool = False,
    owner: str = "balance",
) -> Learned:
    """Return the plan of ``grouping``, which learns from ``df`` first if it has to.

    ``auto`` takes the most even of its candidates, or plain hashing where that is even enough,
    chance in the sample left aside. The plan says why (`Plan.why`), and so does the log.

    Parameters
    ----------
    df, identity, how, likely, costs, owner
        As for `learning.learn_placing`.
    grouping
        A scheme that makes plans, or ``auto``, as `schemes.grouping_for` returns it.
    whole_keys
        Whether ``auto`` may split no key.
    """
    if not isinstance(grouping, Auto):
        return learn_placing(
            df, identity, grouping, how=how, likely=likely, costs=costs, owner=owner
        )
    refuse_stream(owner, df)
    workers, seed = grouping.workers, grouping.seed
    planners = {
        name: planner
        for name in _candidates(grouping, whole_keys)
        if (planner := grouping_for(name, workers, seed=seed).planner()) is not None
    }
    if how == "pass":
        # Each scheme has slots of its own, and rows are counted once: the first learns.
        name, planner = next(iter(planners.items()))
        choice, hashed = _from_counts(df, identity, name, planner, costs)
        return Learned(_or_hashing(grouping, choice, hashed, noise=0.0), ())
    columns = likely if any(one.splits_keys for one in planners.values()) else ()
    sample = take_sample(df, identity, sample_size(workers), seed, columns)
    choices = [_Choice(name, planned(one, sample.ids, costs)) for name, one in planners.items()]
    choice = min(choices, key=lambda each: each.plan.predicted_imbalance)
    whole = sample.ids.size >= sample.rows
    noise = 0.0 if whole else _DEVIATIONS * 100 * float(np.sqrt(workers / sample.ids.size))
    plan = _or_hashing(grouping, choice, _hashed_loads(sample.ids, workers, costs), noise=noise)
    return Learned(plan, telling_columns(sample, plan, columns))


def _candidates(auto: Auto, whole_keys: bool) -> tuple[str, ...]:
    return Auto.candidates_for["atomic" if whole_keys else auto.work]


def _from_counts(
    df: DataFrame,
    identity: Column,
    name: str,
    planner: PlannedGrouping,
    costs: RowWeights | None,
) -> tuple[_Choice, LoadArray]:
    """Return the plan from exact counts, and what hashing would give each worker."""
    n_slots, workers = planner.plan.slot_workers.size, planner.workers
    counts = count_all(df, identity, n_slots).weighted(costs)
    planner.learn_counts(*counts)
    plan = planner.build().plan
    # Slots are stretches of the hash, as workers are; one that lies on a border counts whole.
    owners = ((np.arange(n_slots) + 0.5) * workers / n_slots).astype(np.int64)
    hashed = np.bincount(owners, counts.slot_rows, minlength=workers).astype(float)
    return _Choice(name, plan), hashed


def _hashed_loads(ids: Ids, workers: int, costs: RowWeights | None) -> LoadArray:
    weights = None if costs is None else costs.weights(ids)
    slots = slots_of(ids, HASHED_MEMBER, workers)
    return np.bincount(slots, weights, minlength=workers).astype(float)


def _or_hashing(auto: Auto, choice: _Choice, hashed: LoadArray, *, noise: float) -> Plan:
    """Return the chosen plan, or plain hashing if that is about as fast; with the reason."""
    verdict = is_worth_planning(
        choice.name,
        planned=choice.plan.predicted_imbalance,
        hashing=imbalance_percent(hashed),
        noise=noise,
        worthwhile=auto.worthwhile,
    )
    if verdict.follow_plan:
        plan = replace(choice.plan, why=verdict.why)
    else:
        plain = hashing_plan(auto.workers, HASHED_MEMBER, auto.workers)
        plan = replace(plain, predicted_loads=hashed, why=verdict.why)
    _log.info("grouping chosen for %d workers: %s", plan.workers, verdict.why)
    return plan
