"""Kafka by Spark's own connector: where a topic is, and what has to be there before a run."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame, SparkSession

from unskew.errors import InvalidParameterError, UnskewError

CONNECTOR = "UNSKEW_KAFKA_CONNECTOR"
"""Environment variable: the version of the connector, where that of Spark cannot be had; or the
paths of its jars, with commas between them, for machines without a network."""
_OF_OTHER_VERSIONS = ("NoClassDefFoundError", "NoSuchMethodError", "AbstractMethodError")
_IVY = "UNSKEW_IVY_SETTINGS"
_PATIENCE_MS = 8_000
_PATIENCE = {
    "kafka.request.timeout.ms": str(_PATIENCE_MS // 2),
    "kafka.default.api.timeout.ms": str(_PATIENCE_MS),
}


@dataclass(frozen=True)
class Topic:
    """A topic and a broker that knows it.

    Examples
    --------
    >>> Topic.parse("--source", "words@127.0.0.1:9092")
    Topic(option='--source', name='words', host='127.0.0.1', port=9092)
    >>> Topic.parse("--sink", "words@127.0.0.1")
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: unskew: --sink must be kafka:TOPIC@HOST:PORT, got …
    """

    option: str
    name: str
    host: str
    port: int

    @classmethod
    def parse(cls, option: str, text: str) -> "Topic":
        """Read ``TOPIC@HOST:PORT``."""
        name, _, address = text.partition("@")
        host, _, port = address.rpartition(":")
        if not (name and host and port.isdecimal()):
            raise InvalidParameterError("unskew", option, "kafka:TOPIC@HOST:PORT", f"kafka:{text}")
        return cls(option, name, host, int(port))

    @property
    def address(self) -> str:
        """Where the broker is."""
        return f"{self.host}:{self.port}"

    def check(self) -> None:
        """Raise unless somebody answers there."""
        try:
            socket.create_connection((self.host, self.port), timeout=5).close()
        except OSError as error:
            raise UnskewError(
                f"unskew: {self.option}: no Kafka broker answers at {self.address} "
                f"({error.strerror or error})."
            ) from None

    def check_on(self, spark: SparkSession) -> None:
        """Raise unless the broker has the topic."""
        try:
            # Planning asks the broker for the offsets and reads no record.
            self.records(spark.read, **_PATIENCE).rdd.getNumPartitions()
        except Exception as error:
            raise self._refused(error) from None

    def records(self, reader: Any, **options: object) -> DataFrame:
        """Return what is in the topic, from its beginning."""
        reader = reader.format("kafka").option("kafka.bootstrap.servers", self.address)
        reader = reader.option("subscribe", self.name).option("startingOffsets", "earliest")
        for name, value in options.items():
            reader = reader.option(name, value)
        found: DataFrame = reader.load()
        return found

    def _refused(self, error: Exception) -> UnskewError:
        text = str(error)
        if "UnknownTopicOrPartition" in text:
            hint = "make it first, for instance with kafka-topics --create"
            said = f"the Kafka broker at {self.address} has no topic {self.name!r}. Hint: {hint}"
        elif "Failed to find data source: kafka" in text or "DATA_SOURCE_NOT_FOUND" in text:
            hint = f"start a new process; {CONNECTOR} is for the jars of the connector alone"
            said = f"the session has no Kafka connector. Hint: {hint}"
        elif any(name in text for name in _OF_OTHER_VERSIONS):
            said = (
                f"the connector in use is not one for Spark {pyspark.__version__}: {text[:200]} "
                f"Hint: {CONNECTOR} names the version of the connector, or its jars"
            )
        else:
            said = f"topic {self.name!r} at {self.address} cannot be read: {text[:300]}"
        return UnskewError(f"unskew: {self.option}: {said}")


def connector() -> str:
    """Return the coordinates of Spark's connector, of Spark's version if nothing else is said."""
    version = os.environ.get(CONNECTOR) or pyspark.__version__
    return f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"


def package_settings(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the settings of a session that loads packages, from where the user's Ivy has them."""
    if not packages:
        return {}
    given = os.environ.get(CONNECTOR, "")
    if given.endswith(".jar"):
        return {"spark.jars": _checked_jars(given)}
    settings = {"spark.jars.packages": ",".join(sorted(set(packages)))}
    ivy = os.environ.get(_IVY)
    return {**settings, "spark.jars.ivySettings": ivy} if ivy else settings


def _checked_jars(given: str) -> str:
    """Return the paths of jars if they are all there: Spark would go on without them."""
    for path in given.split(","):
        if "://" not in path and not Path(path).is_file():
            raise InvalidParameterError("unskew", CONNECTOR, "paths of jars that exist", path)
    return given
