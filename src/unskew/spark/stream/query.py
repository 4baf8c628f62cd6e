"""Place the rows of a stream by what is learned, and changed, while the query runs."""

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._stores import AnyPath
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.flow import Flow
from unskew.groupings.plan import Plan
from unskew.spark.columns import By, free_names, identity
from unskew.spark.plans.live_file import plan_folder
from unskew.spark.plans.saved import key_types
from unskew.spark.routing.contents import content_position, likely_columns
from unskew.spark.routing.expression import slot_column, with_planned_worker
from unskew.spark.routing.placing import check_spread_by
from unskew.spark.routing.salting import on_workers
from unskew.spark.session import warn_if_unchecked
from unskew.spark.stream.counters import hot_counts, place_column, place_counts
from unskew.spark.stream.listener import follow, new_name
from unskew.spark.stream.loop import WORK_SUFFIX, PlacedStream, PlanLoop
from unskew.spark.stream.planner import Planner
from unskew.spark.stream.remembering import place_by_memory
from unskew.spark.stream.weighing import place_by_weight
from unskew.spark.versions import FREQUENT_ITEMS, require
from unskew.spark.worker.cost_messages import NO_VERSION
from unskew.spark.worker.key_times import Timing

_SEED = 1


def place_stream(
    df: DataFrame,
    by: list[str],
    scheme: Grouping,
    *,
    owner: str,
    plan_path: str | AnyPath,
    plan: Plan | None = None,
    threshold: float = 2.0,
    spread_by: By | None = None,
    by_busy_time: bool = False,
) -> PlacedStream:
    """Place a stream as `balance_stream` does, for operators that time their own work.

    ``by`` are checked key columns, ``scheme`` is what `schemes.grouping_for` returns, and ``plan``
    is for these. Where
    rows are to be placed ``by_busy_time``, they have the identity of their key as one more column,
    the last one, and the payload of a work step has to report what its keys took. Only then may the
    scheme be one that decides row by row, but for `Flow`: without costs it has nothing to learn.
    """
    require(df.sparkSession, FREQUENT_ITEMS, f"{owner} with plan_path")
    folder = plan_folder(owner, plan_path, df.sparkSession)
    if plan is not None and scheme.spark == "online":
        expected = f"left out with {scheme.name}, which follows no plan"
        raise InvalidParameterError(owner, "plan", expected, plan)
    if by_busy_time and scheme.spark == "online":
        return place_by_weight(df, by, scheme, owner=owner, folder=folder)
    if isinstance(scheme, Flow):
        return place_by_memory(df, by, scheme, owner=owner, folder=folder)
    planner = Planner(owner, scheme)
    position = _position(df, by, check_spread_by(df, spread_by, owner=owner))
    loop = PlanLoop(
        folder,
        tuple(by),
        key_types(df, by),
        planner,
        start=plan,
        threshold=threshold,
        by_busy_time=by_busy_time,
    )
    name = new_name()
    placed = _observed_and_placed(df, by, position, loop, name)
    follow(df.sparkSession, name, loop)
    timing = Timing(placed.columns[-1], planner.n_slots, planner.n_hot) if by_busy_time else None
    return PlacedStream(placed, f"{name}{WORK_SUFFIX}", timing)


def _position(df: DataFrame, by: list[str], chosen: list[str] | None) -> Column:
    """Return where in [0, 2³²) a row falls (bigint), by which rows of split keys are spread."""
    columns = likely_columns(df, by) if chosen is None else chosen
    if columns:
        return content_position(identity(df, by), columns)
    warn_if_unchecked(df.sparkSession)
    # Spark gives every micro-batch another seed and compiles all code around it again.
    return sf.floor(sf.rand(_SEED) * sf.lit(float(1 << 32)))


def _observed_and_placed(
    df: DataFrame, by: list[str], position: Column, loop: PlanLoop, name: str
) -> DataFrame:
    names = free_names(df, 7)
    plan, tables, key, planned, worker, place, version = names
    # The plan stands in one place only: Spark would plan each mention of the subquery by itself.
    routing = loop.routing_column(df.sparkSession)
    prepared = df.withColumns({key: identity(df, by), plan: routing}).withColumns(
        {
            tables: sf.col(plan)["tables"],
            version: sf.coalesce(sf.col(plan)["version"], sf.lit(NO_VERSION).cast("bigint")),
        }
    )
    routed = with_planned_worker(prepared, planned, tables=tables, identity=key, position=position)
    # Not one whole file: place by hash, which needs no plan.
    placed = sf.coalesce(sf.col(planned), slot_column(sf.col(key), loop.workers))
    observed = (
        routed.withColumn(worker, placed)
        .withColumn(place, place_column(sf.col(worker), sf.col(key), loop.planner.n_slots))
        .drop(plan, tables, planned, f"{planned}_code", f"{planned}_entry")
        .observe(name, *_reported(loop, key=key, place=place, version=version))
    )
    ready = observed.drop(place, version, *([] if loop.by_busy_time else [key]))
    return on_workers(ready, loop.workers, sf.col(worker)).drop(worker)


def _reported(loop: PlanLoop, *, key: str, place: str, version: str) -> list[Column]:
    """Return what a micro-batch reports to the driver, as `PlanLoop.read` takes it."""
    return [
        place_counts(place, loop.workers, loop.planner.n_slots).alias("places"),
        hot_counts(key, loop.planner.n_hot).alias("hot"),
        sf.approx_count_distinct(key).alias("keys"),
        sf.max(version).alias("version"),
    ]
