"""The contract of a source: rows, records that are no rows, and when they came."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from unskew.apps.base import Application
from unskew.spark.steps.running import struct_type

CORRUPT = "_corrupt_record"
"""The column in which Spark's readers put the text of a record that they cannot read."""
DEAD_LETTERS = "unskew_dead_letters"
"""Under which name a micro-batch reports how many records were no rows."""


class SourceBatch(NamedTuple):
    """A micro-batch as its source sees it."""

    number: int
    """How many of this run came before it."""
    started: float
    """When Spark took it up (Unix time)."""
    first_started: float
    """When Spark took up the first one of this run."""
    metrics: Mapping[str, Any]
    """What was observed, by name."""


class ArrivalTimes(NamedTuple):
    """When the rows of a micro-batch came (Unix time); the others came in between, evenly."""

    oldest: float
    newest: float


class BatchFeeder(Protocol):
    """Who hands a stream its micro-batches one by one, and knows how many are left."""

    def feed(self) -> bool:
        """Hand over the next micro-batch; False if there is none."""


@dataclass(frozen=True)
class OpenedSource:
    """A source that is being read."""

    rows: DataFrame
    """The rows of the application, as a stream."""
    malformed: DataFrame | None = None
    """Records that are no rows, as a stream of text; None where there can be none."""
    feeder: BatchFeeder | None = None
    """Who hands over the micro-batches; None where the source gives them by itself."""


class Source:
    """Where rows come from."""

    spec: str
    """As the user wrote it."""
    packages: tuple[str, ...] = ()
    """Packages of the JVM that the session has to load, by their coordinates."""
    endless: bool = False
    """Whether there are always more rows."""

    def check(self) -> None:
        """Raise if it can be known, without Spark, that nothing will come."""

    def check_on(self, spark: SparkSession) -> None:
        """Raise if Spark knows that nothing will come."""

    def open(self, spark: SparkSession, application: Application, folder: Path) -> OpenedSource:
        """Start to read, from the beginning.

        Parameters
        ----------
        spark
            The session.
        application
            Whose rows are wanted.
        folder
            For what has to be kept, of this source and one query alone. If it was used before,
            the query goes on where it was.
        """
        raise NotImplementedError

    def arrivals(self, batch: SourceBatch) -> ArrivalTimes:
        """Say when the rows of a micro-batch came: by default when Spark took them up."""
        return ArrivalTimes(batch.started, batch.started)

    def trigger(self, seconds: float | None, *, to_the_end: bool) -> dict[str, Any]:
        """Return when micro-batches start, as ``DataStreamWriter.trigger`` takes it.

        ``to_the_end``: the query is to end when all that is there now has been read.
        """
        if to_the_end and seconds is None:
            return {"availableNow": True}
        return {"processingTime": f"{seconds or 0} seconds"}


def schema_of(ddl: str) -> StructType:
    """Return the columns of an application's rows, as objects."""
    return struct_type("application", "schema", ddl)


def with_corrupt(schema: StructType) -> StructType:
    """Return a schema for Spark's readers, with room for what they cannot read."""
    return StructType([*schema.fields, StructField(CORRUPT, StringType())])


def from_json_text(df: DataFrame, text: Column, schema: StructType) -> OpenedSource:
    """Read each ``text`` as a JSON object with the application's columns."""
    read = sf.from_json(text, with_corrupt(schema), {"columnNameOfCorruptRecord": CORRUPT})
    unpacked = df.select(read.alias("row"), text.alias("text"))
    columns = [sf.col("row")[name].alias(name) for name in schema.fieldNames()]
    bad = sf.col("row").isNull() | sf.col("row")[CORRUPT].isNotNull()
    return separated(unpacked.select(*columns, bad.alias(CORRUPT), "text"), schema)


def from_reader(df: DataFrame, schema: StructType) -> OpenedSource:
    """Take what a reader of Spark made of records, with the column `CORRUPT`."""
    columns = [sf.col(f"`{name}`") for name in schema.fieldNames()]
    text = sf.coalesce(CORRUPT, sf.to_json(sf.struct(*columns)))
    return separated(
        df.select(*columns, sf.col(CORRUPT).isNotNull().alias(CORRUPT), text.alias("text")), schema
    )


def separated(df: DataFrame, schema: StructType) -> OpenedSource:
    """Keep what has all columns of the application, count and put aside what has not.

    ``df`` has those columns, `CORRUPT` (whether it could not be read) and ``text``.
    """
    missing = [sf.col(f"`{name}`").isNull() for name in schema.fieldNames()]
    bad = reduce(lambda left, right: left | right, missing, sf.col(CORRUPT))
    judged = df.withColumn(CORRUPT, bad)
    counted = judged.observe(DEAD_LETTERS, sf.count_if(CORRUPT).alias("records"))
    return OpenedSource(
        counted.where(~sf.col(CORRUPT)).drop(CORRUPT, "text"),
        judged.where(CORRUPT).select(sf.col("text").alias("record")),
    )
