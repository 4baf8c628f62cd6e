"""Bring what micro-batches report to the loop of their stream."""

import itertools
import logging
import threading
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from unskew._stores import AnyPath
from unskew.events import Epoch
from unskew.spark.stream.loop import Loop


def keep_class_lookups() -> None:
    """Keep the Java class that PySpark asks of which kind an exception is.

    PySpark reads a Java collection until that raises, and then compares what was raised with
    fourteen kinds of exceptions. Each time it asks for ``py4j`` and ``py4j.reflection`` again.
    These are packages, so the JVM searches all jars in vain for classes of these names. The report
    of a micro-batch to a listener in Python has six collections: over 160 searches of 280 jars.

    What is found holds for the life of the JVM. On Spark Connect there is none in this process.
    """
    context: Any = getattr(pyspark, "SparkContext", None)  # a client of Connect alone has none
    jvm = None if context is None else context._jvm
    if jvm is None or "py4j" in vars(jvm):
        return
    package = jvm.py4j
    package.reflection = package.reflection
    package.reflection.TypeUtil = package.reflection.TypeUtil
    jvm.py4j = package


_log = logging.getLogger("unskew.spark")
_listeners: "WeakKeyDictionary[SparkSession, StreamListener]" = WeakKeyDictionary()
_lock = threading.Lock()
_numbers = itertools.count(1)


def started_at(progress: Any) -> float:
    """Return when Spark took a micro-batch up (Unix time)."""
    return datetime.fromisoformat(progress.timestamp).timestamp()


def seconds_of(progress: Any) -> float:
    """Return what a micro-batch took, from its trigger to its commit."""
    return float(progress.batchDuration) / 1000.0


class LoopEpoch(NamedTuple):
    """What a loop made of a micro-batch."""

    name: str
    """The name that the loop observes under."""
    folder: AnyPath
    epoch: Epoch


class Watcher(Protocol):
    """Watches all micro-batches of a session; its methods must return at once."""

    def on_epoch(self, progress: Any, learned: list[LoopEpoch]) -> None:
        """Take note of a micro-batch, and of what loops made of it."""

    def on_end(self, run: str) -> None:
        """Take note that a run of a query has ended."""


def new_name() -> str:
    """Return a name to observe under that no other stream of this process has."""
    return f"unskew-{next(_numbers)}"


def follow(spark: SparkSession, name: str, loop: Loop[Any]) -> None:
    """Give ``loop`` all that queries of this session observe as ``name``."""
    _listener_of(spark).loops[name] = loop


def add_watcher(spark: SparkSession, watcher: Watcher) -> None:
    """Let ``watcher`` know from now on what the queries of this session do."""
    _listener_of(spark).watchers.append(watcher)


def remove_watcher(spark: SparkSession, watcher: Watcher) -> None:
    """Let go of ``watcher``, if it watches at all."""
    watchers = _listener_of(spark).watchers
    if watcher in watchers:
        watchers.remove(watcher)


def _listener_of(spark: SparkSession) -> "StreamListener":
    with _lock:
        listener = _listeners.get(spark)
        if listener is None:
            keep_class_lookups()
            listener = _listeners[spark] = StreamListener()
            spark.streams.addListener(listener)
        return listener


class StreamListener(StreamingQueryListener):
    """One per session: gives each report to the loop whose name it carries, and to watchers.

    Nothing that goes wrong here may reach Spark or the query: it is logged, once per loop.
    """

    def __init__(self) -> None:
        self.loops: dict[str, Loop[Any]] = {}
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
            loop = self.loops[name]
            try:
                report = loop.read(progress, name)
                epoch = None if report is None else loop.take(report)
                if epoch is not None:
                    learned.append(LoopEpoch(name, loop.folder, epoch))
            except Exception:
                self._log_once(name)
        for watcher in list(self.watchers):
            watcher.on_epoch(progress, learned)

    def onQueryTerminated(self, event: Any) -> None:
        """Let the loops of this run rest."""
        for loop in list(self.loops.values()):
            loop.rest(str(event.runId))
        for watcher in list(self.watchers):
            watcher.on_end(str(event.runId))

    def _log_once(self, name: str) -> None:
        if name not in self._failed:
            self._failed.add(name)
            _log.exception("The stream goes on with the plan it has; making the next one failed.")
