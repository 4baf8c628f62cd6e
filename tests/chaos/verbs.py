"""Jobs of every verb, each beside the plain Spark job that it must equal."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, Window

import unskew.spark as us
from unskew.spark.aggregators import Aggregator, State

ROWS, KEYS = 24_000, 300
WORKERS = 6
Batches = Iterator[pa.RecordBatch]
Job = Callable[[DataFrame, str], DataFrame]
"""Takes the rows, which have ``key``, ``id`` and ``x``, and the name of a grouping."""


def totals() -> list[Column]:
    """Return the aggregates that a lost or doubled row changes."""
    return [sf.count("*").alias("n"), sf.sum("id").alias("total")]


class Totals(Aggregator):
    """Count and sum of ids: what a lost or doubled row changes."""

    state_schema = pa.schema([("n", pa.int64()), ("total", pa.int64())])

    def init(self) -> State:
        return (0, 0)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        return (state[0] + batch.num_rows, state[1] + pc.sum(batch["id"]).as_py())

    def merge(self, a: State, b: State) -> State:
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, state: State) -> State:
        return state


def skewed(df: DataFrame) -> DataFrame:
    """Give rows with an ``id`` a key, of which one has a third of all rows and null is another."""
    hot = sf.when(sf.col("id") % 3 == 0, sf.lit(7)).otherwise(sf.col("id") % KEYS)
    key = sf.when(sf.col("id") % 41 != 0, hot)
    return df.select(key.alias("key"), "id", (sf.col("id") * 7919 % 1009).alias("x"))


def failing(random: Random) -> Callable[[DataFrame], DataFrame]:
    """Return what lets rows pass a function that raises in some tasks' first attempts."""
    seed, odds = random.randrange(1 << 30), random.choice((0.0, 0.3, 0.8))

    def step(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        unlucky = Random(seed + context.partitionId()).random() < odds
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half)
            if unlucky and context.attemptNumber() == 0:
                raise RuntimeError("a fault of the chaos tests")
            yield batch.slice(half)

    return lambda df: df.mapInArrow(step, df.schema)


def _balance(df: DataFrame, grouping: str) -> DataFrame:
    return us.balance(df, "key", WORKERS, grouping=grouping)


def _agg(df: DataFrame, grouping: str) -> DataFrame:
    return us.group_by(df, "key", workers=WORKERS, grouping=grouping).agg(*totals())


def _apply(df: DataFrame, grouping: str) -> DataFrame:
    grouped = us.group_by(df, "key", workers=WORKERS, grouping=grouping)
    return grouped.apply(Totals(), "n long, total long")


def _apply_in_arrow(df: DataFrame, _grouping: str) -> DataFrame:
    def sums(table: pa.Table) -> pa.Table:
        key, total = table["key"][:1], pc.sum(table["id"]).as_py()
        return pa.table({"key": key, "n": [table.num_rows], "total": [total]})

    grouped = us.group_by(df, "key", workers=WORKERS)
    return grouped.apply_in_arrow(sums, "key long, n long, total long")


def mapped(df: DataFrame, **options: Any) -> DataFrame:
    """Return what `us.map_rows` makes of an eighth of the rows."""

    def doubled(row: pd.Series) -> tuple[int, int]:
        return (int(row["id"]), 2 * int(row["x"]))

    few = df.where("id % 8 = 0")
    return us.map_rows(few, doubled, "id long, y long", cost_by="x", workers=WORKERS, **options)


def _map_rows(df: DataFrame, _grouping: str) -> DataFrame:
    return mapped(df)


def _plainly_mapped(df: DataFrame, _grouping: str) -> DataFrame:
    return df.where("id % 8 = 0").select("id", (2 * sf.col("x")).alias("y"))


def other_side(df: DataFrame) -> DataFrame:
    """Return what rows are joined to."""
    ids = df.sparkSession.range(2 * KEYS)
    return ids.select((sf.col("id") % (KEYS + 9)).alias("key"), sf.col("id").alias("z"))


def _join(how: str) -> tuple[Job, Job]:
    def ours(df: DataFrame, _grouping: str) -> DataFrame:
        return us.join(df, other_side(df), "key", how, workers=WORKERS, grouping="wrap")

    def plain(df: DataFrame, _grouping: str) -> DataFrame:
        return df.join(other_side(df), "key", how)

    return ours, plain


def _window(df: DataFrame, _grouping: str) -> DataFrame:
    w = us.window(df, "key", "id", workers=WORKERS)
    return w.with_columns(number=w.row_number(), total=w.sum("x"))


def _plain_window(df: DataFrame, _grouping: str) -> DataFrame:
    over = Window.partitionBy("key").orderBy("id")
    columns = {"number": sf.row_number().over(over), "total": sf.sum("x").over(over)}
    return df.withColumns(columns)


def _written(df: DataFrame, _grouping: str) -> DataFrame:
    folder = Path(tempfile.mkdtemp(prefix="unskew-chaos-")) / "written"
    placed = us.for_write(df.where("key < 40 or key is null"), "key", workers=WORKERS)
    placed.write.partitionBy("key").parquet(str(folder))
    read = df.sparkSession.read.schema("id long, x long, key long").parquet(str(folder))
    return read.select("key", "id", "x")


def _not_written(df: DataFrame, _grouping: str) -> DataFrame:
    return df.where("key < 40 or key is null")


def _as_they_are(df: DataFrame, _grouping: str) -> DataFrame:
    return df


def _plain_totals(df: DataFrame, _grouping: str) -> DataFrame:
    return df.groupBy("key").agg(*totals())


JOBS: dict[str, tuple[Job, Job]] = {
    "balance": (_balance, _as_they_are),
    "agg": (_agg, _plain_totals),
    "apply": (_apply, _plain_totals),
    "apply_in_arrow": (_apply_in_arrow, _plain_totals),
    "map_rows": (_map_rows, _plainly_mapped),
    "join": _join("inner"),
    "full join": _join("full"),
    "window": (_window, _plain_window),
    "for_write": (_written, _not_written),
}
"""By name: our job, and the plain one."""


def counted(df: DataFrame) -> Counter[str]:
    """Return all rows of a result, each as often as it is there."""
    return Counter(map(repr, df.collect()))
