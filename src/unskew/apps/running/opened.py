"""What a source gives a run: rows, records that are no rows, and when they came."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pyspark.sql import DataFrame, SparkSession

from unskew.apps.base import Application


class Batch(NamedTuple):
    """A micro-batch as its source sees it."""

    number: int
    """How many of this run came before it."""
    started: float
    """When Spark took it up (Unix time)."""
    first_started: float
    """When Spark took up the first one of this run."""
    metrics: Mapping[str, Any]
    """What was observed, by name."""


class Arrivals(NamedTuple):
    """When the rows of a micro-batch came (Unix time); the others came in between, evenly."""

    oldest: float
    newest: float


class Feeder(Protocol):
    """Who hands a stream its micro-batches one by one, and knows how many are left."""

    def feed(self) -> bool:
        """Hand over the next micro-batch; False if there is none."""


@dataclass(frozen=True)
class Opened:
    """A source that is being read."""

    rows: DataFrame
    """The rows of the application, as a stream."""
    malformed: DataFrame | None = None
    """Records that are no rows, as a stream of text; None where there can be none."""
    feeder: Feeder | None = None
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

    def open(self, spark: SparkSession, application: Application, folder: Path) -> Opened:
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

    def arrivals(self, batch: Batch) -> Arrivals:
        """Say when the rows of a micro-batch came: by default when Spark took them up."""
        return Arrivals(batch.started, batch.started)

    def trigger(self, seconds: float | None, *, to_the_end: bool) -> dict[str, Any]:
        """Return when micro-batches start, as ``DataStreamWriter.trigger`` takes it.

        ``to_the_end``: the query is to end when all that is there now has been read.
        """
        if to_the_end and seconds is None:
            return {"availableNow": True}
        return {"processingTime": f"{seconds or 0} seconds"}
