"""Proactive shuffle inside tasks: measure what rows cost, and schedule rows by it."""

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings.proactive.scheduler import (
    NO_RESYNC,
    SchedulerPhase,
    SchedulerState,
    assign,
    new_scheduler,
)
from unskew.groupings.proactive.worker import (
    NO_TIME,
    CostReport,
    Settings,
    WorkerState,
    execute,
    new_workers,
    take_report,
)
from unskew.hashing import Ids
from unskew.sketches.cost_sketch import COST, COUNT, add_cost, clean_cost, estimate_cost, mean_cost
from unskew.sketches.count_min import columns_of
from unskew.spark.worker.cost_messages import NOTHING_KNOWN, Control, Matrices, Schedule, WorkDone

Seconds = NDArray[np.float64]

ENOUGH_ROWS = 128
"""So many rows are enough for a worker to learn a first schedule from."""
_CALLS_REMEMBERED = 16

_ROW_SECONDS = 1e-6
_SOURCE_STRIDE, _ROUND_STRIDE = 0.6180339887498949, 0.41421356237309515


class CostMachine:
    """Take in what a worker's rows cost; report to the driver what it has to know.

    The first call of a task is not learned from, unless it stays the only one: what a function
    loads or connects to when it is first used is no matter of the row.

    Parameters
    ----------
    worker
        Which worker this is.
    matrices
        What `cost_messages.matrices_of` gives.
    control
        What the driver has sent, if anything: the machine goes on where it stood.

    Examples
    --------
    Windows of two rows: the machine reports when the second says the same as the first.

    >>> from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
    >>> from unskew.spark.worker.cost_messages import matrices_of
    >>> machine = CostMachine(0, matrices_of(ProactiveShuffle(2, window=2)), None)
    >>> machine.take_rows(np.full(5, 7, np.uint64), np.array([9.0, 0.5, 0.5, 0.5, 0.5]))
    >>> done = machine.finish()
    >>> done.rows, done.busy_seconds, done.report.number
    (5, 11.0, 1)
    """

    def __init__(self, worker: int, matrices: Matrices, control: Control | None) -> None:
        self._worker = worker
        self._settings, self._parameters = matrices.settings, matrices.parameters
        self._state = new_workers(1, *matrices.shape[:2])
        self._known, self._speed, self._standing = np.zeros(matrices.shape), 1.0, NOTHING_KNOWN
        if control is not None:
            own = worker % control.schedule.speeds.size  # see `partition_number`
            self._state = WorkerState._make(part[[own]] for part in control.machines)
            self._known = control.schedule.pooled
            self._speed = float(control.schedule.speeds[own])
            self._standing = control.schedule.standing
        self._is_scheduled = self._standing.phase != SchedulerPhase.ROUND_ROBIN
        self._scheduled_by = self._known.copy()
        self._first: tuple[Ids, Seconds] | None = None
        self._is_warm = False
        self._last_report: CostReport | None = None
        self._tally = np.zeros((3, matrices.columns))
        self._calls = 0
        self._rows, self._busy, self._estimated = 0, 0.0, 0.0

    def take_rows(self, ids: Ids, seconds: Seconds) -> None:
        """Take in rows that were timed one by one."""
        if not ids.size:
            return
        self._count(ids, seconds)
        if self._first is None:
            self._first = ids[:1], seconds[:1]
            ids, seconds = ids[1:], seconds[1:]
        self._learn(ids, seconds)

    def take_call(self, ids: Ids, seconds: float) -> None:
        """Take in rows that were timed together: their shares are as the estimates are."""
        if not ids.size:
            return
        self._calls += 1
        if self._calls % _CALLS_REMEMBERED == 0:
            # The first shares were guesses, and guesses must not be what later ones rest on.
            self._known *= 0.5
        shares = np.empty(ids.size)
        _share(self._known, self._parameters, ids, seconds, shares)
        self._count(ids, shares)
        if self._first is None:
            self._first = ids, shares
        else:
            self._learn(ids, shares)

    @property
    def is_waited_for(self) -> bool:
        """Whether it has seen enough for a first schedule, which is not there yet.

        A stream cannot wait until windows are stable: on a busy machine costs vary so much that
        rows would go round-robin for many micro-batches, though all workers together know what
        matters.
        """
        enough = min(self._settings.window, ENOUGH_ROWS)
        return not self._is_scheduled and self._state.cells[0, 0, :, COUNT].sum() >= enough

    def finish(self, *, flush: bool = False) -> WorkDone:
        """Return what was done; with ``flush`` the matrices go out even if none were stable."""
        if self._first is not None and not self._is_warm:
            self._learn(*self._first)
        if flush and self._last_report is None and self._state.cells.any():
            self._report_as_is()
        return WorkDone(
            worker=self._worker,
            standing=self._standing,
            rows=self._rows,
            busy_seconds=self._busy,
            estimated_seconds=self._estimated if self._is_scheduled else np.nan,
            report=self._last_report,
            machine=self._state,
            tally=self._tally,
        )

    def _count(self, ids: Ids, seconds: Seconds) -> None:
        self._rows += ids.size
        self._busy += float(np.fmax(seconds, 0.0).sum())
        if self._is_scheduled:
            expected = _estimated_sum(self._scheduled_by, self._parameters, ids)
            self._estimated += expected * self._speed

    def _learn(self, ids: Ids, seconds: Seconds) -> None:
        self._is_warm = self._is_warm or ids.size > 0
        begin = 0
        while begin < ids.size:
            begin, is_stable = _execute_rows(
                self._state,
                self._settings,
                self._parameters,
                ids,
                seconds,
                begin,
                self._tally,
                self._known,
            )
            if is_stable:
                self._report()

    def _report(self) -> None:
        cells = np.empty(self._state.cells.shape[1:])
        number = take_report(self._state, 0, cells)
        self._last_report = CostReport(self._worker, int(number), cells)

    def _report_as_is(self) -> None:
        """Report and go on counting: what was measured so far will be in the next report, too."""
        self._state.reports[0] += 1
        number, cells = int(self._state.reports[0]), self._state.cells[0].copy()
        self._last_report = CostReport(self._worker, number, cells)


