"""Map the rows of a stream by a schedule that is learned while the query runs."""

import itertools
import logging
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew.groupings.proactive_shuffle import ProactiveShuffle
from unskew.spark._control_source import ControlFolder
from unskew.spark._timed_step import TimedStep, measured_results_of
from unskew.spark.control_file import ControlFile
from unskew.spark.cost_control import CostControl, RoundReport
from unskew.spark.cost_epochs import cost_fields, work_in
from unskew.spark.cost_messages import NO_ROUND, Matrices, matrices_of
from unskew.spark.cost_routing import place_by_schedule
from unskew.spark.epochs import Epoch, append_epoch
from unskew.spark.plan_listener import follow
from unskew.spark.saved_plans import check_local_path, key_types
from unskew.spark.work_stats import STATS_FIELD, map_with_stats

_log = logging.getLogger("unskew.spark")
_numbers = itertools.count(1)


def map_stream(
    owner: str,
    keyed: DataFrame,
    step: TimedStep,
    schema: StructType,
    *,
    cost_by: tuple[str, ...],
    scheme: ProactiveShuffle,
    plan_path: str | Path,
) -> DataFrame:
    """Return what ``step`` makes of the stream, each micro-batch scheduled by those before.

    Parameters
    ----------
    owner
        Who is named in errors.
    keyed
        The stream, with the identity of what costs depend on as last column.
    step, schema
        What works on the rows, and what it gives.
    cost_by
        The columns that costs depend on.
    scheme
        Whose workers and matrices these are.
    plan_path
        The folder of the query.
    """
    folder = check_local_path(owner, "plan_path", plan_path)
    workers, matrices = scheme.n_workers, matrices_of(scheme)
    file = ControlFile(folder, cost_by, key_types(keyed, list(cost_by)), workers, matrices)
    loop = CostLoop(owner, folder, file, workers, matrices)
    name = f"unskew-costs-{next(_numbers)}"
    placed = place_by_schedule(keyed, workers, matrices, loop.source)
    work = measured_results_of(step, keyed.columns[:-1], matrices, loop.source)
    mapped = map_with_stats(placed, work, schema, name)
    follow(keyed.sparkSession, name, loop, read_work)
    return mapped


class WorkReport(NamedTuple):
    """What Spark hands over when a micro-batch is done."""

    query: str
    run: str
    batch: int
    stats: str


def read_work(progress: Any, name: str) -> WorkReport:
    """Return what a `CostLoop` takes out of the progress of a query."""
    stats = progress.observedMetrics[name][STATS_FIELD]
    return WorkReport(str(progress.id), str(progress.runId), int(progress.batchId), stats)


class CostLoop:
    """Learn from every micro-batch what rows cost, and put the next schedule in force.

    Parameters
    ----------
    owner
        Who is named in errors.
    folder
        Where the record of micro-batches goes.
    file
        Where schedules go; what is there is gone on with.
    workers, matrices
        As for `CostControl`.
    """

    def __init__(
        self, owner: str, folder: Path, file: ControlFile, workers: int, matrices: Matrices
    ) -> None:
        self.folder, self._file = folder, file
        self._control = file.read(owner) or CostControl(workers, matrices)
        self._say_damaged(file.damaged())
        self._file.write(self._control)
        self._lock = threading.Lock()
        self._said_unseen = False

    @property
    def source(self) -> ControlFolder:
        """Where tasks find the schedule in force."""
        return self._file.source

    def take(self, report: WorkReport) -> Epoch | None:
        """Learn from a micro-batch and put that on record."""
        started = time.perf_counter()
        done = work_in(report.stats)
        if not any(work.rows for work in done):
            return None
        with self._lock:
            damaged = self._file.damaged()
            round_report = self._control.take(done)
            self._file.write(self._control)
            self._say_damaged(damaged)
            if round_report.round_number == NO_ROUND and not damaged:
                self._say_unseen()
            epoch = _epoch(report, round_report, damaged, time.perf_counter() - started)
            append_epoch(self.folder, epoch)
        return epoch

    def rest(self, run: str) -> None:
        """Keep what was learned: the query may be started again."""

    def _say_damaged(self, names: list[str]) -> None:
        for name in names:
            _log.warning("%s was damaged. It is written anew, with what is known.", name)

    def _say_unseen(self) -> None:
        if not self._said_unseen:
            self._said_unseen = True
            _log.warning(
                "Rows were dealt in turn: no task has found a whole file of costs in %s. Is it the "
                "same folder on the driver and on all executors?",
                self.folder,
            )


def _epoch(report: WorkReport, done: RoundReport, damaged: list[str], seconds: float) -> Epoch:
    return Epoch(
        query=report.query,
        run=report.run,
        batch=report.batch,
        split_keys=None,
        next_version=None,
        why=None,
        seconds=seconds,
        damaged=tuple(damaged),
        **cost_fields(done, report.stats),
    )
