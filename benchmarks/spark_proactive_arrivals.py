"""Rows that arrive all the time: how long each one takes from its arrival until it is done.

As in the paper, rows come at a steady rate, whatever the workers do, and what waits counts: uneven
work makes a micro-batch longer, so that more rows wait for the next one.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark import TaskContext, cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession

import unskew.spark as us
from benchmarks._timing import show
from benchmarks.spark_proactive import (
    CLASSES,
    MEAN_SECONDS,
    PROACTIVE,
    ROUND_ROBIN,
    SOURCES,
    WORKERS,
)
from benchmarks.spark_proactive_streams import began
from unskew.events import Epoch, read_epochs

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SPARKS_OWN = "repartition(W)"
FILE_SECONDS, WARMING_ROWS = 0.25, 20
SCHEMA = "batch long, worker int, arrived double, began double, ended double"

Done = tuple[int, int, float, float, float]


class Size(NamedTuple):
    """How much is run; what docs say is of the default."""

    seconds: int = 30
    rounds: int = 2
    percent_busy: int = 80
    workers: Sequence[int] = WORKERS
    learning: int = 15
    """Seconds at the start of each run that are not counted."""
    warming_seconds: int = 20
    warming_batches: int = 8


class Measured(NamedTuple):
    """What one query did after it had learned; times are means over rows, in seconds."""

    until_worked: float
    """From a row's arrival to the end of the call with it."""
    until_committed: float
    """From a row's arrival to the end of its micro-batch, when its result is there."""
    batch_seconds: float
    evenness: float
    """The busiest worker over the mean, in the mean micro-batch."""
    rows_per_message: float


def main(size: Size = Size()) -> None:  # noqa: B008 (a tuple)
    """Let three queries have the same rows at the same rate, one after the other."""
    config: dict[str, Any] = {
        "spark.driver.memory": "2g",
        "spark.sql.streaming.numRecentProgressUpdates": 1000,
        # Small files are read by several tasks: each of them schedules alone.
        "spark.sql.files.openCostInBytes": 0,
        "spark.sql.files.minPartitionNum": SOURCES,
        # For all of them: through TCP, Python workers that had a pause are held up by 40 ms.
        "spark.python.unix.domain.socket.enabled": True,
    }
    spark = us.session(master="local[8]", **config)
    spark.sparkContext.setLogLevel("ERROR")
    rates = {each: int(size.percent_busy / 100 * each / MEAN_SECONDS) for each in size.workers}
    most, warming = max(size.workers), size._replace(seconds=size.warming_seconds)
    for name in (SPARKS_OWN, ROUND_ROBIN, PROACTIVE):  # until Java has compiled all of it
        _run(spark, name, most, rates[most], warming, size.rounds)
    for workers, rate in rates.items():
        runs: dict[str, list[Measured]] = {SPARKS_OWN: [], ROUND_ROBIN: [], PROACTIVE: []}
        for number in range(size.rounds):
            for name, done in runs.items():
                done.append(_run(spark, name, workers, rate, size, number))
        _show(workers, rate, runs)
    spark.stop()


def _show(workers: int, rate: int, runs: dict[str, list[Measured]]) -> None:
    base = _middle(runs[SPARKS_OWN])
    table = []
    for name, done in runs.items():
        one = _middle(done)
        table.append(
            [
                name,
                f"{one.until_worked:.2f}",
                f"{one.until_worked / base.until_worked:.3f}",
                f"{one.until_committed:.2f}",
                f"{one.until_committed / base.until_committed:.3f}",
                f"{one.batch_seconds:.2f}",
                f"{one.evenness:.3f}",
                f"{one.rows_per_message:,.0f}" if one.rows_per_message else "",
            ]
        )
    title = f"{rate:,} rows per second of 25 / 5 / 1 ms, {workers} workers; seconds since arrival"
    columns = [
        "rows go",
        "worked on",
        "÷ Spark's",
        "committed",
        "÷ Spark's",
        "batch s",
        "busiest ÷ mean",
        "rows per message",
    ]
    show(f"{title}, mean of all rows", columns, table)


def _middle(done: list[Measured]) -> Measured:
    return Measured(*(statistics.mean(values) for values in zip(*done, strict=True)))


