"""What the closed loop of a stream adds to a micro-batch, against the same query without it."""

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import unskew.spark as us
from benchmarks._timing import show
from unskew.events import read_epochs
from unskew.streams import zipf

ROWS, WORKERS, ROUNDS, WARM_ROUNDS = 200_000, 8, 15, 25
MOST_MILLISECONDS = 200
PLACED, COUNTED = "repartition(8, key)", "groupBy(key).count"
BALANCED, GROUPED = "balance_stream, {}", "group_by.agg(count), {}"
SCHEMES = ("wrap", "distribution-aware", "popularity-counted")


class Stream(NamedTuple):
    """A running query with a source of its own."""

    query: StreamingQuery
    source: Path
    plans: Path | None


def main(
    rows: int = ROWS,
    rounds: int = ROUNDS,
    warm_rounds: int = WARM_ROUNDS,
    *,
    schemes: Sequence[str] = SCHEMES,
) -> None:
    """Feed files of 200,000 rows to the queries, one after the other; a file is a micro-batch.

    Two plain queries: one places rows by key, and there the loop is all that `balance_stream`
    adds; the other counts, where Spark combines rows before it shuffles, so that `group_by` adds
    the shuffle of the rows as well.
    """
    config: dict[str, Any] = {
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": WORKERS,
        # Queries that wait for their turn look for files less often than every 10 ms.
        "spark.sql.streaming.pollingDelay": "200ms",
        "spark.sql.streaming.numRecentProgressUpdates": 1000,
    }
    spark = us.session(master="local[2]", **config)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        streams = _start_all(spark, Path(folder), schemes)
        for number in range(warm_rounds + rounds):
            table = _table(rows, number)
            for stream in streams.values():
                _feed(stream, table, number)
        durations = {name: _durations(each, warm_rounds) for name, each in streams.items()}
        driver = {name: _driver_seconds(each, warm_rounds) for name, each in streams.items()}
        for stream in streams.values():
            stream.query.stop()
    spark.stop()
    _print(rows, rounds, durations, driver)


def _start_all(spark: SparkSession, folder: Path, schemes: Sequence[str]) -> dict[str, Stream]:
    names = [PLACED, *map(BALANCED.format, schemes), COUNTED, *map(GROUPED.format, schemes)]
    streams = {}
    for number, name in enumerate(names):
        source, plans = folder / f"in-{number}", folder / f"plans-{number}"
        source.mkdir()
        reader = spark.readStream.schema("key string, amount double, count long")
        df = reader.option("maxFilesPerTrigger", 1).parquet(str(source))
        query = _query(df, name, plans).writeStream.format("noop")
        query = query.outputMode("append" if _baseline(name) == PLACED else "update")
        query = query.option("checkpointLocation", str(folder / f"checkpoint-{number}"))
        streams[name] = Stream(query.start(), source, plans if name != _baseline(name) else None)
    return streams


def _query(df: DataFrame, name: str, plans: Path) -> DataFrame:
    if name == PLACED:
        return df.repartition(WORKERS, "key")
    if name == COUNTED:
        return df.groupBy("key").agg(sf.count("*"))
    scheme = name.rpartition(" ")[2]
    if _baseline(name) == PLACED:
        return us.balance_stream(df, "key", WORKERS, grouping=scheme, plan_path=plans)
    return us.group_by(df, "key", workers=WORKERS, grouping=scheme, plan_path=plans).agg(
        sf.count("*").alias("count")
    )


def _baseline(name: str) -> str:
    """Return the same query without unskew."""
    return COUNTED if name.startswith(("group_by", COUNTED)) else PLACED


def _feed(stream: Stream, table: pa.Table, number: int) -> None:
    """Let a query take one file, and its driver learn from it before the next query's turn."""
    pq.write_table(table, stream.source / f".{number}.tmp")
    (stream.source / f".{number}.tmp").replace(stream.source / f"{number:04d}.parquet")
    stream.query.processAllAvailable()
    while stream.plans is not None and len(read_epochs(stream.plans)) <= number:
        time.sleep(0.01)


def _table(rows: int, number: int) -> pa.Table:
    stream = zipf(keys=100_000, exponent=1.2, rows=rows, seed=number)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    rng = np.random.default_rng(number)
    return pa.table(
        {
            "key": pa.array([f"user-{key}" for key in keys.tolist()]),
            "amount": rng.random(rows),
            "count": rng.integers(0, 1000, rows),
        }
    )


def _durations(stream: Stream, warm_rounds: int) -> list[float]:
    """Return the milliseconds of each micro-batch that is counted."""
    batches = [one for one in stream.query.recentProgress if one.numInputRows]
    return [float(one.durationMs["triggerExecution"]) for one in batches[warm_rounds:]]


def _driver_seconds(stream: Stream, warm_rounds: int) -> float:
    if stream.plans is None:
        return 0.0
    epochs = read_epochs(stream.plans)[warm_rounds:]
    return statistics.median(one.planning_seconds or 0.0 for one in epochs)


def _print(
    rows: int, rounds: int, durations: dict[str, list[float]], driver: dict[str, float]
) -> None:
    medians = {name: statistics.median(values) for name, values in durations.items()}
    table = []
    for name, median in medians.items():
        plain = _baseline(name)
        added, least = median - medians[plain], min(durations[name]) - min(durations[plain])
        verdict = "✓" if added <= MOST_MILLISECONDS else "✗"
        compared = [f"{added:+.0f}", f"{least:+.0f}", f"≤ {MOST_MILLISECONDS} {verdict}"]
        cells = compared if name != plain else ["", "", ""]
        table.append([name, f"{median:.0f}", *cells, f"{1000 * driver[name]:.0f}"])
    title = f"micro-batches of {rows:,} Zipf-1.2 rows, {WORKERS} workers, median of {rounds}, in ms"
    columns = ["query", "batch", "added", "fastest − fastest", "target", "driver beside it"]
    show(title, columns, table)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
