"""Place the rows of a DataFrame so that the tasks that work on them finish together."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.dealing import ROW_MASK
from unskew.groupings.plan import Plan
from unskew.groupings.shuffle import Shuffle
from unskew.spark.compiled_routing import (
    check_plan,
    round_robin_column,
    worker_column,
)
from unskew.spark.keys import By, check_by, identity
from unskew.spark.learning import WAYS, learn_plan
from unskew.spark.online_routing import online_worker
from unskew.spark.saved_plans import SavedPlan
from unskew.spark.schemes import grouping_for, runs_online


def balance(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping = "wrap",
    plan: Plan | SavedPlan | None = None,
    learn: str = "sample",
    seed: int = 0,
) -> DataFrame:
    """Return ``df`` with its rows placed on ``workers`` partitions as a grouping says.

    Same rows, same columns; partition w of the result is worker w, whether adaptive execution is
    on or off. Nothing is computed here except what has to be learned.

    A stream can be placed by a plan or by a scheme that need not learn. Spark numbers no rows of a
    stream: there, rows of split keys (and all rows of ``shuffle``) are dealt by random numbers.

    Parameters
    ----------
    df
        Any DataFrame.
    by
        The key column, or a list of several.
    workers
        Number of partitions, at least 1: as many tasks work on the result.
    grouping
        The name of a scheme, with parameters after a colon if need be, or an object. An object
        that is built is used as it is; one that is not learns first.
    plan
        A plan made before (`learning.learn`, `saved_plans.load_plan`): then nothing is learned.
    learn
        How a scheme that has to learn does so: ``sample`` or ``pass`` (see `learning.learn`).
    seed
        For schemes that are given by name.

    Raises
    ------
    InvalidParameterError
        When called, not when run: an unknown column, a key that is a map, fewer than one worker, a
        scheme that cannot run on Spark, a plan for another number of workers.
    """
    routed = route(df, by, workers, grouping=grouping, plan=plan, learn=learn, seed=seed)
    return routed.df.repartitionById(workers, routed.worker).drop(*routed.helpers)


class Routed(NamedTuple):
    """Rows and the expression that says where each one goes."""

    df: DataFrame
    worker: Column
    helpers: list[str]
    """Columns that were added for the expression and are to be dropped again."""


def route(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping,
    plan: Plan | SavedPlan | None,
    learn: str,
    seed: int,
) -> Routed:
    """Return where each row of ``df`` goes; the parameters are those of `balance`."""
    workers = check_int("balance", "workers", workers, minimum=1)
    check_choice("balance", "learn", learn, WAYS)
    key = identity(df, by)
    if isinstance(plan, SavedPlan):
        plan = plan.plan_for(check_by(df, by), workers)
    if plan is not None:
        return _by_plan(df, key, check_plan_for(plan, workers))
    scheme = grouping_for(grouping, workers, seed=seed)
    if isinstance(scheme, Shuffle):
        return _by_row_number(df, partial(round_robin_column, workers))
    if runs_online(scheme):
        return _with_worker(df, online_worker(key, scheme))
    return _by_plan(df, key, learn_plan(df, key, scheme, how=learn))


def place(df: DataFrame, identity: Column, plan: Plan) -> DataFrame:
    """Return ``df`` with each row on the partition that ``plan`` says."""
    routed = _by_plan(df, identity, plan)
    return routed.df.repartitionById(plan.n_workers, routed.worker).drop(*routed.helpers)


def _by_plan(df: DataFrame, identity: Column, plan: Plan) -> Routed:
    if plan.n_split_keys == 0:
        return Routed(df, worker_column(identity, plan), [])
    return _by_row_number(df, lambda number: worker_column(identity, plan, row_number=number))


def _by_row_number(df: DataFrame, worker_at: Callable[[Column], Column]) -> Routed:
    number = free_names(df, 1)[0]
    routed = _with_worker(df.withColumn(number, _row_number(df)), worker_at(sf.col(number)))
    return routed._replace(df=routed.df.drop(number))


def _with_worker(df: DataFrame, worker: Column) -> Routed:
    """Let the worker travel with the row: small numbers, which compress to almost nothing."""
    name = free_names(df, 1)[0]
    return Routed(df.withColumn(name, worker), sf.col(name), [name])


def check_plan_for(plan: Plan, workers: int) -> Plan:
    """Return ``plan`` if it is for Spark and for so many workers, or raise."""
    if not isinstance(plan, Plan):
        raise InvalidParameterError("balance", "plan", "a Plan", plan)
    check_plan(plan)
    if plan.n_workers != workers:
        raise InvalidParameterError(
            "balance", "plan", f"a plan for {workers} workers", f"one for {plan.n_workers}"
        )
    return plan


def _row_number(df: DataFrame) -> Column:
    """Return the number of the row in its partition; in a stream, which has none, any number."""
    if df.isStreaming:
        return sf.floor(sf.rand(seed=0) * sf.lit(float(ROW_MASK)))
    return sf.monotonically_increasing_id()


def free_names(df: DataFrame, count: int) -> list[str]:
    """Return names that no column of ``df`` has."""
    taken = {name.lower() for name in df.columns}
    free = (f"_unskew_{number}" for number in range(len(taken) + count))
    return [name for name in free if name not in taken][:count]
