"""Small data of every application, and its results in a batch and on a stream."""

from collections import Counter
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Row, SparkSession

from unskew.apps.base import Application
from unskew.apps.placing import Placing
from unskew.apps.registry import make_application

WORKERS = 3
ROWS = 600

SPECS = [
    "wordcount",
    "wordcount:window=1 minute",
    "hashtags",
    "hashtags:window=1 minute,k=3",
    "vwap:window=1 hour",
    "roads:threshold=1",
    "naive-bayes",
    "heavy-hitters:capacity=1000",
]
APPLICATIONS = {spec: make_application(spec) for spec in SPECS}


def rows_of(application: Application) -> pa.Table:
    """Return the first rows of its real data."""
    return application.table(ROWS)


def multiset(rows: list[Row]) -> Counter[str]:
    return Counter(map(repr, rows))


def labelled(results: dict[str, DataFrame]) -> DataFrame:
    """Return several results as one, so that one job computes them all."""
    named = [df.withColumn("placed_by", sf.lit(label)) for label, df in results.items()]
    return reduce(DataFrame.union, named)


def by_label(rows: list[Row]) -> dict[str, Counter[str]]:
    """Return the rows of each result, without the label."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        values = row.asDict()
        found.setdefault(values.pop("placed_by"), Counter())[repr(Row(**values))] += 1
    return found


def streamed(
    spark: SparkSession, application: Application, placing: Placing | None, folder: Path
) -> Counter[str]:
    """Return what is in force after two micro-batches; without a placing, of the plain job."""
    source = folder / "in"
    if not source.exists():
        source.mkdir()
        table = rows_of(application)
        half = table.num_rows // 2
        pq.write_table(table.slice(0, half), source / "0.parquet")
        pq.write_table(table.slice(half), source / "1.parquet")
    reader = spark.readStream.schema(application.schema).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(source))
    result = application.plain(stream) if placing is None else application.balanced(stream, placing)
    name = "streamed" + "".join(filter(str.isalnum, "" if placing is None else placing.grouping))
    writer = result.writeStream.format("memory").queryName(name)
    writer = writer.outputMode(application.output_mode)
    query = writer.option("checkpointLocation", str(folder / name)).trigger(availableNow=True)
    running = query.start()
    running.awaitTermination()
    batches = [one for one in running.recentProgress if one["numInputRows"]]
    assert len(batches) == 2
    return in_force(application, spark.table(name).collect())


def in_force(application: Application, rows: list[Row]) -> Counter[str]:
    """Return the last row of every result in update mode, all rows in append mode."""
    if not application.result_key:
        return multiset(rows)
    last: dict[Any, Row] = {}
    for row in rows:
        last[tuple(repr(row[name]) for name in application.result_key)] = row
    return multiset(list(last.values()))
