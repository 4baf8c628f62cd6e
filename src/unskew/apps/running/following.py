"""Follow the micro-batches of one query under one grouping, and end it in time."""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener, StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery

import unskew.spark as us
from unskew.apps.placing import Placing
from unskew.apps.running.finished_batch import (
    FinishedBatch,
    find_epoch,
    key_places,
    metrics_of,
)
from unskew.apps.running.source import BatchFeeder, Source, SourceBatch
from unskew.errors import UnskewError
from unskew.reports.grouping_run import MeasuredBatch
from unskew.spark.stream.listener import started_at

OnBatch = Callable[[MeasuredBatch], None]
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 30.0
_PLAN_PATIENCE_SECONDS = 180.0  # the first plan may have to wait for Numba's compiler


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


@dataclass
class QueryFollower:
    """Wait for the micro-batches of a query, hand out the next ones, and end it in time.

    Parameters
    ----------
    query
        The running query.
    listener
        Hears of its micro-batches; it has to listen since before the query was started.
    label
        What the user calls the grouping.
    source
        Where the rows come from.
    placing
        How they are placed.
    feeder
        Who hands over the next micro-batch, if not the source itself.
    max_batches
        After how many it is enough; None for as long as there are rows.
    asked_to_stop
        Set by whoever wants the query to end after the running micro-batch.
    on_batch
        Called with every micro-batch.
    """

    query: StreamingQuery
    listener: BatchListener
    label: str
    source: Source
    placing: Placing
    feeder: BatchFeeder | None
    max_batches: int | None
    asked_to_stop: threading.Event
    on_batch: OnBatch
    batches: list[MeasuredBatch] = field(default_factory=list, init=False)
    _first_started: float = field(default=0.0, init=False)
    _plan_patience: float = field(default=_PLAN_PATIENCE_SECONDS, init=False)

    def follow(self) -> list[MeasuredBatch]:
        """Return all micro-batches with rows, once the query has ended."""
        running = True
        try:
            while running and self._next():
                running = self._wait_for_batch()
        finally:
            self.query.stop()
        if not running:
            self._raise_failure()
        with suppress(TimeoutError):  # what was finished before it stopped
            while running:
                running = self._hear(_PATIENCE_SECONDS)
        return self.batches

    def _next(self) -> bool:
        """See to it that another micro-batch comes; False if none is to."""
        if self._has_enough() or self.asked_to_stop.is_set():
            return False
        return self.feeder.feed() if self.feeder is not None else True

    def _has_enough(self) -> bool:
        return self.max_batches is not None and len(self.batches) >= self.max_batches

    def _wait_for_batch(self) -> bool:
        """Wait for a micro-batch to be done; False if the query has ended.

        After a request to stop a query is waited for as long as it works, and no longer.
        """
        before = len(self.batches)
        while len(self.batches) == before:
            if self.asked_to_stop.is_set() and not self.query.status["isTriggerActive"]:
                break
            try:
                if not self._hear(_POLL_SECONDS):
                    return False
            except TimeoutError:
                continue
        return True

    def _hear(self, patience: float) -> bool:
        """Take note of a micro-batch; False at the end of the query."""
        progress = self.listener.next_of(str(self.query.runId), patience)
        if progress is None:
            return False
        if progress.numInputRows and not self._has_enough():
            self._take(progress)
        return True

    def _take(self, progress: StreamingQueryProgress) -> None:
        when = started_at(progress)
        if not self.batches:
            self._first_started = when
        batch = SourceBatch(len(self.batches), when, self._first_started, metrics_of(progress))
        epoch = self._epoch(progress)
        places = key_places(self.placing, epoch)
        finished = FinishedBatch(progress, self.source.arrivals(batch), epoch, places)
        self.batches.append(finished.measured(self.label, self.placing.workers))
        self.on_batch(self.batches[-1])

    def _epoch(self, progress: StreamingQueryProgress) -> us.Epoch | None:
        """Wait for the plan loop, which hears of it at the same time.

        A micro-batch that is handed over after this follows the plan that was made of this one.
        """
        if self.placing.plan_path is None or not self.placing.learns:
            return None
        deadline = time.monotonic() + self._plan_patience
        folder, run = Path(self.placing.plan_path), str(progress.runId)
        while (epoch := find_epoch(folder, run, progress.batchId)) is None:
            if time.monotonic() > deadline:
                self._plan_patience = 0.0  # whoever is silent for so long has failed
                return None
            time.sleep(_POLL_SECONDS)
        return epoch

    def _raise_failure(self) -> None:
        """Raise if the query ended because something went wrong."""
        error = self.query.exception()
        if error is not None:
            raise UnskewError(f"unskew run: {self.label}: {first_cause(str(error))}")


def first_cause(text: str) -> str:
    r"""Return what went wrong out of Spark's account of it, without the traces.

    >>> first_cause("[STREAM_FAILED] Query x terminated: bad thing SQLSTATE: X\n\tat a.b\nmore")
    '[STREAM_FAILED] Query x terminated: bad thing SQLSTATE: X'
    """
    return text.split("\n\tat ")[0].strip()[:600]
