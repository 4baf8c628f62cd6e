"""Bring what micro-batches report to the loop of their stream."""

import logging
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from unskew.spark.plan_loop import Report

WORK_SUFFIX = "-work"
"""What the name of an observation of work steps has behind the name of its stream.

Its one field, ``busy``, is what `Report` takes.
"""

_log = logging.getLogger("unskew.spark")
_listeners: "WeakKeyDictionary[SparkSession, PlanListener]" = WeakKeyDictionary()
_lock = threading.Lock()


class Loop(Protocol):
    """Who learns from micro-batches."""

    def take(self, report: Any) -> object:
        """Learn from a micro-batch."""

    def rest(self, run: str) -> None:
        """Take note that a run of a query has ended."""


ReadReport: TypeAlias = Callable[[Any, str], Any]
"""Makes what a loop takes out of Spark's progress and its name there; None if that is nothing."""


def plan_report(progress: Any, name: str) -> Report | None:
    """Return what a `PlanLoop` takes."""
    row = progress.observedMetrics[name]
    if not row["places"]:
        return None
    work = progress.observedMetrics.get(f"{name}{WORK_SUFFIX}")
    return Report(
        query=str(progress.id),
        run=str(progress.runId),
        batch=int(progress.batchId),
        version=int(row["version"]),
        places=str(row["places"]),
        hot=str(row["hot"]),
        keys=int(row["keys"]),
        busy=work["busy"] if work else None,
    )


def follow(spark: SparkSession, name: str, loop: Loop, read: ReadReport = plan_report) -> None:
    """Give ``loop`` what ``read`` makes of all that queries of this session observe as ``name``."""
    with _lock:
        listener = _listeners.get(spark)
        if listener is None:
            listener = _listeners[spark] = PlanListener()
            spark.streams.addListener(listener)
        listener.loops[name] = loop, read


class PlanListener(StreamingQueryListener):
    """One a session: gives each report to the loop whose name it carries.

    Nothing that goes wrong here may reach Spark or the query: it is logged, once a loop.
    """

    def __init__(self) -> None:
        self.loops: dict[str, tuple[Loop, ReadReport]] = {}
        self._failed: set[str] = set()

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing: a loop begins with the first report."""

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing: no rows, nothing to learn."""

    def onQueryProgress(self, event: Any) -> None:
        """Hand the reports of a micro-batch over."""
        progress = event.progress
        for name in set(self.loops).intersection(progress.observedMetrics):
            loop, read = self.loops[name]
            try:
                report = read(progress, name)
                if report is not None:
                    loop.take(report)
            except Exception:
                self._log_once(name)

    def onQueryTerminated(self, event: Any) -> None:
        """Let the loops of this run rest."""
        for loop, _ in list(self.loops.values()):
            loop.rest(str(event.runId))

    def _log_once(self, name: str) -> None:
        if name not in self._failed:
            self._failed.add(name)
            _log.exception("The stream goes on with the plan it has; making the next one failed.")
