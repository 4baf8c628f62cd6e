"""Work that takes its time: how long the slowest worker takes, and what learning adds to a job."""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from benchmarks._timing import interleaved, show
from benchmarks.spark_routing import run, write_rows
from unskew.spark.aggregators import Aggregator, State
from unskew.spark.columns import identity
from unskew.spark.routing.learning import learn_placing
from unskew.spark.routing.schemes import grouping_for

WORKERS = 8
NAMES = ("key", "partial-key", "wrap")
SLEEPING_ROWS, SECONDS_PER_ROW = 160_000, 0.001
BUSY_ROWS, BUSY_SECONDS_PER_ROW = 5_000_000, 0.000_01
ROUNDS = 5


class SlowCount(Aggregator):
    """Count rows, and sleep a millisecond for each, as one who waits for an answer does."""

    state_schema = pa.schema([("n", pa.int64())])

    def init(self) -> State:
        """Return the count of no rows."""
        return (0,)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Count the rows of ``batch``, slowly."""
        time.sleep(SECONDS_PER_ROW * batch.num_rows)
        return (state[0] + batch.num_rows,)

    def merge(self, a: State, b: State) -> State:
        """Return the count of both parts together."""
        return (a[0] + b[0],)

    def finish(self, state: State) -> State:
        """Return the count."""
        return state


class Took(NamedTuple):
    """Seconds for what happens when a query is written, and when it is run."""

    learning: float
    running: float


def main(sleeping: int = SLEEPING_ROWS, busy: int = BUSY_ROWS, rounds: int = ROUNDS) -> None:
    """Sleep a millisecond per row with each scheme; then learn before 10 µs of work per row."""
    _show_slowest(sleeping, rounds)
    _show_learning(busy, rounds)


def _show_slowest(rows: int, rounds: int) -> None:
    spark = _session("local[8]")
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), rows)
        df = spark.read.parquet(folder)
        took: dict[str, list[Took]] = {name: [] for name in NAMES}
        for round_number in range(rounds + 1):  # the first one warms
            for name, times in took.items():
                found = _slow_count(df, name, rows)
                if round_number:
                    times.append(found)
    spark.stop()
    ideal = rows * SECONDS_PER_ROW / WORKERS
    table = [["ideal: all work / 8", "", f"{ideal:.2f}", "1.00", "", ""]]
    for name, times in took.items():
        learning, running = (statistics.median(column) for column in zip(*times, strict=True))
        whole = learning + running
        verdict = f"≤ 1.10 {'✓' if running <= 1.1 * ideal else '✗'}" if name == "wrap" else ""
        times_ideal = f"{running / ideal:.2f}", verdict, f"{whole / ideal:.2f}"
        table.append([name, f"{learning:.2f}", f"{running:.2f}", *times_ideal])
    title = f"1 ms of sleep for each of {rows:,} Zipf-1.2 rows, {WORKERS} workers, local[8]"
    columns = ["scheme", "learning s", "job s", "× ideal", "target", "with learning"]
    show(title, columns, table)


def _slow_count(df: DataFrame, name: str, rows: int) -> Took:
    start = time.perf_counter()
    counts = us.group_by(df, "key", workers=WORKERS, grouping=name).apply(SlowCount(), "n bigint")
    learned = time.perf_counter()
    counted = sum(counts.toArrow()["n"].to_pylist())
    if counted != rows:
        raise AssertionError(f"{name} counted {counted:,} of {rows:,} rows")
    return Took(learned - start, time.perf_counter() - learned)


def _show_learning(rows: int, rounds: int) -> None:
    spark = _session("local[2]")
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), rows)
        df = spark.read.parquet(folder)
        plan = learn_placing(
            df, identity(df, "key"), grouping_for("wrap", WORKERS), how="sample"
        ).plan
        placed = us.balance(df, "key", WORKERS, plan=plan, spread_by="amount")
        actions: dict[str, Callable[[], object]] = {
            "shuffle": partial(run, placed),
            "work": partial(run, placed.mapInArrow(_work, df.schema)),
            "sample": partial(us.balance, df, "key", WORKERS, learn="sample"),
            "pass": partial(us.balance, df, "key", WORKERS, learn="pass"),
        }
        seconds = interleaved(actions, rounds)
    spark.stop()
    table = []
    for job, what in (("shuffle", "a bare shuffle"), ("work", "a shuffle and 10 µs per row")):
        for way in ("sample", "pass"):
            ratio = 1 + seconds[way] / seconds[job]
            verdict = f"≤ 1.10 {'✓' if ratio <= 1.1 else '✗'}" if job == "work" else ""
            times = f"{seconds[job]:.2f}", f"{seconds[way]:.2f}"
            table.append([f"{what}, learn={way!r}", *times, f"{ratio:.2f}", verdict])
    title = f"What learning adds: {rows:,} rows (text, double, bigint), wrap, {WORKERS} workers"
    show(title, ["job", "with a plan s", "learning s", "× with a plan", "target"], table)


def _work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        end = time.thread_time() + BUSY_SECONDS_PER_ROW * batch.num_rows
        while time.thread_time() < end:
            pass
        yield batch


def _session(master: str) -> SparkSession:
    config: dict[str, Any] = {"spark.driver.memory": "4g", "spark.sql.shuffle.partitions": WORKERS}
    spark = us.session(master=master, **config)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
