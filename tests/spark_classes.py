"""A bit of all that tests ask of Spark, so that Java can note down the classes that it takes.

``make unit`` runs it once with ``-XX:ArchiveClassesAtExit``. Every Java process after it maps what
was noted down into its memory, and starts in little more than half the time.
"""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # no hints
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.cheap_settings import FEW_STATES, PLAIN_FILES

from unskew.spark.session import session


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _counted(rows: DataFrame) -> DataFrame:
    return rows.groupBy("word").agg(sf.count("*").alias("n"), sf.collect_set("number"))


def _batch(spark: SparkSession, folder: Path) -> None:
    drawn = spark.range(1000).select(
        sf.col("id").alias("number"), sf.concat(sf.lit("w"), sf.col("id") % 7).alias("word")
    )
    drawn.repartition(2).write.parquet(str(folder / "rows"))
    rows = spark.read.parquet(str(folder / "rows"))
    rows.mapInArrow(_same, rows.schema).repartitionById(2, sf.expr("int(number % 2)")).toArrow()
    _counted(rows).join(rows.distinct(), "word").orderBy("number").collect()
    rows.write.json(str(folder / "json"))
    rows.write.csv(str(folder / "csv"))


def _collect(rows: DataFrame, batch: int) -> None:
    rows.collect()


def _stream(spark: SparkSession, folder: Path) -> None:
    rows = spark.readStream.schema("number long, word string").parquet(str(folder / "rows"))
    writer = _counted(rows).writeStream.outputMode("complete")
    settings = {"checkpointLocation": str(folder / "checkpoint")}
    writer.options(**settings).foreachBatch(_collect).trigger(
        availableNow=True
    ).start().awaitTermination()


def _end(spark: SparkSession) -> None:
    """Let Java end by itself, and wait for it, as Python would not: it writes when it ends."""
    java: Any = spark.sparkContext._jvm
    spark.stop()
    with suppress(Py4JError, ConnectionError):  # nobody is left to answer
        java.System.exit(0)


if __name__ == "__main__":
    running = session(master="local[2]", **{**FEW_STATES, **PLAIN_FILES})
    running.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        _batch(running, Path(folder))
        _stream(running, Path(folder))
    _end(running)