def _run(
    spark: SparkSession, name: str, workers: int, rate: int, size: Size, number: int
) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        source, plans = Path(folder) / "in", Path(folder) / "plans"
        source.mkdir()
        sink = _mapped(spark, name, workers, source, plans).writeStream.format("memory")
        query = sink.queryName("arrivals").outputMode("append").start()
        rng = np.random.default_rng(number)
        # What starts, loads and compiles shall not make rows wait that are counted. Spark starts
        # Python processes whenever none is idle, so it takes some micro-batches until all run.
        for warming in range(size.warming_batches):
            _write(source, f"w{warming}", _kinds(rng, WARMING_ROWS * workers), 0.0, 1.0)
            query.processAllAvailable()
        start = time.time()
        _feed(source, rng, rate, size.learning + size.seconds, start)
        query.processAllAvailable()
        query.stop()
        ends = {one.batchId: _end(one) for one in query.recentProgress if one.numInputRows}
        measured = _measured(spark.table("arrivals"), ends, workers, start + size.learning)
        epochs = _recorded(plans, len(ends)) if name == PROACTIVE else []
        messages = sum(epoch.messages or 0 for epoch in epochs)
        rows = sum(epoch.rows for epoch in epochs)
        spark.sql("DROP VIEW arrivals")
        return measured._replace(rows_per_message=rows / messages if messages else 0.0)


def _recorded(plans: Path, batches: int) -> list[Epoch]:
    """Return what the driver has put on record, once it has heard of all micro-batches."""
    while len(epochs := read_epochs(plans)) < batches:
        time.sleep(0.1)
    return epochs


def _feed(source: Path, rng: np.random.Generator, rate: int, seconds: int, start: float) -> None:
    """Write a file of rows whenever they have arrived, on time whatever the query does."""
    rows_per_file = round(rate * FILE_SECONDS)
    for number in range(int(seconds / FILE_SECONDS)):
        first = start + number * FILE_SECONDS
        time.sleep(max(first + FILE_SECONDS - time.time(), 0.0))
        _write(
            source, f"{number:04d}", _kinds(rng, rows_per_file), first, FILE_SECONDS / rows_per_file
        )


def _kinds(rng: np.random.Generator, rows: int) -> list[str]:
    shares = [percent / 100 for _, _, percent in CLASSES]
    return [CLASSES[one][0] for one in rng.choice(len(CLASSES), rows, p=shares)]


def _write(source: Path, name: str, kinds: list[str], first: float, apart: float) -> None:
    lines = (f"{kind},{first + row * apart:.6f}\n" for row, kind in enumerate(kinds))
    (source / f".{name}.tmp").write_text("".join(lines))
    (source / f".{name}.tmp").replace(source / f"{name}.csv")


def _mapped(spark: SparkSession, name: str, workers: int, source: Path, plans: Path) -> DataFrame:
    events = spark.readStream.schema("kind string, arrived double").csv(str(source))
    if name == SPARKS_OWN:
        return events.repartition(workers).mapInArrow(_sleep_through, SCHEMA)
    path = plans if name == PROACTIVE else None
    return us.map_rows(
        events, _sleep, SCHEMA, cost_by="kind", workers=workers, grouping=name, plan_path=path
    )


def _sleep(row: Row) -> Done:
    context = TaskContext.get()
    batch = context.getLocalProperty("streaming.sql.batchId") if context else None
    worker = context.partitionId() if context else 0
    began = time.time()
    time.sleep(next(seconds for name, seconds, _ in CLASSES if name == row.kind))
    return int(batch or 0), worker, row.arrived, began, time.time()


def _sleep_through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        done = [_sleep(Row(**row)) for row in batch.to_pylist()]
        columns = [pa.array(column) for column in zip(*done, strict=True)]
        columns[1] = columns[1].cast(pa.int32())
        yield pa.record_batch(columns, ["batch", "worker", "arrived", "began", "ended"])


def _end(progress: Any) -> float:
    return began(progress) + float(progress.durationMs["triggerExecution"]) / 1000


def _measured(table: DataFrame, ends: dict[int, float], workers: int, since: float) -> Measured:
    """Return the means over all rows that arrived ``since`` then."""
    sums = [sf.sum(name).alias(name) for name in ("arrived", "began", "ended", "rows")]
    counted = table.where(sf.col("arrived") >= since).withColumn("rows", sf.lit(1))
    found = counted.groupBy("batch", "worker").agg(*sums).collect()
    rows, arrived = sum(one["rows"] for one in found), sum(one["arrived"] for one in found)
    busy: dict[int, list[float]] = {}
    for one in found:
        busy.setdefault(one["batch"], []).append(one["ended"] - one["began"])
    last = sorted(ends[batch] for batch in busy)
    return Measured(
        until_worked=(sum(one["ended"] for one in found) - arrived) / rows,
        until_committed=(sum(ends[one["batch"]] * one["rows"] for one in found) - arrived) / rows,
        batch_seconds=(last[-1] - last[0]) / max(len(last) - 1, 1),
        evenness=statistics.mean(max(one) * workers / sum(one) for one in busy.values()),
        rows_per_message=0.0,
    )


if __name__ == "__main__":
    main(Size(seconds=int(sys.argv[1])) if len(sys.argv) > 1 else Size())
