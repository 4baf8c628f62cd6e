"""Streams on Spark: micro-batches handed over one by one, each of which teaches the scheme."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from unskew.errors import UnskewError
from unskew.hashing import Ids
from unskew_papers.engines.spark_jobs import JobResult, counted, local_spark, summed_up

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_PATIENCE_SECONDS = 300.0
"""The first plan may have to wait for Numba's compiler."""
_POLL_SECONDS = 0.02

Build = Callable[["DataFrame", Path], "DataFrame"]
"""Makes the query of a stream of rows and the folder where it may keep what it learns."""


class Finished(NamedTuple):
    """What came of a micro-batch, and how long it took."""

    rows: pa.Table
    seconds: float


def run_stream(tables: Sequence[pa.Table], build: Build, *, learns: bool) -> list[Finished]:
    """Run a query over micro-batches, and return what came of each.

    Parameters
    ----------
    tables
        The rows of every micro-batch, all with the same columns.
    build
        What is done with them.
    learns
        Whether what a micro-batch teaches is to be known before the next one is handed over.
    """
    with TemporaryDirectory(prefix="unskew-stream-") as folder:
        feed = _Feed(Path(folder), learns)
        query = feed.start(tables[0], build)
        try:
            return [feed.put(number, table, query) for number, table in enumerate(tables)]
        finally:
            query.stop()


def count_stream_on_spark(
    batches: Sequence[Ids], workers: int, scheme: str, *, milliseconds: float, seed: int = 0
) -> list[JobResult]:
    """Count the keys of a stream on Spark and return what each micro-batch did.

    Schemes that learn start with plain hashing and follow, in every micro-batch, the plan that
    was made of those before (`unskew.spark.balance_stream`).

    Parameters
    ----------
    batches
        The keys of every micro-batch.
    workers, milliseconds, seed
        As in `count_keys_on_spark`.
    scheme
        A spec that `unskew.spark.balance_stream` takes, or one that learns nothing.
    """
    from unskew.spark import balance, balance_stream
    from unskew.spark.routing.schemes import learning_on_streams

    learns = scheme.partition(":")[0] in learning_on_streams()

    def build(rows: "DataFrame", folder: Path) -> "DataFrame":
        if learns:
            placed = balance_stream(
                rows,
                "key",
                workers,
                plan_path=folder,
                grouping=scheme,
                spread_by="number",
                seed=seed,
            )
        else:
            placed = balance(rows, "key", workers, grouping=scheme, seed=seed)
        return counted(placed.select("key"), milliseconds)

    tables = [
        pa.table({"key": keys.astype(np.int64), "number": np.arange(keys.size)}) for keys in batches
    ]
    found = run_stream(tables, build, learns=learns)
    return [
        summed_up(done.rows, keys, workers, done.seconds)
        for done, keys in zip(found, batches, strict=True)
    ]


class _Feed:
    """Hands a query its micro-batches, and takes what comes of them."""

    def __init__(self, folder: Path, learns: bool) -> None:
        self._folder, self._plans = folder, folder / "plans"
        self._learns = learns
        self._found: list[Finished] = []
        (folder / "in").mkdir()

    def start(self, like: pa.Table, build: Build) -> "StreamingQuery":
        """Start the query over rows that look like these."""
        session = local_spark()
        schema = session.createDataFrame(like.slice(0, 1)).schema
        reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        results = build(reader.parquet(str(self._folder / "in")), self._plans)
        writer = results.writeStream.foreachBatch(self._take)
        return writer.option("checkpointLocation", str(self._folder / "checkpoint")).start()

    def put(self, number: int, table: pa.Table, query: "StreamingQuery") -> Finished:
        """Hand over a micro-batch, wait for it and for what it teaches."""
        unseen = self._folder / f"{number}.tmp"
        pq.write_table(table, unseen)
        unseen.replace(self._folder / "in" / f"{number:04d}.parquet")
        query.processAllAvailable()
        if self._learns:
            self._wait_for_lesson(number)
        return self._found[number]

    def _take(self, batch: "DataFrame", _number: Any) -> None:
        started = time.perf_counter()
        found = batch.toArrow()
        self._found.append(Finished(found, time.perf_counter() - started))

    def _wait_for_lesson(self, number: int) -> None:
        from unskew.spark import read_epochs

        deadline = time.monotonic() + _PATIENCE_SECONDS
        while len(read_epochs(self._plans)) <= number:
            if time.monotonic() > deadline:
                raise UnskewError(f"reproduce: micro-batch {number} is on no record.")
            time.sleep(_POLL_SECONDS)
