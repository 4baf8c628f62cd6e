"""Bring what micro-batches report to the loop of their stream."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from unskew.events import Epoch
from unskew.spark.stream.loop import Loop, Report


def look_up_once() -> None:
    """Keep the Java class that PySpark asks of which kind an exception is.

    PySpark reads a Java collection until that raises, and then compares what was raised with
    fourteen kinds of exceptions. Each time it asks for ``py4j`` and ``py4j.reflection`` anew. These
    are packages, so the JVM searches all jars in vain for classes of these names. The report of a
    micro-batch to a listener in Python has six collections: over 160 searches of 280 jars.

    What is found holds for the life of the JVM. On Spark Connect there is none in this process.
    """
    jvm = SparkContext._jvm
    if jvm is None or "py4j" in vars(jvm):
        return
    package = jvm.py4j
    package.reflection = package.reflection
    package.reflection.TypeUtil = package.reflection.TypeUtil
    jvm.py4j = package


WORK_SUFFIX = "-work"
"""What the name of an observation of work steps has behind the name of its stream.

Its one field, ``busy``, is what `Report` takes.
"""

_log = logging.getLogger("unskew.spark")
_listeners: "WeakKeyDictionary[SparkSession, PlanListener]" = WeakKeyDictionary()
_lock = threading.Lock()


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
        stats=work["busy"] if work else None,
    )


class LoopEpoch(NamedTuple):
    """What a loop made of a micro-batch."""

    name: str
    """The name that the loop observes under."""
    folder: Path
    epoch: Epoch


class Watcher(Protocol):
    """Watches all micro-batches of a session; its methods must return at once."""

    def on_epoch(self, progress: Any, learned: list[LoopEpoch]) -> None:
        """Take note of a micro-batch, and of what loops made of it."""

    def on_end(self, run: str) -> None:
        """Take note that a run of a query has ended."""


def follow(spark: SparkSession, name: str, loop: Loop[Any], read: ReadReport = plan_report) -> None:
    """Give ``loop`` what ``read`` makes of all that queries of this session observe as ``name``."""
    _listener_of(spark).loops[name] = loop, read


def add_watcher(spark: SparkSession, watcher: Watcher) -> None:
    """Let ``watcher`` know from now on what the queries of this session do."""
    _listener_of(spark).watchers.append(watcher)


def remove_watcher(spark: SparkSession, watcher: Watcher) -> None:
    """Let go of ``watcher``, if it watches at all."""
    watchers = _listener_of(spark).watchers
    if watcher in watchers:
        watchers.remove(watcher)


def _listener_of(spark: SparkSession) -> "PlanListener":
    with _lock:
        listener = _listeners.get(spark)
        if listener is None:
            look_up_once()
            listener = _listeners[spark] = PlanListener()
            spark.streams.addListener(listener)
        return listener


class PlanListener(StreamingQueryListener):
    """One per session: gives each report to the loop whose name it carries, and to watchers.

    Nothing that goes wrong here may reach Spark or the query: it is logged, once per loop.
    """

    def __init__(self) -> None:
        self.loops: dict[str, tuple[Loop[Any], ReadReport]] = {}
        self.watchers: list[Watcher] = []
        self._failed: set[str] = set()

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing: a loop begins with the first report."""

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing: no rows, nothing to learn."""

    def onQueryProgress(self, event: Any) -> None:
        """Hand the reports of a micro-batch over."""
        progress = event.progress
        learned = []
        for name in set(self.loops).intersection(progress.observedMetrics):
            loop, read = self.loops[name]
            try:
                report = read(progress, name)
                epoch = None if report is None else loop.take(report)
                if epoch is not None:
                    learned.append(LoopEpoch(name, loop.folder, epoch))
            except Exception:
                self._log_once(name)
        for watcher in list(self.watchers):
            watcher.on_epoch(progress, learned)

    def onQueryTerminated(self, event: Any) -> None:
        """Let the loops of this run rest."""
        for loop, _ in list(self.loops.values()):
            loop.rest(str(event.runId))
        for watcher in list(self.watchers):
            watcher.on_end(str(event.runId))

    def _log_once(self, name: str) -> None:
        if name not in self._failed:
            self._failed.add(name)
            _log.exception("The stream goes on with the plan it has; making the next one failed.")
