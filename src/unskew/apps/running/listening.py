"""Hear of the micro-batches of one query, in their order."""

import queue
from types import TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener, StreamingQueryProgress


class BatchListener(StreamingQueryListener):
    """Put what Spark reports of queries into a line, for whoever asks for one of them.

    Parameters
    ----------
    spark
        The session; while in a ``with`` block, it is listened to.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._heard: queue.SimpleQueue[tuple[str, StreamingQueryProgress | None]]
        self._heard = queue.SimpleQueue()

    def next_of(self, run: str, patience: float) -> StreamingQueryProgress | None:
        """Return the next finished micro-batch of a run, or None if it has ended.

        Raises
        ------
        TimeoutError
            If nothing is heard for so many seconds.
        """
        while True:
            try:
                heard, progress = self._heard.get(timeout=patience)
            except queue.Empty:
                raise TimeoutError from None
            if heard == run:
                return progress

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Do nothing: it is known."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Do nothing: no rows."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Take note of a finished micro-batch."""
        self._heard.put((str(event.progress.runId), event.progress))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Take note of an end."""
        self._heard.put((str(event.runId), None))

    def __enter__(self) -> Self:
        self._spark.streams.addListener(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._spark.streams.removeListener(self)
