"""Made-up rows at a given rate, the same for every grouping."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
from pyspark.sql import SparkSession

from unskew.apps.base import Application
from unskew.apps.running.opened import Arrivals, Batch, Opened, Source

_FIRST_MS = 946_684_800_000  # the year 2000


@dataclass
class Generated(Source):
    """So many rows a second, in micro-batches of so many seconds.

    Every micro-batch has the same rows whenever it is run, so groupings can be compared; a
    grouping that cannot keep up with the rate falls behind, and its rows wait.

    Parameters
    ----------
    rate
        Rows a second.
    period
        Seconds of a micro-batch.
    max_batches
        After how many no more rows come; None for no end.

    Examples
    --------
    >>> source = Generated(1000, period=2.0)
    >>> source.rows_a_batch
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
    def rows_a_batch(self) -> int:
        """Rows of a micro-batch."""
        return max(1, round(self.rate * self.period))

    def open(self, spark: SparkSession, application: Application, folder: Path) -> Opened:  # noqa: ARG002 (Spark counts)
        """Let Spark number the rows and the application make them up."""
        reader = (
            spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", self.rows_a_batch)
            .option("startTimestamp", _FIRST_MS)
            .option("advanceMillisPerBatch", max(1, round(1000 * self.period)))
            .option("numPartitions", spark.sparkContext.defaultParallelism)
        )
        numbers = reader.load()
        if self.max_batches is not None:  # one more may begin before the query is stopped
            numbers = numbers.where(sf.col("value") < self.max_batches * self.rows_a_batch)
        return Opened(application.drawn(numbers))

    def arrivals(self, batch: Batch) -> Arrivals:
        """Say when the rows would have come at this rate, however late they were taken up."""
        newest = batch.first_started + batch.number * self.period
        return Arrivals(newest - self.period, newest)

    def trigger(self, seconds: float | None, *, to_the_end: bool) -> dict[str, Any]:  # noqa: ARG002 (it has no end)
        """Start a micro-batch every period."""
        return {"processingTime": f"{self.period} seconds"}
