"""Runs that are all open at once and take turns, a micro-batch each.

Run after run, the last one would meet a warmer, or a busier, machine than the first. In turns all
of them do their work on the same rows within the same minute, and each round is a repetition.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from unskew.apps.base import Application
from unskew.apps.running.file_sources import BuiltIn
from unskew.apps.running.following import BatchListener
from unskew.apps.running.runner import ApplicationRun
from unskew.apps.running.source import BatchFeeder, OpenedSource
from unskew.reports.grouping_run import GroupingRun


class Turns:
    """Whose turn it is: all labels once a round, every round beginning with another one.

    >>> Turns(["a", "b", "c"], rounds=2).order
    ['a', 'b', 'c', 'b', 'c', 'a']
    """

    def __init__(self, labels: Sequence[str], rounds: int) -> None:
        labels = list(labels)
        starts = [number % len(labels) for number in range(rounds)]
        self.order = [label for at in starts for label in labels[at:] + labels[:at]]
        self._changed = threading.Condition()

    def take(self, label: str) -> bool:
        """Wait for the next turn of ``label``; False if it has none any more."""
        with self._changed:
            self._changed.wait_for(lambda: label not in self.order or self.order[0] == label)
            return label in self.order

    def end(self, label: str) -> None:
        """Let the next one have its turn."""
        with self._changed:
            self.order.remove(label)
            self._changed.notify_all()

    def leave(self, label: str) -> None:
        """Give up all turns, so that nobody waits for a run that has failed."""
        with self._changed:
            self.order = [each for each in self.order if each != label]
            self._changed.notify_all()


@dataclass
class _FedInTurns(BuiltIn):
    """Real rows, the next file when it is the grouping's turn."""

    turns: Turns
    label: str
    making: threading.Lock

    def open(self, spark: SparkSession, application: Application, folder: Path) -> OpenedSource:
        with self.making:  # the first one makes the files of all
            opened = super().open(spark, application, folder)
        assert opened.feeder is not None
        return replace(opened, feeder=_InTurns(opened.feeder, self.turns, self.label))


class _InTurns:
    """Feed when it is the turn; to be asked again is to be done with the last one."""

    def __init__(self, feeder: BatchFeeder, turns: Turns, label: str) -> None:
        self._feeder, self._turns, self._label = feeder, turns, label
        self._has_turn = False

    def feed(self) -> bool:
        if self._has_turn:
            self._turns.end(self._label)
        self._has_turn = self._turns.take(self._label)
        return self._has_turn and self._feeder.feed()


class _SharedListener(BatchListener):
    """Hear of the micro-batches of all runs at once: Python has to be told once, not ten times."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(spark)
        self._lock = threading.Lock()
        self._of_run: dict[str, queue.SimpleQueue[StreamingQueryProgress | None]] = {}

    def next_of(self, run: str, patience: float) -> StreamingQueryProgress | None:
        try:
            return self._queue(run).get(timeout=patience)
        except queue.Empty:
            raise TimeoutError from None

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        self._queue(str(event.progress.runId)).put(event.progress)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        self._queue(str(event.runId)).put(None)

    def _queue(self, run: str) -> "queue.SimpleQueue[StreamingQueryProgress | None]":
        with self._lock:
            return self._of_run.setdefault(run, queue.SimpleQueue())


def run_in_turns(
    spark: SparkSession,
    labels: Sequence[str],
    to_run: Callable[[str, BuiltIn], ApplicationRun],
    *,
    batch_rows: int,
    batches: int,
    pool: Path,
) -> list[GroupingRun]:
    """Return what runs of one grouping each did with the same micro-batches, in turns.

    ``to_run`` makes the run of a label out of the source that it has to read.
    """
    turns, making = Turns(labels, batches), threading.Lock()

    def one(label: str) -> GroupingRun:
        try:
            source = _FedInTurns(batch_rows, batches, pool, turns, label, making)
            run = to_run(label, source)
            run.check()
            (done,) = run.run(spark, listener=listener)
            return done
        finally:
            turns.leave(label)

    with _SharedListener(spark) as listener, ThreadPoolExecutor(len(labels)) as threads:
        return list(threads.map(one, labels))
