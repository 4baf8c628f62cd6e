"""Write event logs of jobs whose skew is known by construction: a driver program.

Argument: the folder. ``plain`` gets the log of one application with three jobs, ``codecs`` the
same log through each of Spark's own codecs, ``running`` and ``rolling`` a rolling log of a second
application, copied before and after its end.
"""

import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.cluster.driver import report

from unskew.spark.session import session

ROW_SECONDS = 0.01
SLOW_TASK_SECONDS = 1.0
PARTITIONS = 4
HOT = 7


def rows(spark: SparkSession) -> DataFrame:
    """Return 100 rows of a hot key and 3 of each of twenty others."""
    number = sf.col("id")
    return spark.range(160, numPartitions=2).select(
        sf.when(number < 100, sf.lit(HOT)).otherwise(100 + number % 20).alias("user"),
        number.alias("x"),
    )


def sleep_for_rows(group: pa.Table) -> pa.Table:
    """Take a time in proportion to the rows."""
    time.sleep(ROW_SECONDS * group.num_rows)
    return group.slice(0, 1)


def sleep_in_one_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take long in one task, whatever its rows."""
    context = TaskContext.get()
    if context is not None and context.partitionId() == 1:
        time.sleep(SLOW_TASK_SECONDS)
    yield from batches


def known_seconds(df: DataFrame) -> dict[int, float]:
    """Return what the tasks of the grouped job sleep, by Spark's own hash of the key."""
    placed = df.select(sf.pmod(sf.hash("user"), sf.lit(PARTITIONS)).alias("task")).collect()
    counts = Counter(row.task for row in placed)
    return {task: ROW_SECONDS * counts[task] for task in range(PARTITIONS)}


def run_jobs(spark: SparkSession) -> None:
    """Run one job with a hot key, one with a slow task, one that Spark combines by itself."""
    df = rows(spark)
    seconds = known_seconds(df)
    df.limit(8).groupBy("user").applyInArrow(lambda group: group, df.schema).collect()
    spark.sparkContext.setJobDescription("hot key")
    df.groupBy("user").applyInArrow(sleep_for_rows, df.schema).collect()
    spark.sparkContext.setJobDescription("slow task")
    df.repartition(PARTITIONS).mapInArrow(sleep_in_one_task, df.schema).collect()
    spark.sparkContext.setJobDescription("counted")
    df.groupBy("user").count().collect()
    report("known", seconds=seconds, slow=SLOW_TASK_SECONDS, application=_id(spark))


def _id(spark: SparkSession) -> str:
    return str(spark.sparkContext.applicationId)


def logging_session(folder: Path, **settings: object) -> SparkSession:
    """Return a session that writes its log there."""
    folder.mkdir(parents=True)
    logging = {"spark.eventLog.enabled": True, "spark.eventLog.dir": folder.as_uri()}
    plain = {"spark.sql.adaptive.enabled": False, "spark.sql.shuffle.partitions": PARTITIONS}
    return session(master="local[2]", app_name="logged", **{**logging, **plain, **settings})


def compress(jvm: Any, log: Path, folder: Path) -> None:
    """Write the log once more with each codec that Spark has."""
    folder.mkdir()
    plain = jvm.java.io.File(str(log)).toPath()
    for codec in ("lz4", "lzf", "snappy", "zstd"):
        to = jvm.java.io.FileOutputStream(str(folder / f"{log.name}.{codec}"))
        made = jvm.org.apache.spark.io.CompressionCodec.createCodec(
            jvm.org.apache.spark.SparkConf(), codec
        )
        stream = made.compressedOutputStream(to)
        jvm.java.nio.file.Files.copy(plain, stream)
        stream.close()


def main(folder: Path) -> None:
    """Write all logs."""
    plain = folder / "plain"
    one_file = {"spark.eventLog.rolling.enabled": False, "spark.eventLog.compress": False}
    spark = logging_session(plain, **one_file)
    run_jobs(spark)
    jvm = spark.sparkContext._jvm
    spark.stop()
    (log,) = (each for each in plain.iterdir() if not each.name.startswith("."))
    compress(jvm, log, folder / "codecs")

    again = logging_session(folder / "rolling", **{"spark.eventLog.rolling.enabled": True})
    again.range(100).repartition(PARTITIONS, "id").collect()
    shutil.copytree(folder / "rolling", folder / "running")
    report("rolling", application=_id(again))
    again.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
