"""Small data of every application, and its results in a batch and on a stream."""

import os
from collections import Counter
from collections.abc import Iterable
from functools import cache, reduce
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

# The groupings that each application runs under on a stream. In batches all are tried; on streams,
# which take longer, every application runs and every grouping occurs.
STREAMED = {
    "wordcount": ["wrap", "partial-key", "key"],
    "wordcount:window=1 minute": ["popularity"],
    "hashtags": ["d-choices"],
    "hashtags:window=1 minute,k=3": ["distribution-aware"],
    "vwap:window=1 hour": ["wrap"],
    "roads:threshold=1": ["dynamic-key"],
    "naive-bayes": ["universal"],
    "heavy-hitters:capacity=1000": ["shuffle"],
    "decision-tree:bins=1000": ["w-choices"],
    "field-grid": ["distribution-aware", "single"],
    "enrich": ["proactive-shuffle"],
}
IN_BATCHES = [spec for spec in STREAMED if "window=1 minute" not in spec]


@cache
def application_of(spec: str) -> Application:
    return make_application(spec)


@cache
def table_of(spec: str) -> pa.Table:
    """Return the first rows of its real data."""
    return application_of(spec).table(ROWS)


def halves(table: pa.Table) -> list[pa.Table]:
    middle = table.num_rows // 2
    return [table.slice(0, middle), table.slice(middle)]


def multiset(rows: Iterable[Row]) -> Counter[str]:
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


def file_stream(spark: SparkSession, spec: str, folder: Path) -> DataFrame:
    """Return a stream of two micro-batches, the halves of the data."""
    folder.mkdir()
    for number, half in enumerate(halves(table_of(spec))):
        path = folder / f"{number}.parquet"
        pq.write_table(half, path)
        os.utime(path, (number, number))  # Spark takes them in the order of their times
    reader = spark.readStream.schema(application_of(spec).schema)
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def run_to_end(
    application: Application, result: DataFrame, folder: Path
) -> tuple[list[Row], list[dict[str, Any]]]:
    """Run all micro-batches; return what was given out, and the reports on those with rows."""
    writer = result.writeStream.format("memory").queryName(f"run_{folder.name.replace('-', '_')}")
    writer = writer.outputMode(application.output_mode).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder)).start()
    query.awaitTermination()
    reports = [dict(one) for one in query.recentProgress if one["numInputRows"]]
    return result.sparkSession.table(str(query.name)).collect(), reports


def streamed(
    spark: SparkSession, spec: str, placing: Placing, folder: Path
) -> tuple[Counter[str], list[dict[str, Any]]]:
    """Return what is in force after two micro-batches, and the reports on them."""
    application = application_of(spec)
    stream = file_stream(spark, spec, folder / f"in-{placing.grouping}")
    result = application.balanced(stream, placing)
    rows, reports = run_to_end(application, result, folder / f"checkpoint-{placing.grouping}")
    return in_force(application, rows), reports


def in_force(application: Application, rows: list[Row]) -> Counter[str]:
    """Return the last row of every result in update mode, all rows in append mode."""
    if not application.result_key:
        return multiset(rows)
    last: dict[Any, Row] = {}
    for row in rows:
        last[tuple(repr(row[name]) for name in application.result_key)] = row
    return multiset(last.values())
