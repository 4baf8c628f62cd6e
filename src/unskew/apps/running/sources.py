"""Sources by name: files, made-up rows at a given rate, a Kafka topic."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
from pyspark.sql import SparkSession

from unskew._validation import check_int
from unskew.apps.base import Application
from unskew.apps.running.file_sources import BuiltIn, Files
from unskew.apps.running.kafka import Topic, connector
from unskew.apps.running.source import (
    ArrivalTimes,
    OpenedSource,
    Source,
    SourceBatch,
    from_json_text,
    schema_of,
)
from unskew.errors import InvalidParameterError
from unskew.specs import parse_whole

_FIRST_MS = 946_684_800_000  # the year 2000
_ARRIVALS = "unskew_arrivals"
SOURCE_FORMS = "built-in, rate:ROWS_PER_SECOND, files:DIR or kafka:TOPIC@HOST:PORT"
_BATCH_ROWS = 20_000
_RATE = 10_000


@dataclass
class Generated(Source):
    """So many rows per second, in micro-batches of so many seconds.

    Every micro-batch has the same rows whenever it is run, so groupings can be compared; a
    grouping that cannot keep up with the rate falls behind, and its rows wait.

    Parameters
    ----------
    rate
        Rows per second.
    period
        Seconds of a micro-batch.
    max_batches
        After how many no more rows come; None for no end.

    Examples
    --------
    >>> source = Generated(1000, period=2.0)
    >>> source.rows_per_batch
    2000
    """

    rate: int
    period: float
    max_batches: int | None = None
    spec: str = field(default="rate", init=False)
    endless: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self.spec = f"rate:{self.rate}"

    @property
    def rows_per_batch(self) -> int:
        """Rows of a micro-batch."""
        return max(1, round(self.rate * self.period))

    def open(self, spark: SparkSession, application: Application, folder: Path) -> OpenedSource:  # noqa: ARG002 (Spark counts)
        """Let Spark number the rows and the application make them up."""
        reader = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", self.rows_per_batch)
            .option("startTimestamp", _FIRST_MS)
            .option("advanceMillisPerBatch", max(1, round(1000 * self.period)))
            .option("numPartitions", spark.sparkContext.defaultParallelism)
        )
        numbers = reader.load()
        if self.max_batches is not None:  # one more may begin before the query is stopped
            numbers = numbers.where(sf.col("value") < self.max_batches * self.rows_per_batch)
        return OpenedSource(application.drawn(numbers))

    def arrivals(self, batch: SourceBatch) -> ArrivalTimes:
        """Say when the rows would have come at this rate, however late they were taken up."""
        newest = batch.first_started + batch.number * self.period
        return ArrivalTimes(newest - self.period, newest)

    def trigger(self, seconds: float | None, *, to_the_end: bool) -> dict[str, Any]:  # noqa: ARG002 (it has no end)
        """Start a micro-batch every period."""
        return {"processingTime": f"{self.period} seconds"}


@dataclass
class KafkaSource(Source):
    """A topic, from its beginning on.

    Parameters
    ----------
    topic
        Where it is.
    batch_rows
        The most records of a micro-batch.
    """

    topic: Topic
    batch_rows: int
    spec: str = field(default="kafka", init=False)

    def __post_init__(self) -> None:
        self.spec = f"kafka:{self.topic.name}@{self.topic.address}"
        self.packages = (connector(),)

    def check(self) -> None:
        """Raise unless the broker answers."""
        self.topic.check()

    def check_on(self, spark: SparkSession) -> None:
        """Raise unless the broker has the topic."""
        self.topic.check_on(spark)

    def open(self, spark: SparkSession, application: Application, folder: Path) -> OpenedSource:  # noqa: ARG002 (Spark's checkpoint has it)
        """Read the values as JSON, and count those that are no rows."""
        records = self.topic.records(spark.readStream, maxOffsetsPerTrigger=self.batch_rows)
        when = sf.unix_micros("timestamp")
        noted = records.observe(
            _ARRIVALS, sf.min(when).alias("oldest"), sf.max(when).alias("newest")
        )
        return from_json_text(noted, sf.col("value").cast("string"), schema_of(application.schema))

    def arrivals(self, batch: SourceBatch) -> ArrivalTimes:
        """Say when the producers or the broker put the records into the topic."""
        seen = batch.metrics.get(_ARRIVALS)
        if not seen or seen["oldest"] is None:
            return super().arrivals(batch)
        return ArrivalTimes(seen["oldest"] / 1e6, seen["newest"] / 1e6)


@dataclass(frozen=True)
class BatchSizes:
    """How a source is cut into micro-batches.

    Parameters
    ----------
    batch_rows
        Rows of a micro-batch; None for what the source does by itself.
    trigger
        Seconds from the start of a micro-batch to the start of the next; None for at once.
    max_batches
        After how many it is enough; None for all.
    pool
        Folder for the files of built-in data.
    """

    batch_rows: int | None
    trigger: float | None
    max_batches: int | None
    pool: Path


def parse_source(text: str, portions: BatchSizes) -> Source:
    """Return the source that a text such as ``files:DIR`` stands for.

    >>> parse_source("rate:500", BatchSizes(None, 2.0, None, Path())).rows_per_batch
    1000
    >>> parse_source("paper", BatchSizes(None, None, None, Path()))
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: unskew run: --source must be built-in, …
    """
    kind, _, rest = text.partition(":")
    rows = portions.batch_rows or _BATCH_ROWS
    if text == "built-in":
        return BuiltIn(rows, portions.max_batches, portions.pool)
    if kind == "rate":
        return _generated(rest, portions)
    if kind == "files" and rest:
        return Files(Path(rest), None if portions.trigger else 1)
    if kind == "kafka":
        return KafkaSource(Topic.parse("--source", rest), rows)
    raise InvalidParameterError("unskew run", "--source", SOURCE_FORMS, text)


def _generated(text: str, portions: BatchSizes) -> Generated:
    rate = parse_whole("unskew run", "--source", text) if text else _RATE
    check_int("unskew run", "--source", rate, minimum=1)
    if portions.batch_rows is not None:
        return Generated(rate, portions.batch_rows / rate, portions.max_batches)
    return Generated(rate, portions.trigger or 1.0, portions.max_batches)
