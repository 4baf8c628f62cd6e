"""The scheduler's side of proactive shuffle: give each row to the worker with the least work.

Round-robin until every worker has reported its costs; then greedy by estimated load. Each report
starts an *epoch*: the next rows, one per worker, ask how far the estimates are off, and once all
workers have answered the estimates are corrected. The steps are compiled: the closed loop of the
simulator and the driver on Spark take them one by one.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.sketches.cost_sketch import estimate_cost, mean_cost

NO_REQUEST = 0
"""What `assign` gives as epoch of a row that carries no request; epochs start at 1."""
NO_RESYNC = 0
"""Stands for "ask the workers only after reports"."""


class SchedulerPhase(IntEnum):
    """Where the scheduler stands."""

    ROUND_ROBIN = 0
    SEND_ALL = 1
    WAIT_ALL = 2
    RUN = 3


_ROUND_ROBIN, _SEND_ALL = int(SchedulerPhase.ROUND_ROBIN), int(SchedulerPhase.SEND_ALL)
_WAIT_ALL, _RUN = int(SchedulerPhase.WAIT_ALL), int(SchedulerPhase.RUN)
_PHASE, _TURN, _EPOCH, _TO_SEND, _TO_HEAR, _SINCE = range(6)


class SchedulerState(NamedTuple):
    """What the scheduler knows; the first axis of every array but ``registers`` is the worker."""

    cells: NDArray[np.float64]
    """The last matrices of each worker."""
    means: NDArray[np.float64]
    """The mean cost in them."""
    last_reports: NDArray[np.int64]
    """Number of the last report of each worker, 0 before the first."""
    estimated: NDArray[np.float64]
    """Estimated cost of all rows given to each worker (Ĉ)."""
    asked: NDArray[np.int64]
    """Epoch of the last request to each worker."""
    answered: NDArray[np.int64]
    """Epoch of the last reply taken from each worker."""
    differences: NDArray[np.float64]
    """What each worker answered in the present epoch (Δ)."""
    registers: NDArray[np.int64]
    """Phase, turn, epoch, requests to send, replies or reports to hear, rows since the last."""


def new_scheduler(workers: int, rows: int, columns: int) -> SchedulerState:
    """Return a scheduler that has heard of no worker yet."""
    registers = np.zeros(6, np.int64)
    registers[_TO_HEAR] = workers
    return SchedulerState(
        cells=np.zeros((workers, rows, columns, 2)),
        means=np.zeros(workers),
        last_reports=np.zeros(workers, np.int64),
        estimated=np.zeros(workers),
        asked=np.zeros(workers, np.int64),
        answered=np.zeros(workers, np.int64),
        differences=np.zeros(workers),
        registers=registers,
    )


def phase_of(state: SchedulerState) -> SchedulerPhase:
    """Return where the scheduler stands."""
    return phase_in(state.registers)


def phase_in(registers: NDArray[np.int64]) -> SchedulerPhase:
    """Return where a scheduler with these registers stands."""
    return SchedulerPhase(registers[_PHASE])


@compiled
def assign(state: SchedulerState, columns: NDArray[np.int64], resync_after: int) -> tuple[int, int]:
    """Return the worker of the next row and the epoch of the request it carries, if any."""
    registers = state.registers
    if registers[_PHASE] == _RUN:
        registers[_SINCE] += 1
        if NO_RESYNC < resync_after <= registers[_SINCE]:
            start_epoch(state)
    if registers[_PHASE] >= _WAIT_ALL:
        worker = least_loaded(state.estimated)
        _add_estimate(state, worker, columns)
        return worker, NO_REQUEST
    worker = registers[_TURN]
    registers[_TURN] = worker + 1 if worker + 1 < state.estimated.size else 0
    if registers[_PHASE] == _ROUND_ROBIN:
        return worker, NO_REQUEST
    _add_estimate(state, worker, columns)
    state.asked[worker] = registers[_EPOCH]
    registers[_TO_SEND] -= 1
    if registers[_TO_SEND] == 0:
        registers[_PHASE] = _WAIT_ALL
    return worker, registers[_EPOCH]


@inlined
def least_loaded(loads: NDArray[np.float64]) -> int:
    """Return the first of the workers with the smallest load."""
    worker, least = 0, loads[0]
    for other in range(1, loads.size):
        if loads[other] < least:
            worker, least = other, loads[other]
    return worker


@inlined
def _add_estimate(state: SchedulerState, worker: int, columns: NDArray[np.int64]) -> None:
    state.estimated[worker] += estimate_cost(state.cells[worker], columns, state.means[worker])


@compiled
def start_epoch(state: SchedulerState) -> None:
    """Let the next rows, one per worker, ask how far the estimates are off."""
    registers = state.registers
    registers[_PHASE] = _SEND_ALL
    registers[_EPOCH] += 1
    registers[_TO_SEND] = registers[_TO_HEAR] = state.estimated.size


@compiled
def take_in_report(
    state: SchedulerState, worker: int, number: int, cells: NDArray[np.float64]
) -> None:
    """Use a worker's new matrices; a report older than the last one is ignored."""
    if note_report(state, worker, number, cells):
        start_epoch(state)


@compiled
def note_report(
    state: SchedulerState, worker: int, number: int, cells: NDArray[np.float64]
) -> bool:
    """Use a worker's new matrices; return whether the paper would now start an epoch.

    Not so for a report older than the last one, which is ignored, and while some worker has still
    to report for the first time.
    """
    if number <= state.last_reports[worker]:
        return False
    registers = state.registers
    first = state.last_reports[worker] == 0
    state.cells[worker] = cells
    state.means[worker] = mean_cost(cells)
    state.last_reports[worker] = number
    if registers[_PHASE] == _ROUND_ROBIN:
        registers[_TO_HEAR] -= 1 if first else 0
        return bool(registers[_TO_HEAR] <= 0)
    return True


def ask_all(state: SchedulerState) -> None:
    """Note that every worker has got the request of the present epoch, whoever has sent it."""
    if phase_of(state) == SchedulerPhase.SEND_ALL:
        state.asked[:] = state.registers[_EPOCH]
        state.registers[_TO_SEND] = 0
        state.registers[_PHASE] = _WAIT_ALL


def epoch_of(state: SchedulerState) -> int:
    """Return the number of the last synchronisation begun, 0 before the first."""
    return epoch_in(state.registers)


def epoch_in(registers: NDArray[np.int64]) -> int:
    """Return the number of the last synchronisation that a scheduler with these has begun."""
    return int(registers[_EPOCH])


@compiled
def take_in_reply(state: SchedulerState, worker: int, epoch: int, difference: float) -> None:
    """Note a reply; one of another epoch, unasked or for the second time is ignored."""
    current = state.registers[_EPOCH]
    if epoch != current or state.asked[worker] != current or state.answered[worker] == current:
        return
    state.answered[worker] = current
    state.differences[worker] = difference
    state.registers[_TO_HEAR] -= 1
    # The last reply cannot come before the last request has gone out: the phase is WAIT_ALL.
    if state.registers[_TO_HEAR] == 0:
        state.estimated[:] += state.differences
        state.registers[_PHASE] = _RUN
        state.registers[_SINCE] = 0
