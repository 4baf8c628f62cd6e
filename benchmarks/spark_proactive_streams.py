"""Rows of unequal cost in streams: proactive shuffle beside round-robin, both in one run."""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyspark.sql.functions as sf
from pyspark import TaskContext, cloudpickle
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import unskew.spark as us
from benchmarks._timing import show
from benchmarks.spark_proactive import CLASSES, PROACTIVE, ROUND_ROBIN, SOURCES, WORKERS
from unskew.events import Epoch, read_epochs

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

Classes: TypeAlias = Sequence[tuple[str, float, int]]

LEARNING, AFTER_CHANGE, ROWS_AT_CHANGE = 5, 7, 1000
STEADY = ((125, 30), (1000, 8))
"""Rows per worker, and how many micro-batches of them are counted."""
CHANGED = (("slow", 0.005, 2), ("middle", 0.025, 8), ("fast", 0.001, 90))
"""What the classes cost after a change: two have changed places."""
FEWEST_ROWS_PER_MESSAGE = 300


class Stream(NamedTuple):
    """A running query with a source of its own; ``plans`` is None if it learns nothing."""

    query: StreamingQuery
    source: Path
    plans: Path | None


class Batch(NamedTuple):
    """One micro-batch: what it took beside what its workers did."""

    seconds: float
    mean_end: float
    """When a row was worked on since the micro-batch began, the mean over its rows."""
    busy: list[float]
    epoch: Epoch | None

    @property
    def evenness(self) -> float:
        """The busiest worker over the mean."""
        return max(self.busy) * len(self.busy) / sum(self.busy)

    @property
    def to_ideal(self) -> float:
        """Its time over that of the same work divided evenly."""
        return self.seconds * len(self.busy) / sum(self.busy)


def main(
    workers: Sequence[int] = WORKERS,
    steady: Sequence[tuple[int, int]] = STEADY,
    rows_at_change: int = ROWS_AT_CHANGE,
) -> None:
    """Feed micro-batches of sleeping work to two queries alternately."""
    config: dict[str, Any] = {
        "spark.driver.memory": "2g",
        # Queries that wait for their turn look for files less often than every 10 ms.
        "spark.sql.streaming.pollingDelay": "200ms",
        "spark.sql.streaming.numRecentProgressUpdates": 1000,
        # A small file is read by several tasks: each of them schedules alone.
        "spark.sql.files.openCostInBytes": 0,
        "spark.sql.files.minPartitionNum": SOURCES,
    }
    spark = us.session(master="local[8]", **config)
    spark.sparkContext.setLogLevel("ERROR")
    for rows_per_worker, counted in steady:
        _steady(spark, workers, rows_per_worker, counted)
    _changing(spark, max(workers), rows_at_change)
    spark.stop()


def _steady(spark: SparkSession, workers: Sequence[int], rows: int, counted: int) -> None:
    table = []
    for count in workers:
        costs = [CLASSES] * (LEARNING + counted)
        runs = {name: done[LEARNING:] for name, done in _run(spark, count, rows, costs).items()}
        table += [_line(count, name, done, runs[ROUND_ROBIN]) for name, done in runs.items()]
    title = f"micro-batches of {rows:,} rows per worker of 25 / 5 / 1 ms, mean of {counted}"
    columns = [
        "workers",
        "rows go",
        "batch s",
        "÷ round-robin",
        "mean end s",
        "÷ round-robin",
        "÷ ideal",
        "busiest ÷ mean",
        f"rows per message ≥ {FEWEST_ROWS_PER_MESSAGE}",
    ]
    show(title, columns, table)


def _line(workers: int, name: str, batches: list[Batch], base: list[Batch]) -> list[str]:
    seconds, end = (statistics.mean(values) for values in _times(batches))
    base_seconds, base_end = (statistics.mean(values) for values in _times(base))
    epochs = [one.epoch for one in batches if one.epoch is not None]
    messages = sum(epoch.messages or 0 for epoch in epochs)
    each = sum(epoch.rows for epoch in epochs) / max(messages, 1)
    is_few = each >= FEWEST_ROWS_PER_MESSAGE
    return [
        f"{workers}",
        name,
        f"{seconds:.2f}",
        f"{seconds / base_seconds:.3f}",
        f"{end:.3f}",
        f"{end / base_end:.3f}",
        f"{statistics.mean(one.to_ideal for one in batches):.3f}",
        f"{statistics.mean(one.evenness for one in batches):.3f}",
        f"{each:,.0f} {'✓' if is_few else '✗'}" if epochs else "",
    ]


def _times(batches: list[Batch]) -> tuple[list[float], list[float]]:
    return [one.seconds for one in batches], [one.mean_end for one in batches]


