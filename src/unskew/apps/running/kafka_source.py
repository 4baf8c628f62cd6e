"""Records of a Kafka topic, each a JSON object."""

from dataclasses import dataclass, field
from pathlib import Path

import pyspark.sql.functions as sf
from pyspark.sql import SparkSession

from unskew.apps.base import Application
from unskew.apps.running.kafka import Topic, connector
from unskew.apps.running.opened import Arrivals, Batch, Opened, Source
from unskew.apps.running.records import from_json_text, schema_of

_ARRIVALS = "unskew_arrivals"


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

    def open(self, spark: SparkSession, application: Application, folder: Path) -> Opened:  # noqa: ARG002 (Spark's checkpoint has it)
        """Read the values as JSON, and count those that are no rows."""
        records = self.topic.records(spark.readStream, maxOffsetsPerTrigger=self.batch_rows)
        when = sf.unix_micros("timestamp")
        noted = records.observe(
            _ARRIVALS, sf.min(when).alias("oldest"), sf.max(when).alias("newest")
        )
        return from_json_text(noted, sf.col("value").cast("string"), schema_of(application.schema))

    def arrivals(self, batch: Batch) -> Arrivals:
        """Say when the producers or the broker put the records into the topic."""
        seen = batch.metrics.get(_ARRIVALS)
        if not seen or seen["oldest"] is None:
            return super().arrivals(batch)
        return Arrivals(seen["oldest"] / 1e6, seen["newest"] / 1e6)
