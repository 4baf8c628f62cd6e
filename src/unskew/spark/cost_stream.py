"""Map the rows of a stream by a schedule that is learned while the query runs."""

import itertools
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew.groupings.proactive_shuffle import ProactiveShuffle
from unskew.spark._control_source import ControlFolder
from unskew.spark._timed_step import TimedStep, measured_results_of
from unskew.spark.control_file import ControlFile
from unskew.spark.cost_control import CostControl
from unskew.spark.cost_epochs import cost_fields, work_in
from unskew.spark.cost_messages import Matrices, matrices_of
from unskew.spark.cost_routing import place_by_schedule
from unskew.spark.learning_loop import LearningLoop, WorkReport
from unskew.spark.plan_listener import follow
from unskew.spark.saved_plans import check_local_path, key_types
from unskew.spark.work_stats import STATS_FIELD, map_with_stats

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
    workers, matrices = scheme.workers, matrices_of(scheme)
    file = ControlFile(folder, cost_by, key_types(keyed, list(cost_by)), workers, matrices)
    loop = CostLoop(owner, folder, file, workers, matrices)
    name = f"unskew-costs-{next(_numbers)}"
    placed = place_by_schedule(keyed, workers, matrices, loop.source)
    work = measured_results_of(step, keyed.columns[:-1], matrices, loop.source)
    mapped = map_with_stats(placed, work, schema, name)
    follow(keyed.sparkSession, name, loop, read_work)
    return mapped


def read_work(progress: Any, name: str) -> WorkReport:
    """Return what a `CostLoop` takes out of the progress of a query."""
    stats = progress.observedMetrics[name][STATS_FIELD]
    return WorkReport(str(progress.id), str(progress.runId), int(progress.batchId), stats)


class CostLoop(LearningLoop):
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
        self._file = file
        self._control = file.read(owner) or CostControl(workers, matrices)
        super().__init__(folder, file, without_files="Rows were dealt in turn")

    @property
    def source(self) -> ControlFolder:
        """Where tasks find the schedule in force."""
        return self._file.source

    def _learn(self, report: WorkReport) -> dict[str, Any] | None:
        done = work_in(report.stats)
        if not any(work.rows for work in done):
            return None
        return cost_fields(self._control.take(done), report.stats)

    def _put_in_force(self) -> None:
        self._file.write(self._control)
