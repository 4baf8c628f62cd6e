"""Sinks: write the results of a run to nowhere, the console, memory, Parquet or Kafka."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from unskew._stores import check_local
from unskew.apps.base import Application
from unskew.apps.running.kafka import Topic, connector
from unskew.errors import InvalidParameterError

SINK_FORMS = "console, memory, parquet:DIR, kafka:TOPIC@HOST:PORT or none"


@dataclass
class Sink:
    """A place for results; this one forgets them.

    Parameters
    ----------
    spec
        As the user wrote it.
    """

    spec: str = "none"
    packages: tuple[str, ...] = ()
    prints: bool = False
    """Whether it writes on the terminal itself."""
    takes_many: bool = True
    """Whether results of several groupings can be told apart in it."""

    def check(self) -> None:
        """Raise if it can be known, without Spark, that nothing can be written."""

    def check_on(self, spark: SparkSession) -> None:
        """Raise if Spark knows that nothing can be written."""

    def summary(self, spark: SparkSession, label: str) -> str | None:  # noqa: ARG002 (of nothing)
        """Say what there is after the run of a grouping, if there is something to say."""
        return None

    def writer(
        self,
        results: DataFrame,
        application: Application,
        label: str,  # noqa: ARG002 (for sinks that name what they keep)
    ) -> DataStreamWriter:
        """Return what writes the results of the grouping ``label``."""
        return results.writeStream.outputMode(application.output_mode).format("noop")


class ConsoleSink(Sink):
    """Print the results of every micro-batch."""

    def writer(self, results: DataFrame, application: Application, label: str) -> DataStreamWriter:
        """Return Spark's console sink."""
        return super().writer(results, application, label).format("console")


class MemorySink(Sink):
    """Keep all results in the driver, as the table ``unskew_GROUPING``."""

    def summary(self, spark: SparkSession, label: str) -> str:
        """Say how many results there are."""
        table = memory_table(label)
        return f"{label}: {spark.table(table).count():,} result rows in memory, table {table}"

    def writer(self, results: DataFrame, application: Application, label: str) -> DataStreamWriter:
        """Return Spark's memory sink."""
        name = memory_table(label)
        return super().writer(results, application, label).format("memory").queryName(name)


@dataclass
class ParquetSink(Sink):
    """Write the results of micro-batch N to ``FOLDER/GROUPING/batch=N``.

    A micro-batch that is run again after a crash writes the same folder again, so every result is
    there once. Where results change, the last one of each key is in force.
    """

    path: Path = Path()

    def check(self) -> None:
        """Raise unless the folder can be made and written."""
        check_folder("--sink", self.path)

    def writer(self, results: DataFrame, application: Application, label: str) -> DataStreamWriter:
        """Return what overwrites a folder in every micro-batch."""
        base = self.path / file_name(label)

        def write(rows: DataFrame, batch: int) -> None:
            rows.write.mode("overwrite").parquet(str(base / f"batch={batch}"))

        return results.writeStream.outputMode(application.output_mode).foreachBatch(write)


@dataclass
class KafkaSink(Sink):
    """Send every result as a JSON object; its key is the key of the result, for compaction."""

    topic: Topic | None = None

    def check(self) -> None:
        """Raise unless the broker answers."""
        self._topic.check()

    def check_on(self, spark: SparkSession) -> None:
        """Raise unless the broker has the topic."""
        self._topic.check_on(spark)

    def writer(self, results: DataFrame, application: Application, label: str) -> DataStreamWriter:
        """Return Spark's Kafka sink."""
        value = sf.to_json(sf.struct("*")).alias("value")
        names = [sf.col(f"`{name}`") for name in application.result_key]
        key = sf.to_json(sf.struct(*names)) if names else sf.lit(None).cast("string")
        messages = results.select(key.alias("key"), value)
        writer = super().writer(messages, application, label).format("kafka")
        return writer.option("kafka.bootstrap.servers", self._topic.address).option(
            "topic", self._topic.name
        )

    @property
    def _topic(self) -> Topic:
        if self.topic is None:
            raise InvalidParameterError("KafkaSink", "topic", "a topic", None)
        return self.topic


def parse_sink(text: str) -> Sink:
    """Return the sink that a text such as ``parquet:DIR`` stands for.

    >>> parse_sink("parquet:out").path.name
    'out'
    >>> parse_sink("paper")
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: unskew run: --sink must be console, memory, …
    """
    kind, _, rest = text.partition(":")
    if text == "none":
        return Sink()
    if text == "console":
        return ConsoleSink(text, prints=True)
    if text == "memory":
        return MemorySink(text)
    if kind == "parquet" and rest:
        return ParquetSink(text, path=Path(rest))
    if kind == "kafka":
        topic = Topic.parse("--sink", rest)
        return KafkaSink(text, packages=(connector(),), takes_many=False, topic=topic)
    raise InvalidParameterError("unskew run", "--sink", SINK_FORMS, text)


def memory_table(label: str) -> str:
    """Return the name of the table in which `MemorySink` keeps the results of a grouping.

    >>> memory_table("wrap:decay=0.5")
    'unskew_wrap_decay_0_5'
    """
    return "unskew_" + "".join(each if each.isalnum() else "_" for each in label)


def file_name(label: str) -> str:
    """Return a name of a folder for a grouping.

    >>> file_name("wrap:decay=0.5")
    'wrap-decay=0.5'
    """
    return "".join(each if each.isalnum() or each in "-=._," else "-" for each in label)


def check_folder(option: str, path: Path) -> None:
    """Make a folder, or raise if it cannot be made and written."""
    check_local("unskew run", option, path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        # Asking for permissions is not enough: a disk may be mounted for reading only.
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        expected = f"a folder that can be written ({error.strerror})"
        raise InvalidParameterError("unskew run", option, expected, str(path)) from None
