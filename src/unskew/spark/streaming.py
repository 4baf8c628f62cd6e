"""Place the rows of a stream by a plan that is learned, and changed, while the query runs."""

import itertools
from pathlib import Path

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Grouping
from unskew.spark.compiled_routing import slot_column
from unskew.spark.keys import By, check_by, identity
from unskew.spark.observing import MOST_SLOTS, hot_counts, place_column, place_counts
from unskew.spark.placement import free_names
from unskew.spark.plan_listener import HOT_SUFFIX, follow
from unskew.spark.plan_loop import NO_PLAN, PlanLoop
from unskew.spark.routing_tables import with_planned_worker
from unskew.spark.schemes import grouping_for

LEARNING = ("wrap", "distribution-aware")
"""Schemes that learn a plan and can go on learning while a stream runs."""

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
        A folder of the query's own, which the driver and all executors see under this path. Made
        if need be. All plans are kept there with what they were learned from, and
        ``epochs.jsonl`` tells what every micro-batch did; a query that is started again goes on
        with the last plan.
    grouping
        A scheme that learns a plan, by name, spec or object.
    threshold
        A new plan is made if it should be better by more than this, in points of the imbalance
        (percent): every change costs caches and locality, so chance alone is no reason. The first
        plan is always made.
    seed
        For a scheme that is given by name.

    Raises
    ------
    InvalidParameterError
        When called: an unknown column, not a stream, a scheme that learns no plan, or a folder
        whose plan is for other key columns or another number of workers.

    Notes
    -----
    Until there is a plan, and if all plan files are damaged, rows are placed by hash. The plan is
    read once a micro-batch. The report is bounded by the number of slots, however large the
    micro-batch. Rows of a split key are dealt by chance, since a stream has no row numbers.
    """
    columns = tuple(check_by(df, by))
    workers = check_int("balance_stream", "workers", workers, minimum=1)
    threshold = check_real("balance_stream", "threshold", threshold, minimum=0)
    if not df.isStreaming:
        raise InvalidParameterError(
            "balance_stream", "df", "a stream", "a batch DataFrame", hint="see balance"
        )
    scheme = grouping_for(grouping, workers, seed=seed)
    if not isinstance(scheme, PlannedGrouping):
        expected = f"a scheme that learns a plan ({', '.join(LEARNING)})"
        raise InvalidParameterError("balance_stream", "grouping", expected, scheme.name)
    if scheme.plan.slot_workers.size > MOST_SLOTS:
        expected = f"one with at most {MOST_SLOTS} slots"
        raise InvalidParameterError("balance_stream", "grouping", expected, scheme)
    loop = PlanLoop(Path(plan_path), columns, scheme, threshold=threshold)
    name = f"unskew-{next(_numbers)}"
    placed = _observed_and_placed(df, columns, loop, name)
    follow(df.sparkSession, name, loop)
    return placed


def _observed_and_placed(
    df: DataFrame, by: tuple[str, ...], loop: PlanLoop, name: str
) -> DataFrame:
    names = free_names(df, 8)
    plan, tables, position, key, planned, worker, place, version = names
    # A stream has no row numbers, so split keys are dealt by chance. Spark gives every micro-batch
    # another seed and compiles it into the code around it: this observation stands between, so
    # that the large expression below is compiled once and not in every micro-batch.
    chance = sf.floor(sf.rand(_SEED) * sf.lit(float(1 << 32)))
    keyed = df.withColumns({position: chance, key: identity(df, by)}).observe(
        f"{name}{HOT_SUFFIX}", hot_counts(key, loop.workers).alias("hot")
    )
    # The plan stands in one place only: Spark would plan each mention of the subquery by itself.
    routing = loop.routing_row(df.sparkSession)
    prepared = keyed.withColumn(plan, routing).withColumns(
        {
            tables: sf.col(plan)["tables"],
            version: sf.coalesce(sf.col(plan)["version"], sf.lit(NO_PLAN).cast("bigint")),
        }
    )
    routed = with_planned_worker(prepared, planned, tables=tables, identity=key, position=position)
    # Not one whole file: place by hash, which needs no plan.
    placed = sf.coalesce(sf.col(planned), slot_column(sf.col(key), loop.workers))
    watched = (
        routed.withColumn(worker, placed)
        .withColumn(place, place_column(sf.col(worker), sf.col(key), loop.n_slots))
        .drop(plan, tables, position, key, planned, f"{planned}_code", f"{planned}_entry")
    )
    observed = watched.observe(
        name,
        place_counts(place, loop.workers, loop.n_slots).alias("places"),
        sf.max(version).alias("version"),
    )
    ready = observed.drop(place, version)
    return ready.repartitionById(loop.workers, sf.col(worker)).drop(worker)
