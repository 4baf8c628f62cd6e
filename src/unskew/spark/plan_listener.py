"""Bring what micro-batches report to the plan loop of their stream."""

import logging
import threading
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from unskew.spark.plan_loop import PlanLoop, Report

HOT_SUFFIX = "-hot"
"""What the name of an observation of hot keys has behind the name of its stream."""

_log = logging.getLogger("unskew.spark")
_listeners: "WeakKeyDictionary[SparkSession, PlanListener]" = WeakKeyDictionary()
_lock = threading.Lock()


def follow(spark: SparkSession, name: str, loop: PlanLoop) -> None:
    """Give ``loop`` all that queries of this session observe under ``name``."""
    with _lock:
        listener = _listeners.get(spark)
        if listener is None:
            listener = _listeners[spark] = PlanListener()
            spark.streams.addListener(listener)
        listener.loops[name] = loop


class PlanListener(StreamingQueryListener):
    """One a session: gives each report to the loop whose name it carries.

    Nothing that goes wrong here may reach Spark or the query: it is logged, once a loop.
    """

    def __init__(self) -> None:
        self.loops: dict[str, PlanLoop] = {}
        self._failed: set[str] = set()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Do nothing: a loop begins with the first report."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Do nothing: no rows, nothing to learn."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Hand the reports of a micro-batch over."""
        progress = event.progress
        for name, row in progress.observedMetrics.items():
            loop = self.loops.get(name)
            if loop is None:
                continue
            try:
                if row["places"]:
                    hot = progress.observedMetrics[f"{name}{HOT_SUFFIX}"]["hot"]
                    loop.take(_report(progress, row, str(hot)))
            except Exception:
                self._log_once(name)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Let the loops of this run rest."""
        for loop in list(self.loops.values()):
            loop.rest(str(event.runId))

    def _log_once(self, name: str) -> None:
        if name not in self._failed:
            self._failed.add(name)
            _log.exception("The stream goes on with the plan it has; making the next one failed.")


def _report(progress: Any, row: Any, hot: str) -> Report:
    return Report(
        query=str(progress.id),
        run=str(progress.runId),
        batch=int(progress.batchId),
        version=int(row["version"]),
        places=str(row["places"]),
        hot=hot,
    )
