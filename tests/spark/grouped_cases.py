"""What the tests of group_by share: functions to apply, rows to apply them to, comparisons."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from unskew.spark.aggregators import Aggregator, State

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class SumAndCount(Aggregator):
    """Exact in any order: whole numbers only."""

    state_schema = "total bigint, n bigint"

    def init(self) -> State:
        return (0, 0)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        total = pc.sum(batch["x"], min_count=0).as_py()
        return (state[0] + total, state[1] + batch.num_rows)

    def merge(self, a: State, b: State) -> State:
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, state: State) -> State:
        return state


class FailsAtHot(SumAndCount):
    """Fails at a step of one's choice; in `update` at the key u1 alone."""

    def __init__(self, step: str) -> None:
        self.step = step

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        if self.step == "update" and batch["user"][0].as_py() == "u1":
            raise ZeroDivisionError("too hot")
        return super().update(state, batch)

    def merge(self, a: State, b: State) -> State:
        if self.step == "merge":
            raise ZeroDivisionError("too hot")
        return super().merge(a, b)

    def finish(self, state: State) -> State:
        if self.step == "finish":
            raise ZeroDivisionError("too hot")
        return super().finish(state)


SUMS = "total bigint, n bigint"


def spread(table: pa.Table) -> pa.Table:
    """Two rows a group, so that a group called twice shows."""
    x = table["x"]
    low, high = pc.min(x).as_py(), pc.max(x).as_py()
    user = pa.array([table["user"][0].as_py()] * 2, pa.string())
    return pa.table(
        {
            "n": pa.array([table.num_rows] * 2, pa.int64()),
            "user": user,
            "x": pa.array([low, high], pa.int64()),
        }
    )


SPREAD = "user string, x bigint, n bigint"


def breaks(table: pa.Table) -> pa.Table:
    raise ZeroDivisionError("too hot")


def skewed_rows() -> pa.Table:
    """A hot null, a hot key, a tail; two key columns and whole numbers with nulls."""
    rng = np.random.default_rng(7)
    users = rng.zipf(1.5, 8_000).clip(max=300).tolist()
    return pa.table(
        {
            "user": [None if user == 2 else f"u{user}" for user in users],
            "day": pa.array([None if i % 5 == 0 else i % 3 for i in range(len(users))], pa.int32()),
            "x": pa.array([None if i % 9 == 0 else i % 1_001 for i in range(len(users))]),
        }
    )


def summed(df: DataFrame, *by: str) -> DataFrame:
    """What `SumAndCount` computes, by Spark alone."""
    total = sf.coalesce(sf.sum("x"), sf.lit(0))
    return df.groupBy(*by).agg(total.alias("total"), sf.count("*").alias("n"))


def multiset(df: DataFrame) -> Counter[Any]:
    return Counter(tuple(_spelled(value) for value in row) for row in df.collect())


def _spelled(value: object) -> object:
    return repr(value) if isinstance(value, float | list | dict | tuple) else value


def file_stream(spark: SparkSession, rows: DataFrame, folder: Path, *, files: int) -> DataFrame:
    """Write ``rows`` to ``folder`` and return a stream that reads a file a micro-batch."""
    rows.repartition(files).write.parquet(str(folder))
    reader = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def run_to_end(df: DataFrame, table: str, mode: str, checkpoint: Path) -> StreamingQuery:
    """Run all micro-batches that there are; the table holds what they gave out."""
    writer = df.writeStream.format("memory").queryName(table).outputMode(mode)
    writer = writer.option("checkpointLocation", str(checkpoint / table))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query
