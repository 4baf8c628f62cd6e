"""What all drivers share that learn costs from micro-batches and keep them in a pair of files."""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from unskew.spark.cost_messages import NO_ROUND
from unskew.spark.epochs import Epoch, append_epoch

_log = logging.getLogger("unskew.spark")


class WorkReport(NamedTuple):
    """What Spark hands over when a micro-batch is done."""

    query: str
    run: str
    batch: int
    stats: str
    """What work steps said, as `work_stats.read_stats` reads it."""
    version: int = NO_ROUND
    """Which costs rows were routed by, where work steps do not tell it themselves."""


class CostFiles(Protocol):
    """The files that a loop writes."""

    def damaged(self) -> list[str]:
        """Return the names of the files that are not, or no longer, as they were written."""


class LearningLoop(ABC):
    """Learn from every micro-batch what rows cost, and put that in force and on record.

    Parameters
    ----------
    folder
        Where the record of micro-batches goes.
    files
        Where tasks find what was learned.
    without_files
        What becomes of rows whose tasks find no whole file, for the log.
    """

    def __init__(self, folder: Path, files: CostFiles, *, without_files: str) -> None:
        self.folder, self._files, self._without_files = folder, files, without_files
        self._lock = threading.Lock()
        self._said_unseen = False
        self._say_damaged(files.damaged())
        self._put_in_force()

    @abstractmethod
    def _learn(self, report: WorkReport) -> dict[str, Any] | None:
        """Learn from a micro-batch; return what an `Epoch` says of it, None if it had no rows."""

    @abstractmethod
    def _put_in_force(self) -> None:
        """Write what is known for the tasks that start from now on."""

    def take(self, report: WorkReport) -> Epoch | None:
        """Learn from a micro-batch and put that on record."""
        started = time.perf_counter()
        with self._lock:
            fields = self._learn(report)
            if fields is None:
                return None
            damaged = self._files.damaged()
            self._put_in_force()
            self._say_damaged(damaged)
            if fields["version"] == NO_ROUND and not damaged:
                self._say_unseen()
            epoch = Epoch(
                query=report.query,
                run=report.run,
                batch=report.batch,
                split_keys=None,
                next_version=None,
                why=None,
                seconds=time.perf_counter() - started,
                damaged=tuple(damaged),
                **fields,
            )
            append_epoch(self.folder, epoch)
        return epoch

    def rest(self, run: str) -> None:  # noqa: B027 (no subclass has more to do)
        """Keep what was learned: the query may be started again."""

    def _say_damaged(self, names: Sequence[str]) -> None:
        for name in names:
            _log.warning("%s was damaged. It is written anew, with what is known.", name)

    def _say_unseen(self) -> None:
        if not self._said_unseen:
            self._said_unseen = True
            _log.warning(
                "%s: no task has found a whole file of costs in %s. Is it the same folder on the "
                "driver and on all executors?",
                self._without_files,
                self.folder,
            )
