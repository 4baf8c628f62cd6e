"""Rows of unequal cost on Spark: proactive shuffle beside round-robin, both in one run."""

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark import TaskContext, cloudpickle
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.types import StructType

from benchmarks._timing import show
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.spark import session
from unskew.spark.map_rows import map_rows
from unskew.spark.routing.choosing import AUTO
from unskew.spark.worker.cost_machine import CostMachine
from unskew.spark.worker.cost_messages import matrices_of
from unskew.spark.worker.timed_functions import TimedRows, identified
from unskew.spark.worker.user_function import UserFunction

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

ROUND_ROBIN, PROACTIVE = "shuffle", "proactive-shuffle"
ROUNDS, IDEAL_SECONDS, SOURCES = 5, 10, 4
WORKERS = (2, 4, 8)
CLASSES = (("slow", 0.025, 2), ("middle", 0.005, 8), ("fast", 0.001, 90))
"""Name, seconds and percent of the rows."""
MEAN_SECONDS = sum(seconds * percent for _, seconds, percent in CLASSES) / 100

Work = Callable[[Row], tuple[int, float, float]]


class Run(NamedTuple):
    """One job: what it took beside what its workers did."""

    learning: float
    seconds: float
    busy: list[float]
    mean_end: float
    """When a row was done since the job began, the mean over all rows."""

    @property
    def to_ideal(self) -> float:
        """Its time over that of the same work divided evenly."""
        return self.seconds * len(self.busy) / sum(self.busy)

    @property
    def evenness(self) -> float:
        """The busiest worker over the mean: what no job can beat."""
        return max(self.busy) * len(self.busy) / sum(self.busy)


def main(
    ideal_seconds: float = IDEAL_SECONDS, rounds: int = ROUNDS, *, workers: Sequence[int] = WORKERS
) -> None:
    """Sleep through rows of three classes of cost, on threads enough for all workers."""
    spark = session(master="local[8]", spark__driver__memory="2g")
    spark.sparkContext.setLogLevel("ERROR")
    _overhead(rounds)
    title = "classes of 25 / 5 / 1 ms, cost_by the class"
    _compare(spark, title, "kind", _sleep, workers, ideal_seconds, rounds)
    title = "classes of 250 / 50 / 10 ms, cost_by the class: a tenth of the rows"
    _compare(spark, title, "kind", _sleep_ten_times, workers, ideal_seconds, rounds, longer=10)
    title = "25 / 5 / 1 ms, cost_by a column that has nothing to do with it"
    _compare(spark, title, "other", _sleep, workers[-1:], ideal_seconds, rounds)
    title = "the same, cost_by the class, worker 0 twice as slow"
    _compare(spark, title, "kind", _sleep_longer_on_worker_0, workers[-1:], ideal_seconds, rounds)
    _whole_jobs(spark, workers[-1], (ideal_seconds / 5, 3 * ideal_seconds), rounds)
    spark.stop()


def _whole_jobs(spark: SparkSession, workers: int, ideals: Sequence[float], rounds: int) -> None:
    """Show seconds from the call to the last row, learning and all, beside Spark's own map."""
    table = []
    for ideal_seconds in ideals:
        df = _rows(spark, int(ideal_seconds * workers / MEAN_SECONDS))
        seconds: dict[str, list[float]] = {}
        for number in range(rounds + 1):
            for name in ("mapInPandas", AUTO, PROACTIVE, ROUND_ROBIN):
                start = time.perf_counter()
                if name == "mapInPandas":
                    out = df.repartition(workers).mapInPandas(_in_pandas, "seconds double")
                else:
                    out = map_rows(
                        df,
                        lambda row: (_sleep(row)[1],),
                        "seconds double",
                        cost_by="kind",
                        workers=workers,
                        grouping=name,
                        seed=number,
                    )
                out.agg(sf.sum("seconds")).collect()
                if number:  # the first compiles and warms
                    seconds.setdefault(name, []).append(time.perf_counter() - start)
        middle = {name: statistics.median(taken) for name, taken in seconds.items()}
        table += [
            [f"{ideal_seconds:g}", name, f"{took:.2f}", f"{took / middle['mapInPandas']:.2f}"]
            for name, took in middle.items()
        ]
    columns = ["ideal s", "rows go", "all s", "÷ mapInPandas"]
    show(f"whole jobs, {workers} workers; median of {rounds}", columns, table)


