"""Partitioned writes: files, evenness of the tasks and time, beside what Spark users do today."""

import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

import unskew.spark as us
from benchmarks._timing import show

ROWS, COUNTRIES, EXPONENT, WORKERS, ROUNDS = 2_000_000, 200, 1.1, 8, 5
_FILES = 8  # of the table that is read
_BASELINE = "by column"


class Written(NamedTuple):
    """What a write made, and how long it took, with all that came before it.

    The busiest task is a multiple of the mean over W tasks, or over more where there are more.
    """

    seconds: float
    files: int
    tasks: int
    busiest: float


def main(rows: int = ROWS, rounds: int = ROUNDS) -> None:
    """Write the same rows in several ways, in turns; the median of all rounds but the first."""
    config: dict[str, Any] = {"spark.sql.shuffle.partitions": WORKERS}
    spark = us.session(master="local[2]", **config)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _write_input(folder / "in", rows)
        df = spark.read.parquet(str(folder / "in"))
        per_file = max(1, rows // (2 * WORKERS))
        ways: dict[str, Callable[[], DataFrame]] = {
            "as read": lambda: df,
            _BASELINE: lambda: df.repartition(WORKERS, "country"),
            "round-robin": lambda: df.repartition(WORKERS),
            "rebalance hint": lambda: df.hint("rebalance", "country"),
            "for_write, workers": lambda: us.for_write(df, "country", workers=WORKERS),
            "for_write, rows_per_file": lambda: us.for_write(df, "country", rows_per_file=per_file),
        }
        found: dict[str, list[Written]] = {name: [] for name in ways}
        for _ in range(rounds + 1):
            for name, way in ways.items():
                found[name].append(_written(way, folder / "out", rows))
    spark.stop()
    baseline = _median(found[_BASELINE][1:])
    table = []
    for name, runs in found.items():
        last, seconds = runs[-1], _median(runs[1:])
        bound = COUNTRIES + WORKERS - 1
        verdict = ""
        if name == "for_write, workers":
            verdict = f"≤ {bound}, ≤ 1.05 "
            verdict += "✓" if last.files <= bound and last.busiest <= 1.05 else "✗"
        cells = [f"{last.files:,}", f"{last.tasks}", f"{last.busiest:.2f}", f"{seconds:.2f}"]
        table.append([name, *cells, f"{seconds / baseline:.2f}", verdict])
    title = (
        f"{rows:,} rows, {COUNTRIES} countries (Zipf {EXPONENT}), W = {WORKERS}, "
        'write.partitionBy("country"), counting included'
    )
    columns = ["before the write", "files", "tasks", "busiest × mean", "s", "× by column", "target"]
    show(title, columns, table)


def _write_input(folder: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, COUNTRIES + 1) ** EXPONENT
    drawn = rng.choice(rng.permutation(COUNTRIES), rows, p=shares / shares.sum())
    names = pa.array([f"c{number:03d}" for number in range(COUNTRIES)])
    columns = {"country": names.take(pa.array(drawn)), "id": np.arange(rows), "v": rng.random(rows)}
    table = pa.table(columns)
    folder.mkdir()
    for number in range(_FILES):
        part = table.slice(number * rows // _FILES, rows // _FILES)
        pq.write_table(part, folder / f"{number}.parquet")


def _written(way: Callable[[], DataFrame], folder: Path, rows: int) -> Written:
    rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    way().write.partitionBy("country").parquet(str(folder))
    seconds = time.perf_counter() - start
    per_task: dict[str, int] = defaultdict(int)
    files = list(folder.rglob("*.parquet"))
    for path in files:
        per_task[path.name.split("-")[1]] += pq.ParquetFile(path).metadata.num_rows
    if sum(per_task.values()) != rows:
        raise AssertionError(f"{sum(per_task.values()):,} of {rows:,} rows were written")
    mean = rows / max(len(per_task), WORKERS)
    return Written(seconds, len(files), len(per_task), max(per_task.values()) / mean)


def _median(runs: list[Written]) -> float:
    return float(np.median([run.seconds for run in runs]))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
