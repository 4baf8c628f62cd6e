"""Windows over a hot key: how even the tasks are, and the time, beside Spark's own window."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession, Window

import unskew.spark as us
from benchmarks._timing import interleaved, show

ROWS, WORK_ROWS, KEYS, HOT_SHARE, WORKERS, ROUNDS = 10_000_000, 2_000_000, 10_000, 0.4, 8, 3
SECONDS_PER_ROW = 0.000_05
_FILES = 8


def main(rows: int = ROWS, work_rows: int = WORK_ROWS, rounds: int = ROUNDS) -> None:
    """Run window functions with nothing after them, and before a step that waits for each row."""
    _compare("local[2]", rows, rounds, work=False)
    _compare("local[8]", work_rows, rounds, work=True)


def plain(df: DataFrame) -> DataFrame:
    """Return the rows with Spark's own window functions."""
    window = Window.partitionBy("key").orderBy("at")
    running = window.rowsBetween(Window.unboundedPreceding, 0)
    return df.withColumns(
        {
            "number": sf.row_number().over(window),
            "total": sf.sum("amount").over(running),
            "before": sf.lag("amount").over(window),
        }
    )


def cut(df: DataFrame) -> DataFrame:
    """Return the same with the hot key cut."""
    window = us.window(df, "key", "at", workers=WORKERS)
    return window.with_columns(
        number=window.row_number(),
        total=window.sum("amount", rows=(None, 0)),
        before=window.lag("amount"),
    )


def _compare(master: str, rows: int, rounds: int, *, work: bool) -> None:
    spark = _session(master)
    with tempfile.TemporaryDirectory() as made:
        _write_input(Path(made), rows)
        df = spark.read.parquet(made)
        ways = {"Spark's window": plain, "us.window": cut}
        actions: dict[str, Callable[[], object]] = {
            name: partial(_run, way, df, work=work) for name, way in ways.items()
        }
        seconds = interleaved(actions, rounds)
        busiest = {name: _busiest(way(df), rows) for name, way in ways.items()}
        differing = cut(df).exceptAll(plain(df)).count() if rows <= WORK_ROWS else None
    spark.stop()
    if differing:
        raise AssertionError(f"{differing:,} rows differ from Spark's")
    table = []
    for name, taken in seconds.items():
        target = f"≤ 1.10 {'✓' if busiest[name] <= 1.1 else '✗'}" if name == "us.window" else ""
        ratio = taken / seconds["Spark's window"]
        table.append([name, f"{busiest[name]:.2f}", target, f"{taken:.2f}", f"{ratio:.2f}"])
    after = f"50 µs of waiting per row after it ({rows * SECONDS_PER_ROW / WORKERS:.1f} s at best)"
    title = (
        f"row_number, running sum and lag of {rows:,} rows, one key with {HOT_SHARE:.0%}, "
        f"W = {WORKERS}, {master}, {after if work else 'nothing after it'}"
    )
    show(title, ["window", "busiest × mean", "target", "s, learning included", "ratio"], table)


def _run(way: Callable[[DataFrame], DataFrame], df: DataFrame, *, work: bool) -> None:
    result = way(df)
    if work:
        result = result.mapInArrow(_wait, result.schema)
    result.write.format("noop").mode("overwrite").save()


def _wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(SECONDS_PER_ROW * batch.num_rows)
        yield batch


def _busiest(df: DataFrame, rows: int) -> float:
    used = df.where("number > 0 and total is not null")  # or Spark would leave the window out
    loads = used.groupBy(sf.spark_partition_id()).count().collect()
    return float(max(row["count"] for row in loads)) * WORKERS / rows


def _write_input(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    keys = np.where(rng.random(rows) < HOT_SHARE, 0, rng.integers(1, KEYS, rows))
    at, amounts = rng.permutation(rows), rng.integers(0, 100, rows)
    table = pa.table({"key": keys, "at": at, "amount": amounts})
    for number in range(_FILES):
        part = table.slice(number * rows // _FILES, rows // _FILES)
        pq.write_table(part, folder / f"{number}.parquet")


def _session(master: str) -> SparkSession:
    config: dict[str, Any] = {
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": WORKERS,
        # Or adaptive execution joins the small partitions of Spark's own window.
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }
    spark = us.session(master=master, **config)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