def _in_pandas(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        rows = (Row(kind=kind) for kind in frame["kind"])
        yield pd.DataFrame({"seconds": [_sleep(row)[1] for row in rows]})


def _overhead(rounds: int) -> None:
    """Show what the clock, the machine and the alarm add to a row that costs nothing."""
    given = StructType().add("kind", "string").add("n", "long")
    promised = StructType().add("n", "long")
    size = 10_000
    columns = [pa.array(["fast"] * size), pa.array(range(size)), pa.array(range(size))]
    batches = [pa.record_batch(columns, ["a", "b", "c"])] * 10
    matrices = matrices_of(ProactiveShuffle(8))

    def bare() -> None:
        for batch in batches:
            table = pa.Table.from_batches([batch.select([0, 1])])
            rows = ArrowTableToRowsConversion.convert(table, given)
            LocalDataToArrowConversion.convert([_number(row) for row in rows], promised, False)

    def timed(row_timeout: float | None, machine: CostMachine | None) -> None:
        called = UserFunction(_number, "number", ["kind"], row_timeout)
        step = TimedRows(called, given, promised)
        for _ in step.run(identified(iter(batches), given.names), machine):
            pass

    seconds = _least_cpu(
        {
            "rows made, function called, rows read": bare,
            "the same as a step": lambda: timed(None, None),
            "… measured": lambda: timed(None, CostMachine(0, matrices, None)),
            "… with row_timeout": lambda: timed(10.0, CostMachine(0, matrices, None)),
        },
        rounds,
    )
    base = next(iter(seconds.values()))
    table = [
        [name, f"{10 * took:.2f}", f"{10 * (took - base):+.2f}"] for name, took in seconds.items()
    ]
    show("CPU time of a row that costs nothing", ["", "µs per row", "more"], table)


def _least_cpu(actions: Mapping[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Return the least CPU time of each action, which others on the machine disturb least."""
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(2 * rounds):
        for name, action in actions.items():
            start = time.process_time()
            action()
            seconds[name].append(time.process_time() - start)
    return {name: min(values) for name, values in seconds.items()}


def _number(row: Row) -> tuple[int]:
    return (row[1],)


def _compare(
    spark: SparkSession,
    title: str,
    cost_by: str,
    work: Work,
    workers: Sequence[int],
    ideal_seconds: float,
    rounds: int,
    longer: int = 1,
) -> None:
    table = []
    for count in workers:
        df = _rows(spark, int(ideal_seconds * count / MEAN_SECONDS / longer))
        runs: dict[str, list[Run]] = {ROUND_ROBIN: [], PROACTIVE: []}
        for number in range(rounds + 1):
            for name, done in runs.items():
                run = _run(df, name, cost_by, work, count, seed=number)
                if number:  # the first compiles and warms
                    done.append(run)
        table += [_line(count, name, done, runs[ROUND_ROBIN]) for name, done in runs.items()]
    columns = [
        "workers",
        "rows go",
        "learning s",
        "job s",
        "÷ round-robin",
        "÷ ideal",
        "busiest ÷ mean",
        "mean end s",
        "÷ round-robin",
    ]
    show(f"{title}; median of {rounds}", columns, table)


def _line(workers: int, name: str, runs: list[Run], base: list[Run]) -> list[str]:
    def middle(values: Iterable[float]) -> float:
        return statistics.median(values)

    seconds, end = middle(run.seconds for run in runs), middle(run.mean_end for run in runs)
    return [
        f"{workers}",
        name,
        f"{middle(run.learning for run in runs):.2f}",
        f"{seconds:.2f}",
        f"{seconds / middle(run.seconds for run in base):.3f}",
        f"{middle(run.to_ideal for run in runs):.3f}",
        f"{middle(run.evenness for run in runs):.3f}",
        f"{end:.2f}",
        f"{end / middle(run.mean_end for run in base):.3f}",
    ]


def _run(df: DataFrame, grouping: str, cost_by: str, work: Work, workers: int, seed: int) -> Run:
    # The sample is another one in every run; hash functions, which Spark compiles, stay the same.
    scheme = ProactiveShuffle(workers) if grouping == PROACTIVE else grouping
    start = time.perf_counter()
    out = map_rows(
        df,
        work,
        "worker int, seconds double, end double",
        cost_by=cost_by,
        workers=workers,
        grouping=scheme,
        seed=seed,
    )
    learned, began = time.perf_counter(), time.time()
    sums = [sf.sum(name).alias(name) for name in ("seconds", "end", "one")]
    done = out.withColumn("one", sf.lit(1)).groupBy("worker").agg(*sums).collect()
    ended = time.perf_counter()
    mean_end = sum(row["end"] for row in done) / sum(row["one"] for row in done) - began
    busy = [row["seconds"] for row in done]
    return Run(learned - start, ended - learned, busy, mean_end)


def _rows(spark: SparkSession, count: int) -> DataFrame:
    chance = sf.pmod(sf.xxhash64("id"), sf.lit(100))
    other = sf.pmod(sf.xxhash64(sf.lit(1), "id"), sf.lit(20))
    return spark.range(0, count, 1, SOURCES).select(
        _kind(chance).alias("kind"), other.alias("other")
    )


def _kind(chance: Column) -> Column:
    below, kind = 0, sf.when(sf.lit(False), "")
    for name, _, percent in CLASSES:
        below += percent
        kind = kind.when(chance < below, name)
    return kind


def _sleep(row: Row) -> tuple[int, float, float]:
    return _slept(row, lambda _: 1.0)


def _sleep_ten_times(row: Row) -> tuple[int, float, float]:
    return _slept(row, lambda _: 10.0)


def _sleep_longer_on_worker_0(row: Row) -> tuple[int, float, float]:
    return _slept(row, lambda worker: 2.0 if worker == 0 else 1.0)


def _slept(row: Row, factor: Callable[[int], float]) -> tuple[int, float, float]:
    start = time.perf_counter()
    context = TaskContext.get()
    worker = 0 if context is None else context.partitionId()
    time.sleep(factor(worker) * next(seconds for name, seconds, _ in CLASSES if name == row.kind))
    return worker, time.perf_counter() - start, time.time()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
