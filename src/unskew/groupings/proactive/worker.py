"""The worker's side of proactive shuffle: measure rows, report once the measures are stable.

A worker counts its first window of rows (``START``), takes a snapshot of the mean costs, and then
compares after each further window (``STABILIZING``): little change sends the matrices off and
starts anew, much change refreshes the snapshot. The steps are compiled and serve both the event
by event class `CostWorker` and the closed loop of the simulator.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int, check_real
from unskew.hashing import Key, identity
from unskew.sketches.cost_sketch import add_cost, clean_cost, is_stable, take_snapshot
from unskew.sketches.count_min import check_precision, columns_of, row_parameters, sketch_shape


class WorkerPhase(IntEnum):
    """Where a worker stands."""

    START = 0
    STABILIZING = 1


NO_TIME = np.nan
"""Stands for "nobody knows when the row ended"."""

_START, _STABILIZING = int(WorkerPhase.START), int(WorkerPhase.STABILIZING)


class WorkerState(NamedTuple):
    """What one or more workers know; the first axis of every array is the worker."""

    cells: NDArray[np.float64]
    """Counts and costs since the last report."""
    snapshots: NDArray[np.float64]
    """Mean costs as they were when the present window began."""
    phases: NDArray[np.int64]
    in_window: NDArray[np.int64]
    """Rows executed in the present window."""
    reports: NDArray[np.int64]
    """Reports sent so far: the number of the last one."""
    clocks: NDArray[np.float64]
    """When the last row ended, or the cost of all rows where nobody tells the time (C)."""


class Settings(NamedTuple):
    """When a worker looks at its matrices (N) and calls them stable (μ)."""

    window: int
    tolerance: float


def new_workers(workers: int, rows: int, columns: int) -> WorkerState:
    """Return the state of workers that have executed nothing yet."""
    return WorkerState(
        cells=np.zeros((workers, rows, columns, 2)),
        snapshots=np.zeros((workers, rows, columns)),
        phases=np.full(workers, _START),
        in_window=np.zeros(workers, np.int64),
        reports=np.zeros(workers, np.int64),
        clocks=np.zeros(workers),
    )


@compiled
def execute(
    state: WorkerState,
    worker: int,
    columns: NDArray[np.int64],
    cost: float,
    ended: float,
    settings: Settings,
) -> bool:
    """Take in one executed row; True if the worker has now to send its report.

    ``ended`` is when the row ended, on a clock that all workers started together; `NO_TIME` lets
    the worker's clock advance by the cost instead. Clocks are never set back.
    """
    measured = clean_cost(cost)
    add_cost(state.cells[worker], columns, measured)
    if np.isfinite(ended):
        state.clocks[worker] = max(state.clocks[worker], ended)
    else:
        state.clocks[worker] += measured
    state.in_window[worker] += 1
    if state.in_window[worker] < settings.window:
        return False
    return _end_window(state, worker, settings.tolerance)


@compiled
def _end_window(state: WorkerState, worker: int, tolerance: float) -> bool:
    state.in_window[worker] = 0
    cells, snapshot = state.cells[worker], state.snapshots[worker]
    if state.phases[worker] == _STABILIZING and is_stable(cells, snapshot, tolerance):
        return True
    take_snapshot(cells, snapshot)
    state.phases[worker] = _STABILIZING
    return False


@compiled
def take_report(state: WorkerState, worker: int, out: NDArray[np.float64]) -> int:
    """Write the matrices to ``out``, start anew, and return the number of this report."""
    out[:] = state.cells[worker]
    state.cells[worker] = 0.0
    state.phases[worker] = _START
    state.reports[worker] += 1
    return int(state.reports[worker])


@dataclass(frozen=True)
class SyncRequest:
    """What a row carries to its worker: "compare your clock with my estimate"."""

    epoch: int
    estimated: float


@dataclass(frozen=True)
class SyncReply:
    """How far the scheduler's estimate of a worker's load was off in an epoch."""

    worker: int
    epoch: int
    difference: float


@dataclass(frozen=True, eq=False)
class CostReport:
    """A worker's matrices; numbered, so that a late one never replaces a newer one."""

    worker: int
    number: int
    cells: NDArray[np.float64]


class CostWorker:
    """Turn executed rows into the messages that the scheduler needs: events in, messages out.

    Parameters
    ----------
    worker
        The number of this worker, which its messages carry.
    window
        Rows between two looks at the matrices (N).
    tolerance
        Largest relative change of the mean costs that counts as stable (μ).
    epsilon, delta, seed
        Precision and hash functions of the matrices, equal for the scheduler and all workers.

    Examples
    --------
    Equal costs are stable at the second look:

    >>> worker = CostWorker(3, window=2)
    >>> [len(worker.executed("a", 5.0)) for _ in range(4)]
    [0, 0, 0, 1]

    A request is answered with the difference to the worker's clock, which counts the costs
    unless the caller tells the time:

    >>> worker.executed("a", 5.0, SyncRequest(epoch=1, estimated=20.0))
    [SyncReply(worker=3, epoch=1, difference=5.0)]
    >>> worker.executed("a", 5.0, SyncRequest(epoch=2, estimated=25.0), ended=60.0)
    [SyncReply(worker=3, epoch=2, difference=35.0)]
    """

    def __init__(
        self,
        worker: int,
        *,
        window: int = 1024,
        tolerance: float = 0.05,
        epsilon: float = 0.05,
        delta: float = 0.1,
        seed: int = 0,
    ) -> None:
        owner = type(self).__name__
        self.worker = check_int(owner, "worker", worker, minimum=0)
        self.window = check_int(owner, "window", window, minimum=1)
        self.tolerance = check_real(owner, "tolerance", tolerance, minimum=0)
        self._settings = Settings(self.window, self.tolerance)
        self.epsilon, self.delta = check_precision(owner, epsilon, delta)
        self.seed = check_int(owner, "seed", seed)
        rows, columns = sketch_shape(self.epsilon, self.delta)
        self._parameters = row_parameters(self.seed, rows)
        self._state = new_workers(1, rows, columns)

    @property
    def phase(self) -> WorkerPhase:
        """Whether the worker fills its first window or waits for stable measures."""
        return WorkerPhase(self._state.phases[0])

    @property
    def clock(self) -> float:
        """When the last row ended, or the cost of all rows where nobody tells the time."""
        return float(self._state.clocks[0])

    def executed(
        self,
        key: Key,
        cost: float,
        request: SyncRequest | None = None,
        *,
        ended: float | None = None,
    ) -> list[CostReport | SyncReply]:
        """Take in one executed row and return what has to be sent to the scheduler.

        Parameters
        ----------
        key, cost
            The row's key and measured cost; a negative or not finite cost counts as 0.
        request
            What the row carried, if anything.
        ended
            When the row ended, on a clock that all workers started together.
        """
        state, messages = self._state, list[CostReport | SyncReply]()
        columns = np.empty(self._parameters.shape[0], np.int64)
        columns_of(identity(key), self._parameters, np.uint64(state.cells.shape[2]), columns)
        time = NO_TIME if ended is None else float(ended)
        stable = execute(state, 0, columns, float(cost), time, self._settings)
        if request is not None:
            difference = self.clock - request.estimated
            messages.append(SyncReply(self.worker, request.epoch, difference))
        if stable:
            cells = np.empty(state.cells.shape[1:])
            messages.append(CostReport(self.worker, take_report(state, 0, cells), cells))
        return messages
