"""Streams of every verb in micro-batches, each beside the plain job that it must equal.

A stream reads one file per micro-batch, keeps its plans in a folder that things happen to, and is
stopped and started again; what came out in the end is compared.
"""

import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyspark.sql.functions as sf
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from tests.chaos.verbs import WORKERS, Totals, mapped, other_side, totals

import unskew.spark as us
from unskew.spark.routing.schemes import learning_on_streams

FILES = 8
_LIMIT = 300  # seconds until a stream counts as stuck

StreamJob = Callable[[DataFrame, str, Path], DataFrame]
"""Takes the stream, the name of a grouping and the folder of plans."""


class StreamVerb(NamedTuple):
    """A verb on a stream."""

    job: StreamJob
    groupings: Sequence[str]
    equals: str
    """The name of the batch job (`verbs.JOBS`) with the same result."""
    is_append: bool = True
    """Whether rows come out once and for all; if not, the last row of a key counts."""


def _balance(df: DataFrame, grouping: str, plans: Path) -> DataFrame:
    return us.balance_stream(df, "key", WORKERS, plan_path=plans, grouping=grouping)


def _agg(df: DataFrame, grouping: str, plans: Path) -> DataFrame:
    grouped = us.group_by(df, "key", workers=WORKERS, grouping=grouping, plan_path=plans)
    return grouped.agg(*totals())


def _apply(df: DataFrame, grouping: str, plans: Path) -> DataFrame:
    grouped = us.group_by(df, "key", workers=WORKERS, grouping=grouping, plan_path=plans)
    return grouped.apply(Totals(), "n long, total long")


def _map_rows(df: DataFrame, _grouping: str, plans: Path) -> DataFrame:
    return mapped(df, plan_path=plans)


def _join(df: DataFrame, _grouping: str, plans: Path) -> DataFrame:
    """Join to a table, by a plan that the first start has kept."""
    other, kept = other_side(df), plans.parent / "join.json"
    if not kept.exists():
        history = df.sparkSession.read.schema(df.schema).parquet(str(plans.parent / "rows"))
        us.plan(history, "key", WORKERS, join=other, grouping="wrap").save(kept)
    return us.join(df, other, "key", "inner", plan=us.load_plan(kept))


STREAMS: dict[str, StreamVerb] = {
    "stream balance": StreamVerb(_balance, learning_on_streams(), "balance"),
    "stream agg": StreamVerb(_agg, learning_on_streams(), "agg", is_append=False),
    "stream apply": StreamVerb(
        _apply, (*learning_on_streams(), "flow"), "apply", is_append=False
    ),
    "stream map_rows": StreamVerb(_map_rows, ("auto",), "map_rows"),
    "stream join": StreamVerb(_join, ("wrap",), "join"),
}  # fmt: skip
"""By name; all of them may be run with any of their groupings."""


class StreamRun:
    """A stream in a folder of its own, which can be stopped and goes on by itself."""

    def __init__(self, rows: DataFrame, verb: StreamVerb, grouping: str) -> None:
        self._spark, self._verb, self._grouping = rows.sparkSession, verb, grouping
        self.folder = Path(tempfile.mkdtemp(prefix="unskew-chaos-"))
        self.plans = self.folder / "plans"
        rows.repartitionByRange(FILES, "id").write.parquet(str(self.folder / "rows"))
        self._query: StreamingQuery | None = None
        self._stopped = threading.Event()

    def result(self, prepare: Callable[[DataFrame], DataFrame]) -> DataFrame:
        """Run until all rows are through, starting again after each stop; return what came out.

        ``prepare`` is what rows pass before the verb.
        """
        while True:
            self._stopped.clear()
            self._query = self._started(prepare)
            try:
                if not self._query.awaitTermination(_LIMIT):
                    raise TimeoutError(f"not through after {_LIMIT} s")
            except StreamingQueryException:
                # Stopped while Spark started Python for it, which Spark calls a failure.
                if not self._stopped.is_set():
                    raise
            if not self._stopped.is_set():
                return self._came_out()

    def stop(self) -> str:
        """Stop the query where it is; it goes on from its checkpoint."""
        query = self._query
        if query is None or not query.isActive:
            return "no query to stop"
        self._stopped.set()
        query.stop()
        return "query stopped and started again"

    def _started(self, prepare: Callable[[DataFrame], DataFrame]) -> StreamingQuery:
        path = str(self.folder / "rows")
        schema = self._spark.read.parquet(path).schema
        stream = self._spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(path)
        done = self._verb.job(prepare(stream), self._grouping, self.plans)
        writer = done.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        writer = writer.trigger(availableNow=True)
        if self._verb.is_append:
            return writer.format("parquet").start(str(self.folder / "out"))
        return writer.outputMode("update").foreachBatch(self._keep).start()

    def _keep(self, df: DataFrame, batch: int) -> None:
        df.write.mode("overwrite").parquet(f"{self.folder}/out/batch={batch}")

    def _came_out(self) -> DataFrame:
        found = self._spark.read.parquet(str(self.folder / "out"))
        if self._verb.is_append:
            return found
        values = [name for name in found.columns if name not in ("key", "batch")]
        last = sf.max_by(sf.struct(*values), "batch").alias("last")
        return found.groupBy("key").agg(last).select("key", "last.*")
