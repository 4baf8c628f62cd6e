"""Streams of small files, one a micro-batch, and queries over them."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from unskew.events import Epoch, read_epochs

WORKERS = 4
ROWS = 4000
SCHEMA = "user string, amount long, at timestamp"


def write_file(folder: Path, number: int, *, shift: int = 0) -> None:
    """Write a file whose hottest key has half of all rows; null is a key, times go on."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(number)
    ranks = np.where(rng.random(ROWS) < 0.5, 0, rng.integers(1, 400, ROWS)) + shift
    names = [None if rank == 7 else f"user {rank}" for rank in ranks.tolist()]
    seconds = number * 100 + rng.integers(0, 100, ROWS)
    table = pa.table(
        {
            "user": names,
            "amount": rng.integers(0, 1000, ROWS),
            "at": pa.array(seconds * 1_000_000, pa.timestamp("us", tz="UTC")),
        }
    )
    pq.write_table(table, folder / f".{number:03d}.tmp")
    (folder / f".{number:03d}.tmp").replace(folder / f"{number:03d}.parquet")


def source(spark: SparkSession, folder: Path) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder / "in"))


def start(df: DataFrame, folder: Path, name: str, mode: str = "append") -> StreamingQuery:
    """Start a query into the table ``name``; its checkpoint is in ``folder``."""
    writer = df.writeStream.format("memory").queryName(name).outputMode(mode)
    return writer.option("checkpointLocation", str(folder / f"checkpoint-{name}")).start()


def finish(df: DataFrame, folder: Path, name: str, mode: str = "append") -> DataFrame:
    """Run all that is there, one file a micro-batch, and return the sink."""
    query = start(df, folder, name, mode)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return df.sparkSession.table(name)


def rows_of(df: DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in df.collect())


def wait_for(found: Callable[[], bool]) -> None:
    """Wait for what the listener, a thread of its own, has to do."""
    deadline = time.monotonic() + 30
    while not found():
        assert time.monotonic() < deadline, "the plan loop did nothing for 30 s"
        time.sleep(0.05)


def epochs_after(folder: Path, batches: int) -> list[Epoch]:
    wait_for(lambda: len(read_epochs(folder)) >= batches)
    return read_epochs(folder)
