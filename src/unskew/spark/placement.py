"""Place the rows of a DataFrame so that the tasks that work on them finish together."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.dealing import ROW_MASK
from unskew.groupings.plan import Plan
from unskew.groupings.shuffle import Shuffle
from unskew.spark.choosing import AUTO, SPLITTING, is_auto, learn_best
from unskew.spark.compiled_routing import (
    check_plan,
    number_position,
    round_robin_column,
    worker_column,
)
from unskew.spark.key_costs import KeyCosts
from unskew.spark.keys import By, check_by, identity
from unskew.spark.learning import WAYS, learn_placing
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.online_routing import online_worker
from unskew.spark.row_contents import content_position, likely_columns
from unskew.spark.saved_plans import SavedPlan, key_types
from unskew.spark.schemes import grouping_for, runs_online

if TYPE_CHECKING:
    from unskew.spark.loads import Loads


def balance(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping = AUTO,
    plan: Plan | SavedPlan | None = None,
    learn: str = "sample",
    deal_by: By | None = None,
    seed: int = 0,
    loads: "Loads | None" = None,
) -> DataFrame:
    """Return ``df`` with its rows placed on ``workers`` partitions as a grouping says.

    Same rows, same columns; partition w of the result is worker w, whether adaptive execution is
    on or off. Nothing is computed here except what has to be learned.

    A stream can be placed by a plan or by a scheme that need not learn. Spark numbers no rows of a
    stream: there, all rows of ``shuffle``, and rows of split keys without ``deal_by``, are dealt by
    random numbers.

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
        that is built is used as it is; one that is not learns first. By default ``auto``: ``wrap``,
        or plain hashing where the sample shows that this is even enough; the log says which, and
        why.
    plan
        A plan made before (`learning.learn`, `saved_plans.load_plan`): then nothing is learned.
    learn
        How a scheme that has to learn does so: ``sample`` or ``pass`` (see `learning.learn`).
    deal_by
        Columns, not of the key, that tell the rows of a key apart: a row of a split key goes to
        one of the key's workers by a hash of them. By default those that a sample has shown to do
        so; where there is none, and with ``()``, rows are dealt by their number, which has to
        travel with them.
    seed
        For schemes that are given by name.
    loads
        Told what the workers of a batch job got, after an action; see `Loads`.

    Raises
    ------
    InvalidParameterError
        When called, not when run: an unknown column, a key that is a map, fewer than one worker, a
        scheme that cannot run on Spark, a plan for another number of workers.
    """
    routed = route(
        df, by, workers, grouping=grouping, plan=plan, learn=learn, deal_by=deal_by, seed=seed
    )
    placed = routed.placed(workers)
    return placed if loads is None else loads.watch(workers, routed.plan).with_rows(placed, by)


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
        return self.df.repartitionById(workers, self.worker).drop(*self.helpers)


def route(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping,
    plan: Plan | SavedPlan | None,
    learn: str,
    deal_by: By | None = None,
    seed: int,
    costs: KeyCosts | None = None,
    candidates: Sequence[str] = SPLITTING,
) -> Routed:
    """Return where each row of ``df`` goes; the parameters are those of `balance`.

    With ``costs``, schemes that learn or decide row by row even out work instead of rows.
    ``candidates`` are what ``auto`` chooses from.
    """
    workers = check_int("balance", "workers", workers, minimum=1)
    check_choice("balance", "learn", learn, WAYS)
    key, chosen = identity(df, by), check_deal_by(df, deal_by)
    rows = late(df)
    if isinstance(plan, SavedPlan):
        names = check_by(df, by)
        plan = plan.plan_for(names, workers, types=key_types(df, names))
    if plan is not None:
        return _by_plan(rows, key, check_plan_for(plan, workers), chosen or [])
    likely = likely_columns(df, check_by(df, by)) if chosen is None else []
    if is_auto(grouping):
        learned = learn_best(
            df, key, candidates, workers, how=learn, likely=likely, costs=costs, seed=seed
        )
        return _by_plan(rows, key, learned.plan, learned.deal_by if chosen is None else chosen)
    scheme = grouping_for(grouping, workers, seed=seed)
    if isinstance(scheme, Shuffle):
        return _by_own_column(rows, _row_number(rows), partial(round_robin_column, workers))
    if runs_online(scheme):
        return _by_own_column(rows, key, lambda identity: online_worker(identity, scheme, costs))
    learned = learn_placing(df, key, scheme, how=learn, likely=likely, costs=costs)
    return _by_plan(rows, key, learned.plan, learned.deal_by if chosen is None else chosen)


def place(df: DataFrame, identity: Column, plan: Plan, *, deal_by: Sequence[str] = ()) -> DataFrame:
    """Return ``df`` with each row on the partition that ``plan`` says."""
    routed = _by_plan(df, identity, plan, deal_by)
    return routed.placed(plan.workers)


def check_deal_by(df: DataFrame, deal_by: By | None) -> list[str] | None:
    """Return the columns that rows of a split key are dealt by, none for row numbers, or raise."""
    if deal_by is None or len(deal_by) == 0:
        return None if deal_by is None else []
    try:
        return check_by(df, deal_by)
    except InvalidParameterError as error:
        raise InvalidParameterError(
            "balance", "deal_by", error.expected, error.got, hint=error.hint
        ) from error


def _by_plan(df: DataFrame, identity: Column, plan: Plan, deal_by: Sequence[str]) -> Routed:
    if plan.n_split_keys == 0:
        return Routed(df, worker_column(identity, plan), [], plan)
    if deal_by:
        position = content_position(identity, deal_by)
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


def check_plan_for(plan: Plan, workers: int) -> Plan:
    """Return ``plan`` if it is for Spark and for so many workers, or raise."""
    if not isinstance(plan, Plan):
        raise InvalidParameterError("balance", "plan", "a Plan", plan)
    check_plan(plan)
    if plan.workers != workers:
        raise InvalidParameterError(
            "balance", "plan", f"a plan for {workers} workers", f"one for {plan.workers}"
        )
    return plan


def late(df: DataFrame) -> DataFrame:
    """Keep rows that the driver holds from being routed before the plan's tables are read.

    Spark computes columns of such rows while it optimises, at first with tables that are still
    text, which is then read for every row. An offset of nothing is in the way until it is not.
    """
    return df if df.isStreaming else df.offset(0)


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
