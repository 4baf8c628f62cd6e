"""The worker's side of proactive shuffle: measure rows, report once the measures are stable.

A worker counts its first window of rows (``START``), takes a snapshot of the mean costs, and then
compares after each further window (``STABILIZING``): little change sends the matrices off and
starts again, much change refreshes the snapshot. The steps are compiled: the closed loop of the
simulator and Spark's tasks take them one by one.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.sketches.cost_sketch import add_cost, clean_cost, is_stable, take_snapshot

NO_TIME = np.nan
"""Stands for "nobody knows when the row ended"."""


class WorkerPhase(IntEnum):
    """Where a worker stands."""

    START = 0
    STABILIZING = 1


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
    """When a worker looks at its matrices (N), and when it calls them stable (μ)."""

    window: int
    tolerance: float
    columns: int
    """How many cells of each matrix row it compares."""


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
    return _end_window(state, worker, settings)


@compiled
def _end_window(state: WorkerState, worker: int, settings: Settings) -> bool:
    state.in_window[worker] = 0
    cells, snapshot = state.cells[worker], state.snapshots[worker]
    if state.phases[worker] == _STABILIZING and is_stable(
        cells, snapshot, settings.tolerance, settings.columns
    ):
        return True
    take_snapshot(cells, snapshot)
    state.phases[worker] = _STABILIZING
    return False


@compiled
def take_report(state: WorkerState, worker: int, out: NDArray[np.float64]) -> int:
    """Write the matrices to ``out``, start again, and return the number of this report."""
    out[:] = state.cells[worker]
    state.cells[worker] = 0.0
    state.phases[worker] = _START
    state.reports[worker] += 1
    return int(state.reports[worker])


@dataclass(frozen=True, eq=False)
class CostReport:
    """A worker's matrices; numbered, so that a late one never replaces a newer one."""

    worker: int
    number: int
    cells: NDArray[np.float64]