def _changing(spark: SparkSession, workers: int, rows: int) -> None:
    runs = _run(spark, workers, rows, [CLASSES] * LEARNING + [CHANGED] * AFTER_CHANGE)
    table = []
    for number, (round_robin, proactive) in enumerate(
        zip(runs[ROUND_ROBIN], runs[PROACTIVE], strict=True), start=-LEARNING
    ):
        epoch = proactive.epoch
        estimated = sum(epoch.estimated_seconds or ()) if epoch else 0.0
        table.append(
            [
                f"{number:+d}",
                (epoch.phase or "") if epoch else "",
                f"{round_robin.seconds:.2f}",
                f"{proactive.seconds:.2f}",
                f"{round_robin.evenness:.3f}",
                f"{proactive.evenness:.3f}",
                f"{estimated / sum(proactive.busy):.3f}" if estimated else "",
            ]
        )
    title = f"25 and 5 ms change places at micro-batch +0; {workers} workers, {rows:,} rows each"
    columns = [
        "batch",
        "phase",
        "round-robin s",
        "proactive s",
        "round-robin busiest ÷ mean",
        "proactive",
        "estimated ÷ measured",
    ]
    show(title, columns, table)


def _run(
    spark: SparkSession, workers: int, rows: int, costs: Sequence[Classes]
) -> dict[str, list[Batch]]:
    """Let both queries take the same micro-batches, one query after the other."""
    with tempfile.TemporaryDirectory() as folder:
        names = {ROUND_ROBIN: "round_robin", PROACTIVE: "proactive"}
        streams = {
            grouping: _start(spark, Path(folder), grouping, name, workers)
            for grouping, name in names.items()
        }
        for number, classes in enumerate(costs):
            text = _text(rows * workers, number, classes)
            for stream in streams.values():
                _feed(stream, text, number)
        for stream in streams.values():
            stream.query.stop()
        return {
            grouping: _batches(spark, stream, names[grouping], workers)
            for grouping, stream in streams.items()
        }


def _start(spark: SparkSession, folder: Path, grouping: str, name: str, workers: int) -> Stream:
    source = folder / f"in-{name}"
    source.mkdir()
    plans = folder / "plans" if grouping == PROACTIVE else None
    reader = spark.readStream.schema("kind string, seconds double, batch int")
    out = us.map_rows(
        reader.option("maxFilesPerTrigger", 1).csv(str(source)),
        _sleep,
        "batch int, worker int, seconds double, ended double",
        cost_by="kind",
        workers=workers,
        grouping=grouping,
        plan_path=plans,
    )
    sink = out.writeStream.format("memory").queryName(name).outputMode("append")
    return Stream(sink.start(), source, plans)


def _sleep(row: Row) -> tuple[int, int, float, float]:
    start = time.perf_counter()
    context = TaskContext.get()
    time.sleep(row.seconds)
    worker = 0 if context is None else context.partitionId()
    return row.batch, worker, time.perf_counter() - start, time.time()


def _text(rows: int, number: int, classes: Classes) -> str:
    shares = [percent / 100 for _, _, percent in classes]
    chosen = np.random.default_rng(number).choice(len(classes), rows, p=shares)
    lines = [f"{name},{seconds},{number}\n" for name, seconds, _ in classes]
    return "".join(lines[one] for one in chosen)


def _feed(stream: Stream, text: str, number: int) -> None:
    """Let a query take one file, and its driver learn from it before the next query's turn."""
    (stream.source / f".{number}.tmp").write_text(text)
    (stream.source / f".{number}.tmp").replace(stream.source / f"{number:04d}.csv")
    stream.query.processAllAvailable()
    while stream.plans is not None and len(read_epochs(stream.plans)) <= number:
        time.sleep(0.01)


def _batches(spark: SparkSession, stream: Stream, name: str, workers: int) -> list[Batch]:
    progress = [one for one in stream.query.recentProgress if one.numInputRows]
    sums = [sf.sum(column).alias(column) for column in ("seconds", "ended")]
    found = spark.table(name).groupBy("batch", "worker").agg(*sums).collect()
    busy, ended = ([[0.0] * workers for _ in progress] for _ in range(2))
    for row in found:
        busy[row["batch"]][row["worker"]] = row["seconds"]
        ended[row["batch"]][row["worker"]] = row["ended"]
    spark.sql(f"DROP VIEW {name}")
    epochs = read_epochs(stream.plans) if stream.plans else [None] * len(progress)
    seconds = [one.durationMs["triggerExecution"] / 1000 for one in progress]
    ends = [
        sum(of_workers) / one.numInputRows - began(one)
        for of_workers, one in zip(ended, progress, strict=True)
    ]
    return [Batch(*one) for one in zip(seconds, ends, busy, epochs, strict=True)]


def began(progress: Any) -> float:
    """Return when a micro-batch began, in seconds since 1970."""
    return datetime.fromisoformat(progress.timestamp.replace("Z", "+00:00")).timestamp()


if __name__ == "__main__":
    main()
