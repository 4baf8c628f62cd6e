"""Bring the rows of both sides of a join to their workers, and copy those that need copies.

A row gets a salt, an integer with which Spark's hash of (key, salt) is the number of its worker.
Both sides are joined by key and salt: what meets there is what the plan lets meet, and each pair
of rows with equal keys meets on exactly one worker, whatever data the plan was made from.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.groupings.split_tables import shares_of
from unskew.spark.columns import hashable_columns, quoted
from unskew.spark.joins.learning import Side
from unskew.spark.plans.join_plan import JoinPlan
from unskew.spark.routing.contents import content_position
from unskew.spark.routing.expression import (
    element,
    literal_array,
    number_position,
    worker_column,
)
from unskew.spark.routing.salting import salt_column
from unskew.spark.session import warn_if_unchecked

_NULL_ENTRIES = 64
_COUNTED_KEYS = 16


class Names(NamedTuple):
    """Names of the columns that are added, which no column of either side has."""

    number: str
    position: str
    code: str
    worker: str
    salt: str
    present: str
    copied: str
    mark: str


def salted(
    side: Side,
    plan: JoinPlan,
    names: Names,
    *,
    left: bool,
    keeps_unmatched: bool,
    other: Side | None = None,
) -> DataFrame:
    """Return the rows of a side, with their salt, as often as they are needed.

    Parameters
    ----------
    side
        The rows; those with a null key are left out unless they have to come out of the join.
    plan
        A plan, restricted to the copies that are allowed.
    names
        How to call the columns that are added; only ``salt`` stays, and ``copied`` with ``other``.
    left
        Which side it is.
    keeps_unmatched
        Whether rows come out that match nothing.
    other
        The other side, where a copied row may come out unmatched: there ``copied`` says whether
        the row's key is on the other side, so that not finding it on one worker means nothing.
    """
    rows = side if keeps_unmatched else side.matching()
    own, groups = plan.side(left=left)
    df, position, helpers = _with_position(rows, plan, own, names, left, keeps_unmatched)
    code = worker_column(side.identity, own, position=position)
    if keeps_unmatched:
        code = sf.when(side.is_null, _null_worker(plan, position)).otherwise(code)
    if not groups:
        df = df.withColumn(names.worker, code)
    else:
        df = df.withColumn(names.code, code)
        helpers = [*helpers, names.code]
        places = _places(sf.col(names.code), groups, plan.workers)
        if other is not None:
            df, places = _known_to_match(df, side, own, places, other, plan.workers, names)
            helpers = [*helpers, names.present]
        df = df.withColumn(names.worker, sf.explode(places))
    # Never null, so that Spark does not filter by it.
    salt = sf.coalesce(salt_column(side.key_columns, sf.col(names.worker), plan.workers), sf.lit(0))
    return df.withColumn(names.salt, salt).drop(*helpers, names.worker)


def _with_position(
    side: Side, plan: JoinPlan, own: Plan, names: Names, left: bool, keeps_unmatched: bool
) -> tuple[DataFrame, Column, list[str]]:
    """Return the rows with what says where in [0, 2³²) each falls, and columns to drop again."""
    df = side.df
    spread_by: Sequence[str] = plan.spread_by if left else plan.other_spread_by
    if not set(spread_by) <= set(hashable_columns(df)):
        spread_by = ()
    if df.isStreaming and not spread_by:
        # Equal rows stay together; a row that is read again goes where it went before.
        spread_by = hashable_columns(df)
    if spread_by:
        return df, content_position(side.identity, spread_by), []
    if own.n_split_keys == 0 and not keeps_unmatched:
        return df, sf.lit(0).cast("bigint"), []
    warn_if_unchecked(df.sparkSession)
    numbered = df.withColumn(names.number, _row_number(side, plan, own))
    placed = numbered.withColumn(names.position, number_position(sf.col(names.number)))
    return placed, sf.col(names.position), [names.number, names.position]


def _row_number(side: Side, plan: JoinPlan, own: Plan) -> Column:
    """Return the number of each row in its task; the heaviest cut keys are counted by themselves.

    The function counts the rows for which it is evaluated, so that in a branch for one key it
    counts that key's rows: they are spread more evenly than chance would spread them.
    """
    cut = np.flatnonzero(np.diff(own.pieces.starts) > 1)
    loads = np.add.reduceat(plan.pieces.loads, plan.pieces.starts[:-1]) if cut.size else np.empty(0)
    heaviest = cut[np.argsort(-loads[cut], kind="stable")][:_COUNTED_KEYS]
    number: Any = sf
    for key in own.hot_ids[heaviest].view(np.int64).tolist():
        number = number.when(side.identity == sf.lit(key), sf.monotonically_increasing_id())
    if not heaviest.size:
        return sf.monotonically_increasing_id()
    numbered: Column = number.otherwise(sf.monotonically_increasing_id())
    return numbered


def _null_worker(plan: JoinPlan, position: Column) -> Column:
    """Return a worker for each row with a null key, as the plan has room for them."""
    size = plan.workers * _NULL_ENTRIES
    table = np.repeat(np.arange(plan.workers, dtype=np.int32), shares_of(plan.null_shares, size))
    plain = hashing_plan(plan.workers, HASHED_MEMBER, size)
    slots = Plan(**{**vars(plain), "slot_workers": table})
    return worker_column(sf.shiftleft(position, 32), slots)


def _places(code: Column, groups: list[list[int]], workers: int) -> Column:
    """Return all workers that a row goes to."""
    sizes = np.array([len(group) for group in groups])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    group = code - sf.lit(workers)
    members = sf.slice(
        literal_array(np.concatenate(groups)),
        element(starts, group) + sf.lit(1),
        element(sizes, group),
    )
    return sf.when(code < workers, sf.array(code)).otherwise(members)


def _known_to_match(
    df: DataFrame,
    side: Side,
    own: Plan,
    places: Column,
    other: Side,
    workers: int,
    names: Names,
) -> tuple[DataFrame, Column]:
    """Copy only rows whose key is on the other side at all; the others go to one worker."""
    counts = np.diff(own.pieces.starts)
    owners = np.repeat(np.arange(counts.size), counts)
    ids = own.hot_ids[np.unique(owners[own.pieces.workers >= workers])].view(np.int64)
    copied = other.matching().df.where(other.identity.isin(ids.tolist()))
    present = copied.agg(sf.collect_set(other.identity).alias(names.present))
    df = df.crossJoin(sf.broadcast(present))
    is_copied = sf.col(names.code) >= workers
    matches = sf.array_contains(sf.col(names.present), side.identity)
    df = df.withColumn(names.copied, is_copied & matches)
    alone = sf.slice(places, 1, 1)
    return df, sf.when(is_copied & ~matches, alone).otherwise(places)


def chained(side: Side, plan: JoinPlan, salt: str) -> DataFrame:
    """Return rows that an earlier join has placed, where they are.

    ``plan`` is that of the earlier join, as strips (`JoinPlan.as_strips`). Every row is checked
    while it is read: one whose salt is not that of a worker of its key, as after a change of the
    key, raises an error, as its partners would not be there.
    """
    own, groups = plan.side(left=False)
    code = worker_column(side.identity, own, position=sf.lit(0).cast("bigint"))
    worker = sf.hash(*side.key_columns, sf.col(quoted(salt)))
    found = worker == code
    if groups:
        found = sf.array_contains(_places(code, groups, plan.workers), worker)
    message = f"join: the column {salt} is not that of an earlier join by this plan and key"
    failed = sf.raise_error(sf.lit(message)).cast("boolean")
    return side.df.where(sf.when(side.is_null | found, sf.lit(True)).otherwise(failed))
