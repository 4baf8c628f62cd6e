"""Kill executors under running streams that learn their plan."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from tests.cheap_settings import FEW_STATES, INTERPRETED, PLAIN_FILES
from tests.spark.cluster.driver import report, sorted_rows, work_folder
from tests.spark.cluster.trap import Trap, trapped, wait_for
from tests.spark.cluster.trapped_totals import TrappedTotals

import unskew.spark as us
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE

WORKERS = 4
SCHEMA = "user long, id long"
FILES = 4  # in each micro-batch: as many tasks that read


def write_batch(folder: Path, number: int) -> None:
    """Add the files of one micro-batch; half of its rows are of one user."""
    ids = np.arange(number * 8000, (number + 1) * 8000)
    table = pa.table({"user": np.where(ids % 2 == 0, 7, ids % 101), "id": ids})
    (folder / "written").mkdir(parents=True)
    for file in range(FILES):
        part = table.slice(file * 8000 // FILES, 8000 // FILES)
        pq.write_table(part, folder / "written" / f"{file}.parquet")
    (folder / "in").mkdir(exist_ok=True)
    (folder / "written").replace(folder / "in" / str(number))  # all files at once


def source(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the files as a stream, a micro-batch each time that some are written."""
    # Small files are packed into one task otherwise.
    spark.conf.set("spark.sql.files.openCostInBytes", 128 * 2**20)
    reader = spark.readStream.schema(SCHEMA).option("recursiveFileLookup", True)
    return reader.parquet(str(folder / "in"))


def all_rows(spark: SparkSession, folder: Path) -> DataFrame:
    """Return what the stream has read, as a batch."""
    reader = spark.read.schema(SCHEMA).option("recursiveFileLookup", True)
    return reader.parquet(str(folder / "in"))


def run(df: DataFrame, folder: Path, mode: str, trap: Trap) -> tuple[DataFrame, bool]:
    """Run four micro-batches, the third one with the trap.

    Return the sink, and whether a task of the third one had to be repeated elsewhere.
    """
    spark = df.sparkSession
    writer = df.writeStream.format("memory").queryName(folder.name).outputMode(mode)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    finish(query, folder, 1)
    write_batch(folder, 1)
    finish(query, folder, 2)
    trap.arm()
    write_batch(folder, 2)
    finish(query, folder, 3)
    repeated = trap.was_repeated()
    write_batch(folder, 3)
    finish(query, folder, 4)
    query.stop()
    return spark.table(folder.name), repeated


def finish(query: StreamingQuery, folder: Path, batches: int) -> None:
    """Wait until so many micro-batches are done and the driver has learned from them."""
    query.processAllAvailable()
    wait_for(lambda: len(us.read_epochs(folder / "plans")) == batches)


def totals(df: DataFrame) -> DataFrame:
    """Return the plain query."""
    return df.groupBy("user").agg(sf.count("*").alias("n"), sf.sum("id").alias("total"))


def routed_case(spark: SparkSession) -> None:
    """Kill an executor while a micro-batch is routed, by a plan that was learned before."""
    folder = work_folder() / "routed"
    write_batch(folder, 0)
    trap = Trap(folder / "trap", armed=False)
    stream = source(spark, folder)
    turned = stream.mapInArrow(trapped(trap, turned=True), stream.schema)
    grouped = us.group_by(turned, "user", workers=WORKERS, plan_path=folder / "plans")
    result = grouped.agg(sf.count("*").alias("n"), sf.sum("id").alias("total"))
    sink, repeated = run(result, folder, "complete", trap)
    expected = totals(all_rows(spark, folder))
    report_case("a stream that is grouped, while rows are routed", sink, expected, repeated, folder)


def applied_case(spark: SparkSession) -> None:
    """Kill an executor while it works for an aggregator whose states go on from batch to batch."""
    folder = work_folder() / "applied"
    write_batch(folder, 0)
    trap = Trap(folder / "trap", armed=False)
    grouped = us.group_by(
        source(spark, folder), "user", workers=WORKERS, plan_path=folder / "plans"
    )
    changes = grouped.apply(TrappedTotals(trap), "n long, total long")
    sink, repeated = run(changes, folder, "update", trap)
    # A micro-batch puts out the users that it has changed: the last of each is what counts.
    last = sink.groupBy("user").agg(sf.max("n").alias("n"), sf.max_by("total", "n").alias("total"))
    expected = totals(all_rows(spark, folder))
    report_case(
        "a stream that is applied to, while rows are worked on", last, expected, repeated, folder
    )


def report_case(
    case: str, sink: DataFrame, expected: DataFrame, repeated: bool, folder: Path
) -> None:
    """Report what came out."""
    got = sorted_rows(sink)
    report(
        case,
        exact=got == sorted_rows(expected),
        rows=len(got),
        repeated=repeated,
        followed=[epoch.version for epoch in us.read_epochs(folder / "plans")],
        counted=[epoch.rows for epoch in us.read_epochs(folder / "plans")],
    )


def run_cases(spark: SparkSession) -> None:
    """Run both cases, with an executor that is killed in each."""
    for name, value in {STATE_STORE: ROCKSDB, **FEW_STATES, **INTERPRETED, **PLAIN_FILES}.items():
        spark.conf.set(name, value)
    routed_case(spark)
    applied_case(spark)
