"""What ``weight="measured"`` asks of `group_by`: which schemes, and what is shown of it."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from unskew._validation import check_choice
from unskew.errors import InvalidParameterError
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Grouping
from unskew.metrics import imbalance_percent
from unskew.spark.work_stats import read_stats

MEASURED = "measured"
WEIGHABLE = ("wrap", "distribution-aware", "popularity", "partial-key")
"""Schemes that can even out work instead of rows."""


def check_weight(
    weight: str | None, df: DataFrame, scheme: Grouping | None, *, has_plan: bool, has_path: bool
) -> bool:
    """Return whether work is to be measured, or raise where it cannot change anything.

    Parameters
    ----------
    weight, df
        As `group_by` has them.
    scheme
        The grouping, if one was chosen.
    has_plan, has_path
        Whether ``plan`` or ``plan_path`` were given.
    """
    if weight is None:
        return False
    check_choice("group_by", "weight", weight, (MEASURED,))
    if has_plan or (isinstance(scheme, PlannedGrouping) and scheme.is_built):
        raise InvalidParameterError("group_by", "weight", "left out where a plan is given", weight)
    if scheme is not None and scheme.name not in WEIGHABLE:
        expected = f"left out, or with one of {', '.join(WEIGHABLE)}"
        raise InvalidParameterError("group_by", "weight", expected, f"it with {scheme.name}")
    if df.isStreaming and not has_path:
        raise InvalidParameterError(
            "group_by",
            "weight",
            "left out on a stream without plan_path",
            weight,
            hint="with plan_path the query learns what keys cost while it runs",
        )
    return True


def not_measurable() -> InvalidParameterError:
    """Return the error of ``agg``, where there is no call to be timed."""
    return InvalidParameterError(
        "agg",
        "weight",
        "left out: the work is Spark's own, and no call is there to be timed",
        MEASURED,
        hint="apply and apply_in_arrow measure what their functions take",
    )


def busy_imbalance(workers: int) -> Callable[[str], Mapping[str, Any]]:
    """Return the function that makes fields of an `Epoch` out of the text of all stats.

    >>> text = '[{"worker": 1, "rows": 7, "seconds": 3.0}, {"worker": 0, "rows": 1, "seconds": 1}]'
    >>> busy_imbalance(2)(text)
    {'imbalance': 50.0, 'imbalance_of': 'busy_seconds'}
    """

    def fields(text: str) -> Mapping[str, Any]:
        seconds = np.zeros(workers)
        for stats in read_stats(text):
            seconds[stats.worker % workers] += stats.seconds
        return {"imbalance": imbalance_percent(seconds), "imbalance_of": "busy_seconds"}

    return fields