@compiled
def _execute_rows(
    state: WorkerState,
    settings: Settings,
    parameters: Ids,
    ids: Ids,
    seconds: Seconds,
    begin: int,
    tally: NDArray[np.float64],
    known: NDArray[np.float64],
) -> tuple[int, bool]:
    """Take in rows up to the one that calls for a report; return where to go on."""
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns = np.uint64(known.shape[1])
    for i in range(begin, ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        measured = clean_cost(seconds[i])
        add_cost(known, columns, measured)
        tally[0, columns[0]] += 1.0
        tally[1, columns[0]] += measured
        tally[2, columns[0]] += measured * measured
        if execute(state, 0, columns, measured, NO_TIME, settings):
            return i + 1, True
    return ids.size, False


@compiled
def _estimated_sum(cells: NDArray[np.float64], parameters: Ids, ids: Ids) -> float:
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns, mean, total = np.uint64(cells.shape[1]), mean_cost(cells), 0.0
    for i in range(ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        total += estimate_cost(cells, columns, mean)
    return total


@compiled
def _share(
    cells: NDArray[np.float64], parameters: Ids, ids: Ids, seconds: float, out: Seconds
) -> None:
    """Divide the time of a call as the estimates of its rows are, evenly if all are 0."""
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns, mean, total = np.uint64(cells.shape[1]), mean_cost(cells), 0.0
    for i in range(ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        out[i] = estimate_cost(cells, columns, mean)
        total += out[i]
    for i in range(ids.size):
        out[i] = seconds * out[i] / total if total > 0.0 else seconds / ids.size


class RowRouter:
    """The scheduler of one source for one round.

    Parameters
    ----------
    workers, matrices
        As for `costs.scheduler.CostControl`.
    schedule
        What the driver knows; None for nothing.
    source
        The number of the source: ties are broken by other workers first in every source and
        round, or the first workers would get all that does not divide evenly.

    Examples
    --------
    >>> from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
    >>> from unskew.spark.worker.cost_messages import matrices_of
    >>> router = RowRouter(3, matrices_of(ProactiveShuffle(3)), None, source=0)
    >>> router.route(np.array([7, 7, 7, 7], np.uint64)).tolist()
    [0, 1, 2, 0]
    """

    def __init__(
        self, workers: int, matrices: Matrices, schedule: Schedule | None, *, source: int
    ) -> None:
        round_number = 0 if schedule is None else schedule.round_number
        place = (source * _SOURCE_STRIDE + round_number * _ROUND_STRIDE) % 1.0
        self._first = int(place * workers)
        self._parameters = matrices.parameters
        self._state = new_scheduler(workers, *matrices.shape[:2])
        if schedule is not None:
            self._state = _scheduler(self._state, schedule, self._first)

    def route(self, ids: Ids) -> NDArray[np.int32]:
        """Return the worker of every row, in the order of the rows.

        Of those given together the expensive ones choose first, and then cheap ones fill the gaps.
        """
        costs, workers, out = np.empty(ids.size), *np.empty((2, ids.size), np.int32)
        _estimate_rows(self._state, self._parameters, ids, costs)
        order = np.argsort(-costs, kind="stable")
        _assign_rows(self._state, self._parameters, ids[order], self._first, workers)
        out[order] = workers
        return out


def _scheduler(empty: SchedulerState, schedule: Schedule, first: int) -> SchedulerState:
    """Return a scheduler whose worker 0 is worker ``first``."""
    speeds = np.roll(schedule.speeds, -first)
    empty.cells[:] = schedule.pooled
    # Every row costs something, if only to be handed over: rows that cost nothing would all go to
    # one worker.
    empty.cells[..., COST] *= speeds[:, np.newaxis, np.newaxis]
    empty.cells[..., COST] += _ROW_SECONDS * empty.cells[..., COUNT]
    empty.means[:] = speeds * mean_cost(schedule.pooled) + _ROW_SECONDS
    empty.registers[:] = schedule.registers
    return empty


@compiled
def _estimate_rows(
    state: SchedulerState, parameters: Ids, ids: Ids, out: NDArray[np.float64]
) -> None:
    """Write what each row costs on worker 0: what is dear there is dear on all of them."""
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns = np.uint64(state.cells.shape[2])
    for i in range(ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        out[i] = estimate_cost(state.cells[0], columns, state.means[0])


@compiled
def _assign_rows(
    state: SchedulerState, parameters: Ids, ids: Ids, first: int, out: NDArray[np.int32]
) -> None:
    columns = np.empty(parameters.shape[0], np.int64)
    n_columns, workers = np.uint64(state.cells.shape[2]), state.estimated.size
    for i in range(ids.size):
        columns_of(ids[i], parameters, n_columns, columns)
        worker, _ = assign(state, columns, NO_RESYNC)
        out[i] = worker + first if worker + first < workers else worker + first - workers
