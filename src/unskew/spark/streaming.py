"""Place the rows of a stream by a plan that is learned, and changed, while the query runs."""

import itertools
from pathlib import Path

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.spark._key_times import Timing
from unskew.spark.choosing import SPLITTING, fixed
from unskew.spark.compiled_routing import slot_column
from unskew.spark.keys import By, check_by, identity
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.observing import hot_counts, place_column, place_counts
from unskew.spark.placed_stream import PlacedStream
from unskew.spark.placement import check_deal_by, free_names
from unskew.spark.plan_listener import WORK_SUFFIX, follow
from unskew.spark.plan_loop import NO_PLAN, PlanLoop
from unskew.spark.plan_makers import PlanMaker
from unskew.spark.routing_tables import with_planned_worker
from unskew.spark.row_contents import content_position, likely_columns
from unskew.spark.saved_plans import check_local_path, key_types
from unskew.spark.schemes import grouping_for, runs_online
from unskew.spark.weighed_stream import weigh_stream

_SEED = 1
_numbers = itertools.count(1)


def balance_stream(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    plan_path: str | Path,
    grouping: str | Grouping = "wrap",
    threshold: float = 2.0,
    deal_by: By | None = None,
    seed: int = 0,
) -> DataFrame:
    """Return the stream ``df`` with its rows placed by a plan that follows what the stream does.

    Same rows, same columns, any sink and output mode. Each micro-batch reports how many rows its
    workers got, and of which keys; the driver turns that into the next plan, and a micro-batch
    that starts after it was written follows it, in the same running query. Placement never touches
    the result: whatever plan a micro-batch follows, also when it is run again after a crash, its
    rows are the same.

    Parameters
    ----------
    df
        A stream.
    by
        The key column, or a list of several.
    workers
        Number of partitions, at least 1.
    plan_path
        A folder of the query's own, local or mounted, which the driver and all executors see under
        this path. Made if need be. All plans are kept there with what they were learned from, and
        ``epochs.jsonl`` tells what every micro-batch did; a query that is started again goes on
        with the last plan.
    grouping
        A scheme that learns a plan, by name, spec or object; ``auto`` stands for ``wrap``.
    threshold
        A new plan is made if it should be better by more than this, in points of the imbalance
        (percent): every change costs caches and locality, so chance alone is no reason. The first
        plan is always made.
    deal_by
        Columns, not of the key, that tell the rows of a key apart: a row of a split key goes to
        one of the key's workers by a hash of them. By default up to three that are likely to; with
        ``()``, or where there are none, chance decides, which costs more.
    seed
        For a scheme that is given by name.

    Raises
    ------
    InvalidParameterError
        When called: an unknown column, not a stream, a scheme that learns no plan, a folder that
        is a URI, or whose plan is for other key columns, types or numbers of workers.

    Notes
    -----
    Until there is a plan, and if all plan files are damaged, rows are placed by hash. The plan is
    read once a micro-batch. The report is bounded by the number of slots, however large the
    micro-batch.
    """
    return place_stream(
        df,
        by,
        workers,
        plan_path=plan_path,
        grouping=grouping,
        threshold=threshold,
        deal_by=deal_by,
        seed=seed,
    ).df


def place_stream(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    plan_path: str | Path,
    grouping: str | Grouping = "wrap",
    threshold: float = 2.0,
    deal_by: By | None = None,
    seed: int = 0,
    by_busy_time: bool = False,
) -> PlacedStream:
    """Do what `balance_stream` does, for operators that time their own work.

    Where rows are to be placed ``by_busy_time``, they have the identity of their key as one more
    column, the last one, and the payload of a work step has to tell what its keys took. Only then
    may the scheme be one that decides row by row: without costs it has nothing to learn.
    """
    workers = check_int("balance_stream", "workers", workers, minimum=1)
    threshold = check_real("balance_stream", "threshold", threshold, minimum=0)
    if not df.isStreaming:
        raise InvalidParameterError(
            "balance_stream", "df", "a stream", "a batch DataFrame", hint="see balance"
        )
    scheme = grouping_for(fixed(grouping, SPLITTING[0]), workers, seed=seed)
    folder = check_local_path("balance_stream", "plan_path", plan_path)
    columns = check_by(df, by)
    if by_busy_time and runs_online(scheme):
        return weigh_stream(df, columns, scheme, owner="group_by", folder=folder)
    maker = PlanMaker("balance_stream", scheme)
    position = _position(df, columns, deal_by)
    loop = PlanLoop(
        folder,
        tuple(columns),
        key_types(df, columns),
        maker,
        threshold=threshold,
        by_busy_time=by_busy_time,
    )
    name = f"unskew-{next(_numbers)}"
    placed = _observed_and_placed(df, columns, position, loop, name)
    follow(df.sparkSession, name, loop)
    timing = Timing(placed.columns[-1], maker.n_slots, maker.n_hot) if by_busy_time else None
    return PlacedStream(placed, f"{name}{WORK_SUFFIX}", timing)


def _position(df: DataFrame, by: list[str], deal_by: By | None) -> Column:
    """Return where in [0, 2³²) a row falls (bigint), by which the rows of split keys are dealt."""
    chosen = check_deal_by(df, deal_by)
    columns = likely_columns(df, by) if chosen is None else chosen
    if columns:
        return content_position(identity(df, by), columns)
    warn_if_unchecked(df.sparkSession)
    # Spark gives every micro-batch another seed and compiles all code around it anew.
    return sf.floor(sf.rand(_SEED) * sf.lit(float(1 << 32)))


def _observed_and_placed(
    df: DataFrame, by: list[str], position: Column, loop: PlanLoop, name: str
) -> DataFrame:
    names = free_names(df, 7)
    plan, tables, key, planned, worker, place, version = names
    # The plan stands in one place only: Spark would plan each mention of the subquery by itself.
    routing = loop.routing_row(df.sparkSession)
    prepared = df.withColumns({key: identity(df, by), plan: routing}).withColumns(
        {
            tables: sf.col(plan)["tables"],
            version: sf.coalesce(sf.col(plan)["version"], sf.lit(NO_PLAN).cast("bigint")),
        }
    )
    routed = with_planned_worker(prepared, planned, tables=tables, identity=key, position=position)
    # Not one whole file: place by hash, which needs no plan.
    placed = sf.coalesce(sf.col(planned), slot_column(sf.col(key), loop.workers))
    observed = (
        routed.withColumn(worker, placed)
        .withColumn(place, place_column(sf.col(worker), sf.col(key), loop.maker.n_slots))
        .drop(plan, tables, planned, f"{planned}_code", f"{planned}_entry")
        .observe(name, *_reported(loop, key=key, place=place, version=version))
    )
    ready = observed.drop(place, version, *([] if loop.by_busy_time else [key]))
    return ready.repartitionById(loop.workers, sf.col(worker)).drop(worker)


def _reported(loop: PlanLoop, *, key: str, place: str, version: str) -> list[Column]:
    """Return what a micro-batch tells the driver, as `plan_listener` reads it."""
    return [
        place_counts(place, loop.workers, loop.maker.n_slots).alias("places"),
        hot_counts(key, loop.maker.n_hot).alias("hot"),
        sf.approx_count_distinct(key).alias("keys"),
        sf.max(version).alias("version"),
    ]
