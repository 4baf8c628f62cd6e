"""A stream that learns its plan, and stops at a moment where its test kills it: a driver program.

Arguments: the folder, and the moment, or ``end`` to run to the end.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.cheap_settings import FEW_STATES, INTERPRETED
from tests.spark.cluster.driver import report, sorted_rows, work_folder
from tests.spark.cluster.trap import wait_for

import unskew.spark as us
from unskew.spark.plans.live_file import LiveFile

WORKERS = 4
SCHEMA = "user long, id long"
BATCHES = 5


def write_input(folder: Path) -> None:
    """Write a file a micro-batch; another user is hot in each, so that each asks for a new plan."""
    (folder / "in").mkdir()
    for number in range(BATCHES):
        ids = np.arange(number * 6000, (number + 1) * 6000)
        path = folder / "in" / f"{number}.parquet"
        users = np.where(ids % 2 == 0, 1000 + number, ids % 101)
        pq.write_table(pa.table({"user": users, "id": ids}), path)
        os.utime(path, (number, number))  # Spark takes them in the order of their times


def totals(df: DataFrame) -> DataFrame:
    """Return the plain query."""
    return df.groupBy("user").agg(sf.count("*").alias("n"), sf.sum("id").alias("total"))


class Sink:
    """Keeps what each micro-batch changed, under its number; may stop before or behind that."""

    def __init__(self, folder: Path, moment: str) -> None:
        self._folder = folder
        self._moment = moment

    def __call__(self, changed: DataFrame, batch: int) -> None:
        """Take a micro-batch."""
        if self._moment == f"plan {batch} saved":  # it is saved while this micro-batch runs
            _begun(self._folder).touch()
            wait_for(lambda: False)
        self._stop_at(f"before output {batch}", batch)
        changed.write.mode("overwrite").parquet(str(self._folder / "out" / f"batch={batch}"))
        self._stop_at(f"behind output {batch}", batch)

    def _stop_at(self, moment: str, batch: int) -> None:
        """Stop when the plan is there, and on record, that the micro-batch before has led to."""
        if self._moment == moment:
            wait_for((self._folder / "plans" / f"plan-{batch:06d}.json").exists)
            wait_for(lambda: is_on_record(self._folder, batch - 1))
            be_killed(self._folder)


def stop_when_saved(folder: Path, moment: str) -> None:
    """Stop the plan loop when it has saved a plan and not yet put it in force.

    By then the next micro-batch has to have begun: a file that Spark has noted as seen, but not
    yet as part of a micro-batch, comes into one with the next file after a restart.
    """
    write = LiveFile.write

    def stopping(file: LiveFile, lines: Sequence[str]) -> None:
        if moment == f"plan {json.loads(lines[0])['version']} saved":
            wait_for(_begun(folder).exists)
            be_killed(folder)
        write(file, lines)

    patch.object(LiveFile, "write", stopping).start()


def _begun(folder: Path) -> Path:
    return folder / "begun"


def is_on_record(folder: Path, batch: int) -> bool:
    """Whether the driver has done with a micro-batch."""
    return any(epoch.batch == batch for epoch in us.read_epochs(folder / "plans"))


def be_killed(folder: Path) -> None:
    """Tell the test that the moment is there, and wait for the end."""
    (folder / "ready").touch()
    wait_for(lambda: False)


def result(spark: SparkSession, folder: Path) -> DataFrame:
    """Return what the sink has: the last change of every user."""
    changes = spark.read.parquet(str(folder / "out"))
    last = sf.max_by(sf.struct("n", "total"), "batch").alias("last")
    return changes.groupBy("user").agg(last).select("user", "last.n", "last.total")


def main(spark: SparkSession, folder: Path, moment: str) -> None:
    """Run the stream, and report once it has come to its end."""
    if not (folder / "in").exists():
        write_input(folder)
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(folder / "in"))
    grouped = us.group_by(stream, "user", workers=WORKERS, plan_path=folder / "plans")
    changes = grouped.agg(sf.count("*").alias("n"), sf.sum("id").alias("total"))
    writer = changes.writeStream.outputMode("update").foreachBatch(Sink(folder, moment))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    wait_for(lambda: is_on_record(folder, BATCHES - 1))
    rows = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    got = sorted_rows(result(spark, folder))
    report("end", exact=got == sorted_rows(totals(rows)), users=len(got))


if __name__ == "__main__":
    running = us.session(master="local[2]", **FEW_STATES, **INTERPRETED)
    running.sparkContext.setLogLevel("ERROR")
    stop_when_saved(work_folder(), sys.argv[2])
    main(running, work_folder(), sys.argv[2])
    running.stop()
