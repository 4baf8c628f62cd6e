"""Choose a plan for a DataFrame: what a scheme learns, or what ``auto`` finds worth following.

For ``auto`` nothing more is run than to learn a plan: what plain hashing would do with the rows
shows in the same sample, or the same counts.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.groupings.auto import WORTHWHILE, Auto, is_worth_planning
from unskew.groupings.base import Grouping
from unskew.groupings.flow import Flow
from unskew.groupings.plan import (
    HASHED_MEMBER,
    Plan,
    hashing_plan,
    index_plan,
    route_planned,
    slots_of,
)
from unskew.groupings.planned import PlannedGrouping, sample_size
from unskew.hashing import Ids
from unskew.metrics import imbalance_percent
from unskew.scheduling import LoadArray
from unskew.spark.routing.learning import (
    Learned,
    Sample,
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
MEASURE_HINT = 'weight="measured"'


class _Choice(NamedTuple):
    """A scheme by the spec that chose it, and the plan that it made."""

    name: str
    plan: Plan


def settled(grouping: Grouping, *, whole_keys: bool, in_python: bool = False) -> Grouping:
    """Return ``grouping``; for ``auto`` what suits a stream, which has no sample to choose by.

    That is the first of its candidates, whose plan is a native expression. Where keys may be split
    and Python works on the rows anyway (``in_python``), it is what needs no plan at all.
    """
    if not isinstance(grouping, Auto):
        return grouping
    splits = in_python and not whole_keys and grouping.work == "merge"
    first = Flow.name if splits else _candidates(grouping, whole_keys)[0]
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
        return Learned(_told(_or_hashing(grouping, choice, hashed, noise=0.0)), ())
    columns = likely if any(one.splits_keys for one in planners.values()) else ()
    sample = take_sample(df, identity, sample_size(workers), seed, columns)
    choices = [_Choice(name, planned(one, sample, costs)) for name, one in planners.items()]
    choice = min(choices, key=lambda each: each.plan.predicted_imbalance)
    whole = sample.ids.size >= sample.rows
    noise = 0.0 if whole else _DEVIATIONS * 100 * float(np.sqrt(workers / sample.ids.size))
    hashed = _hashed_loads(sample, workers, costs)
    plan = _or_hashing(grouping, choice, hashed, noise=noise)
    if whole_keys and costs is None:
        plan = _sure_of_groups(plan, sample.ids, hashed)
    return Learned(_told(plan), telling_columns(sample, plan, columns))


def _told(plan: Plan) -> Plan:
    _log.info("grouping chosen for %d workers: %s", plan.workers, plan.why)
    return plan


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
    counts.teach(planner)
    plan = planner.build().plan
    # Slots are stretches of the hash, as workers are; one that lies on a border counts whole.
    owners = ((np.arange(n_slots) + 0.5) * workers / n_slots).astype(np.int64)
    hashed = np.bincount(owners, counts.slot_rows, minlength=workers).astype(float)
    return _Choice(name, plan), hashed


def _hashed_loads(sample: Sample, workers: int, costs: RowWeights | None) -> LoadArray:
    slots = slots_of(sample.ids, HASHED_MEMBER, workers)
    return np.bincount(slots, sample.weights(costs), minlength=workers).astype(float)


def _sure_of_groups(plan: Plan, ids: Ids, hashed: LoadArray) -> Plan:
    """Return ``plan``, or plain hashing if that would be faster where groups cost, not rows.

    Nobody knows beforehand whether a function of whole groups takes its time by rows or by groups.
    So a plan has to be no worse than hashing for any mix of both.
    """
    if not plan.hot_ids.size and plan.predicted_loads is hashed:
        return plan
    workers, keys = plan.workers, np.unique(ids)
    placed = [_share_of_mean(_planned_workers(plan, each), workers) for each in (ids, keys)]
    plain = [
        _share_of_mean(slots_of(each, HASHED_MEMBER, workers), workers) for each in (ids, keys)
    ]
    slower = max(
        float((part * placed[1] + (1 - part) * placed[0]).max())
        / float((part * plain[1] + (1 - part) * plain[0]).max())
        for part in np.linspace(0, 1, 11)
    )
    known = f"{MEASURE_HINT} learns what a group costs"
    if slower <= 1 + WORTHWHILE:
        plan = replace(plan, why=f"{plan.why}, by rows; {known}")
    else:
        why = (
            f"key: {plan.why} by rows, but if groups take the time and not their rows, "
            f"it would be up to {slower:.2f} times as slow as hashing; {known}"
        )
        plan = replace(
            hashing_plan(workers, HASHED_MEMBER, workers), predicted_loads=hashed, why=why
        )
    return plan


def _planned_workers(plan: Plan, ids: Ids) -> NDArray[np.int32]:
    """Return the worker of each row under a plan that splits no key."""
    out = np.empty(ids.size, np.int32)
    no_weights = np.empty(0)
    loads = np.zeros(plan.workers, np.int64)
    route_planned(ids, no_weights, index_plan(plan), 0, loads, no_weights, out)
    return out


def _share_of_mean(workers: NDArray[Any], count: int) -> LoadArray:
    loads = np.bincount(workers, minlength=count).astype(float)
    return loads / max(float(loads.mean()), 1e-300)


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
    return plan
