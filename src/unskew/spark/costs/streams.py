"""Streams that learn what rows cost while they run: `map_rows` and `map_batches`."""

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from typing import Any

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew._stores import AnyPath
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.spark.columns import free_names
from unskew.spark.costs.placement import place_by_schedule
from unskew.spark.costs.scheduler import CostControl, cost_fields, work_in
from unskew.spark.plans.live_file import plan_folder
from unskew.spark.plans.saved import key_types
from unskew.spark.steps.running import STATS_FIELD, map_with_stats
from unskew.spark.stream.listener import follow, new_name
from unskew.spark.stream.loop import Loop, Report, file_without_plans
from unskew.spark.worker.cost_messages import (
    ControlFolder,
    DamagedMessageError,
    Matrices,
    WorkDone,
    matrices_of,
)
from unskew.spark.worker.live_files import SentLines
from unskew.spark.worker.task import Batches
from unskew.spark.worker.timed_functions import (
    MeasuredBatches,
    TimedStep,
    measured_results_of,
)


def map_stream(
    owner: str,
    keyed: DataFrame,
    step: TimedStep,
    schema: StructType,
    *,
    cost_by: tuple[str, ...],
    scheme: ProactiveShuffle,
    plan_path: str | AnyPath,
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
    folder = plan_folder(owner, plan_path, keyed.sparkSession)
    workers, matrices = scheme.workers, matrices_of(scheme)
    target = control_target(cost_by, key_types(keyed, list(cost_by)), workers, matrices)
    loop = CostLoop(owner, folder, target, workers, matrices)
    name = new_name()
    sent = loop.sent(keyed.sparkSession)
    placed = place_by_schedule(keyed, workers, matrices, loop.source, sent)
    work = measured_results_of(step, keyed.columns[:-1], matrices, loop.source)
    if sent is not None:
        text = sent.column(sf.col(placed.columns[-1]))
        placed = placed.withColumn(free_names(placed, 1)[0], text)
        work = _taking(sent.lines, work)
    mapped = map_with_stats(placed, work, schema, name)
    follow(keyed.sparkSession, name, loop)
    return mapped


def _taking(
    lines: SentLines, work: Callable[[Batches], MeasuredBatches]
) -> Callable[[Batches], MeasuredBatches]:
    """Return ``work``, for rows whose last column has ``lines`` in the first of them.

    ``work`` leaves columns behind the identity alone.
    """

    def taking(batches: Batches) -> MeasuredBatches:
        first = next(filter(attrgetter("num_rows"), batches), None)
        if first is None:
            return (yield from work(iter(())))
        lines.take(first.columns[-1][0].as_py())
        return (yield from work(chain([first], batches)))

    return taking


class CostLoop(Loop[list[WorkDone]]):
    """Learn from every micro-batch what rows cost, and put the next schedule in force.

    Parameters
    ----------
    owner
        Who is named in errors.
    folder
        The folder of the query: schedules go there, and the record of micro-batches. The stream
        goes on from what is there.
    target
        Whom the schedules are for, see `control_target`.
    workers, matrices
        As for `CostControl`.
    """

    def __init__(
        self, owner: str, folder: AnyPath, target: str, workers: int, matrices: Matrices
    ) -> None:
        file = file_without_plans(owner, folder, "costs", target)
        self._control = _restored(file.read(owner), workers, matrices)
        super().__init__(folder, file, without_file="Rows went round-robin")

    @property
    def source(self) -> ControlFolder:
        """Where tasks find the schedule in force."""
        return ControlFolder(self._file.for_tasks)

    def read(self, progress: Any, name: str) -> Report:
        """Return what the workers of a micro-batch report."""
        return Report.of(progress, stats=progress.observedMetrics[name][STATS_FIELD])

    def _observed(self, report: Report) -> list[WorkDone] | None:
        done = work_in(report.stats or "", self._control.workers)
        return done if any(work.rows for work in done) else None

    def _learn(self, report: Report, observed: list[WorkDone]) -> tuple[dict[str, Any], bool]:
        return cost_fields(self._control.take(observed), report.stats or ""), True

    def _put_in_force(self) -> None:
        sent, remembered = self._control.control().to_bytes(), self._control.to_bytes()
        self._file.write([b64encode(part).decode() for part in (sent, remembered)])


def control_target(
    cost_by: tuple[str, ...], types: tuple[str, ...], workers: int, matrices: Matrices
) -> str:
    """Return whom a schedule is for, in words that fit a message."""
    rows, columns, _ = matrices.shape
    hashes = hashlib.sha256(matrices.parameters.tobytes()).hexdigest()[:8]
    return json.dumps(
        {
            "cost_by": list(cost_by),
            "types": list(types),
            "workers": workers,
            "matrices": f"{rows} x {columns}, hashed by {hashes}",
        }
    )


def _restored(lines: list[str] | None, workers: int, matrices: Matrices) -> CostControl:
    """Return what the last run knew; a new control if nothing of that is there and whole."""
    if lines is not None and len(lines) == 2:
        with suppress(DamagedMessageError):
            return CostControl.restored(workers, matrices, b64decode(lines[1]))
    return CostControl(workers, matrices)
