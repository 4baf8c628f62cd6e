"""Place the rows of a DataFrame so that the tasks that work on them finish together."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan, check_plan
from unskew.groupings.split_tables import ROW_MASK
from unskew.spark.columns import By, check_by, evaluated_late, free_names, identity
from unskew.spark.plans.saved import KeyPlan, key_types
from unskew.spark.routing.choosing import choose_plan
from unskew.spark.routing.contents import content_position, likely_columns
from unskew.spark.routing.expression import (
    number_position,
    round_robin_column,
    worker_column,
)
from unskew.spark.routing.learning import WAYS
from unskew.spark.routing.online import online_worker
from unskew.spark.routing.salting import on_workers
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.session import warn_if_unchecked
from unskew.spark.worker.row_costs import RowWeights


class Routed(NamedTuple):
    """Rows and the expression that says where each one goes."""

    df: DataFrame
    worker: Column
    helpers: list[str]
    """Columns that were added for the expression and are to be dropped again."""
    plan: Plan | None = None
    """The plan behind the expression, if there is one."""

    def placed(self, workers: int) -> DataFrame:
        """Return the rows on their workers."""
        return on_workers(self.df, workers, self.worker).drop(*self.helpers)


def route(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    owner: str,
    grouping: str | Grouping,
    plan: Plan | None,
    learn: str,
    spread_by: By | None = None,
    seed: int,
    costs: RowWeights | None = None,
    whole_keys: bool = False,
) -> Routed:
    """Return where each row of ``df`` goes; the parameters are those of `balance`.

    ``owner`` is named in errors. With ``costs``, schemes that learn or decide row by row even out
    work instead of rows. With ``whole_keys``, what ``auto`` chooses splits no key.
    """
    workers = check_int(owner, "workers", workers, minimum=1)
    check_choice(owner, "learn", learn, WAYS)
    names = check_by(df, by, owner=owner, nested=True)
    key, chosen = identity(df, names), check_spread_by(df, spread_by, owner=owner)
    rows = evaluated_late(df)
    if plan is not None:
        check_plan_for(owner, plan, df, names, workers)
        return by_plan(rows, key, plan, _columns_of(plan, df) if chosen is None else chosen)
    scheme = grouping_for(grouping, workers, seed=seed, owner=owner)
    if chosen and scheme.spark != "plan":
        expected = f"left out with {scheme.name}, which places every row by itself"
        raise InvalidParameterError(owner, "spread_by", expected, ", ".join(chosen))
    if scheme.spark == "round-robin":
        return _by_own_column(rows, _row_number(rows), partial(round_robin_column, workers))
    if scheme.spark == "online":
        return _by_own_column(rows, key, lambda identity: online_worker(identity, scheme, costs))
    likely = likely_columns(df, names) if chosen is None else []
    learned = choose_plan(
        df, key, scheme, owner=owner, how=learn, likely=likely, costs=costs, whole_keys=whole_keys
    )
    return by_plan(rows, key, learned.plan, learned.spread_by if chosen is None else chosen)


def check_spread_by(df: DataFrame, spread_by: By | None, *, owner: str) -> list[str] | None:
    """Return the columns that rows of a split key are spread by, none for row numbers, or raise."""
    if spread_by is None or len(spread_by) == 0:
        return None if spread_by is None else []
    return check_by(df, spread_by, owner=owner, parameter="spread_by")


def by_plan(df: DataFrame, identity: Column, plan: Plan, spread_by: Sequence[str]) -> Routed:
    """Return where ``plan`` sends each row; rows of a split key by columns, or their number."""
    if plan.n_split_keys == 0:
        return Routed(df, worker_column(identity, plan), [], plan)
    if spread_by:
        position = content_position(identity, spread_by)
        return Routed(df, worker_column(identity, plan, position=position), [], plan)
    routed = _by_own_column(
        df,
        _row_number(df),
        lambda number: worker_column(identity, plan, position=number_position(number)),
    )
    return routed._replace(plan=plan)


def _by_own_column(
    df: DataFrame, source: Column, worker_from: Callable[[Column], Column]
) -> Routed:
    """Make ``source`` a column and the worker, which is made from it, the only one that stays.

    The worker travels with the row: small numbers, which compress to almost nothing.
    """
    warn_if_unchecked(df.sparkSession)
    name, worker = free_names(df, 2)
    with_both = df.withColumn(name, source).withColumn(worker, worker_from(sf.col(name)))
    return Routed(with_both.drop(name), sf.col(worker), [worker])


def check_plan_for(owner: str, plan: Plan, df: DataFrame, by: Sequence[str], workers: int) -> Plan:
    """Return ``plan`` if it is for Spark, these key columns and so many workers, or raise."""
    if not isinstance(plan, Plan):
        raise InvalidParameterError(owner, "plan", "a Plan", plan)
    check_plan(owner, plan)
    if isinstance(plan, KeyPlan):
        plan.check_fits(owner, by, workers, key_types(df, by))
    elif plan.workers != workers:
        got = f"one for {plan.workers}"
        raise InvalidParameterError(owner, "plan", f"a plan for {workers} workers", got)
    return plan


def _columns_of(plan: Plan, df: DataFrame) -> Sequence[str]:
    """Return by which columns a plan has seen that the rows of split keys can be spread."""
    columns = plan.spread_by if isinstance(plan, KeyPlan) else ()
    return columns if set(columns) <= set(df.columns) else ()


def _row_number(df: DataFrame) -> Column:
    """Return the number of the row in its partition; in a stream, which has none, any number."""
    if df.isStreaming:
        return sf.floor(sf.rand(seed=0) * sf.lit(float(ROW_MASK)))
    return sf.monotonically_increasing_id()
