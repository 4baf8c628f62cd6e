"""``grouping="auto"``: learn once, compare with plain hashing, take what is worth it, say why.

Nothing more is run than to learn a plan: what plain hashing would do with the rows shows in the
same sample, or the same counts.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame

from unskew.advisor.recommend import HARMLESS
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Grouping
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan, slots_of
from unskew.hashing import Ids
from unskew.metrics import imbalance_percent
from unskew.scheduling import Loads
from unskew.spark.key_costs import KeyCosts
from unskew.spark.learning import (
    Learned,
    count_all,
    planned,
    refuse_stream,
    sample_size,
    take_sample,
    telling_columns,
)
from unskew.spark.schemes import grouping_for

AUTO = "auto"
"""The name that stands for whatever suits the keys and the work."""

SPLITTING = ("wrap",)
"""What comes into question where partial results of a key can be merged."""
WHOLE = ("distribution-aware", "wrap:max_replicas=1")
"""What comes into question where a key has to stay whole."""

_log = logging.getLogger("unskew.spark")
_DEVIATIONS = 3.0


class _Choice(NamedTuple):
    """A scheme by the name that chose it, and the plan that it made."""

    name: str
    plan: Plan


def is_auto(grouping: str | Grouping) -> bool:
    """Whether a grouping is to be chosen.

    >>> is_auto("auto"), is_auto("wrap")
    (True, False)
    """
    return isinstance(grouping, str) and grouping.strip() == AUTO


def fixed(grouping: str | Grouping, otherwise: str) -> str | Grouping:
    """Return ``grouping``, or what stands for it where nothing can be learned beforehand."""
    return otherwise if is_auto(grouping) else grouping


def learn_best(
    df: DataFrame,
    identity: Column,
    candidates: Sequence[str],
    workers: int,
    *,
    how: str,
    likely: Sequence[str] = (),
    costs: KeyCosts | None = None,
    seed: int = 0,
) -> Learned:
    """Return the plan of the best of ``candidates``, or of plain hashing if that is even enough.

    Plain hashing is taken where the busiest worker would finish no more than 5 % later with it,
    chance in the sample left aside. The plan says why (`Plan.why`), and so does the log.

    Parameters
    ----------
    df, identity, how, likely, costs
        As for `learning.learn_placing`.
    candidates
        Names of schemes that learn a plan. Of exact counts only the first learns, since each has
        slots of its own.
    workers, seed
        As for `schemes.grouping_for`.
    """
    refuse_stream(df)
    schemes = {name: grouping_for(name, workers, seed=seed) for name in candidates}
    teachable = {name: s for name, s in schemes.items() if isinstance(s, PlannedGrouping)}
    if how == "pass":
        name, scheme = next(iter(teachable.items()))
        choice, hashed = _from_counts(df, identity, name, scheme, costs)
        return Learned(_or_hashing(choice, hashed, noise=0.0), ())
    columns = likely if any(scheme.splits_keys for scheme in schemes.values()) else ()
    sample = take_sample(df, identity, sample_size(workers), seed, columns)
    choices = [_Choice(name, planned(s, sample.ids, costs)) for name, s in teachable.items()]
    choice = min(choices, key=lambda each: each.plan.predicted_imbalance)
    whole = sample.ids.size >= sample.rows
    noise = 0.0 if whole else _DEVIATIONS * 100 * float(np.sqrt(workers / sample.ids.size))
    plan = _or_hashing(choice, _hashed_loads(sample.ids, workers, costs), noise=noise)
    return Learned(plan, telling_columns(sample, plan, columns))


def _from_counts(
    df: DataFrame, identity: Column, name: str, scheme: PlannedGrouping, costs: KeyCosts | None
) -> tuple[_Choice, Loads]:
    """Return the plan from exact counts, and what hashing would give each worker."""
    n_slots, workers = scheme.plan.slot_workers.size, scheme.workers
    counts = count_all(df, identity, n_slots).weighted(costs)
    scheme.learn_counts(*counts)
    plan = scheme.build().plan
    # Slots are stretches of the hash, as workers are; one that lies on a border counts whole.
    owners = ((np.arange(n_slots) + 0.5) * workers / n_slots).astype(np.int64)
    hashed = np.bincount(owners, counts.slot_rows, minlength=workers).astype(float)
    return _Choice(name, plan), hashed


def _hashed_loads(ids: Ids, workers: int, costs: KeyCosts | None) -> Loads:
    weights = None if costs is None else costs.weights(ids)
    slots = slots_of(ids, HASHED_MEMBER, workers)
    return np.bincount(slots, weights, minlength=workers).astype(float)


def _or_hashing(choice: _Choice, hashed: Loads, *, noise: float) -> Plan:
    """Return the chosen plan, or plain hashing if that is about as fast; with the reason."""
    with_hashing = imbalance_percent(hashed)
    with_choice = choice.plan.predicted_imbalance
    sure = max(with_choice, with_hashing - noise)
    won = 1.0 - (100 + with_choice) / (100 + sure)
    if won <= HARMLESS:
        plain = hashing_plan(choice.plan.workers, HASHED_MEMBER, choice.plan.workers)
        why = f"key: hashing is even enough, predicted imbalance {with_hashing:.1f} %"
        plan = replace(plain, predicted_loads=hashed, why=why)
    else:
        why = (
            f"{choice.name}: predicted imbalance {with_choice:.1f} % in place of "
            f"{with_hashing:.1f} % by hashing, {100 * won:.0f} % less time"
        )
        plan = replace(choice.plan, why=why)
    _log.info("grouping chosen for %d workers: %s", plan.workers, why)
    return plan
