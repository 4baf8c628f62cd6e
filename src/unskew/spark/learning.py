"""Learn a plan from a DataFrame before it is placed."""

import math
from typing import NamedTuple, TypeVar

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError, NotLearnedError
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan
from unskew.groupings.popularity import Popularity
from unskew.hashing import Ids, identities
from unskew.scheduling import Loads
from unskew.spark.compiled_routing import check_plan, slot_column
from unskew.spark.schemes import PLANNED, hashed_plan, shuffling_plan

WAYS = ("sample", "pass")

_FEWEST_ROWS, _ROWS_A_WORKER = 200_000, 8_000
_FINE_SLOTS = 65_536

_Planned = TypeVar("_Planned", bound=PlannedGrouping)


class Counts(NamedTuple):
    """What was learned of a DataFrame: rows of the heaviest keys, and of all hash slots."""

    ids: Ids
    rows: Loads
    slot_rows: Loads


def learn(
    df: DataFrame,
    identity: Column,
    grouping: _Planned,
    *,
    how: str = "sample",
    rows: int | None = None,
    seed: int = 0,
) -> _Planned:
    """Let ``grouping`` learn from ``df`` and make its plan; return it.

    Parameters
    ----------
    df
        What is learned from; not a stream.
    identity
        What `keys.identity` returns for it.
    grouping
        A scheme that makes plans, as `schemes.grouping_for` returns it. It is changed.
    how
        ``sample``: a count, and then the identities of a bounded sample of the rows. ``pass``: one
        native aggregation over all rows, whose counts are exact; it shuffles the distinct
        identities.
    rows
        Size of the sample: 8,000 a worker and at least 200,000 by default, by which the load of
        a worker is known to some 1 %.
    seed
        Picks the sample.

    Raises
    ------
    InvalidParameterError
        Where ``df`` is a stream, or a parameter is none of these.
    """
    check_choice("learn", "how", how, WAYS)
    _refuse_stream(df)
    if how == "pass":
        grouping.learn_counts(*_count_all(df, identity, grouping.plan.slot_workers.size))
        return grouping.build()
    size = _sample_size(grouping.n_workers) if rows is None else rows
    size = check_int("learn", "rows", size, minimum=1)
    return grouping.learn(_sample(df, identity, size, seed)).build()


def learn_plan(df: DataFrame, identity: Column, grouping: Grouping, *, how: str) -> Plan:
    """Return the plan of ``grouping``, which learns from ``df`` first if it has to.

    Raises
    ------
    InvalidParameterError
        Where it was built from other identities than Spark's, or has to learn from a stream.
    NotLearnedError
        Where it has no plan, because it decides row by row.
    """
    if grouping.name not in PLANNED:
        raise NotLearnedError(f"{grouping.name} has no plan: it decides row by row.")
    if isinstance(grouping, Popularity):
        return shuffling_plan(grouping, _popular(df, identity, grouping, how))
    if not isinstance(grouping, PlannedGrouping):
        return hashed_plan(grouping)
    if not grouping.is_built:
        learn(df, identity, grouping, how=how, seed=grouping.seed)
    check_plan(grouping.plan)
    return grouping.plan


def _popular(df: DataFrame, identity: Column, grouping: Popularity, how: str) -> Ids:
    """Return the keys whose share of the rows reaches the threshold of ``grouping``."""
    _refuse_stream(df)
    if how == "pass":
        ids, counts, slots = _count_all(df, identity, grouping.n_workers)
        popular: Ids = ids[counts >= grouping.threshold * slots.sum()]
        return popular
    sample = _sample(df, identity, _sample_size(grouping.n_workers), grouping.seed)
    found, times = np.unique(sample, return_counts=True)
    return found[times >= grouping.threshold * sample.size]


def _refuse_stream(df: DataFrame) -> None:
    if df.isStreaming:
        raise InvalidParameterError(
            "learn", "df", "a batch DataFrame", "a stream", hint="give a plan that was made before"
        )


def _sample_size(workers: int) -> int:
    return max(_FEWEST_ROWS, _ROWS_A_WORKER * workers)


def _sample(df: DataFrame, identity: Column, rows: int, seed: int) -> Ids:
    total = df.count()
    sampled = df if total <= rows else df.sample(fraction=rows / total, seed=seed)
    room = rows + 5 * math.isqrt(rows)  # a sample is this large at most, but for bad luck
    table = sampled.select(identity.alias("id")).limit(room).toArrow()
    return identities(table["id"])


def _count_all(df: DataFrame, identity: Column, n_slots: int) -> Counts:
    """Count all rows by fine hash slot, with the heaviest key of each: one job, few rows back."""
    times = max(1, _FINE_SLOTS // n_slots)
    keys = df.select(identity.alias("id")).groupBy("id").agg(sf.count("*").alias("rows"))
    slots = keys.groupBy(slot_column(sf.col("id"), n_slots * times).alias("slot")).agg(
        sf.sum("rows").alias("rows"), sf.max(sf.struct("rows", "id")).alias("top")
    )
    table = slots.select("slot", "rows", "top.id", sf.col("top.rows").alias("top")).toArrow()
    table = table.sort_by("slot")  # rows come in any order; plans should not depend on it
    slot_rows = np.zeros(n_slots)
    np.add.at(slot_rows, table["slot"].to_numpy() // times, table["rows"].to_numpy())
    return Counts(identities(table["id"]), table["top"].to_numpy().astype(float), slot_rows)
