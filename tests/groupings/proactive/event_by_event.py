"""Proactive shuffle event by event: a scheduler and workers that exchange messages, as an oracle.

The library runs the same steps in compiled loops; these two take one row and one message at a time,
as the paper describes it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.proactive.scheduler import (
    NO_REQUEST,
    NO_RESYNC,
    SchedulerPhase,
    assign,
    epoch_of,
    new_scheduler,
    phase_of,
    take_in_reply,
    take_in_report,
)
from unskew.groupings.proactive.worker import (
    NO_TIME,
    CostReport,
    Settings,
    WorkerPhase,
    execute,
    new_workers,
    take_report,
)
from unskew.hashing import Key, identity
from unskew.sketches.count_min import check_precision, columns_of, row_parameters, sketch_shape


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
        self.epsilon, self.delta = check_precision(owner, epsilon, delta)
        self.seed = check_int(owner, "seed", seed)
        rows, columns = sketch_shape(self.epsilon, self.delta)
        self._settings = Settings(self.window, self.tolerance, columns)
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


class CostScheduler:
    """Assign rows by estimated load: rows and messages in, workers and requests out.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    resync_after
        Ask the workers again after so many rows without a report, 0 for never.
    epsilon, delta, seed
        Precision and hash functions of the matrices, equal for the scheduler and all workers.

    Examples
    --------
    Nothing is known at first, so rows go round-robin:

    >>> scheduler = CostScheduler(2)
    >>> [scheduler.assign("a") for _ in range(3)]
    [(0, None), (1, None), (0, None)]
    >>> scheduler.phase.name
    'ROUND_ROBIN'
    """

    def __init__(
        self,
        workers: int,
        *,
        resync_after: int = NO_RESYNC,
        epsilon: float = 0.05,
        delta: float = 0.1,
        seed: int = 0,
    ) -> None:
        owner = type(self).__name__
        self.workers = check_int(owner, "workers", workers, minimum=1)
        self.resync_after = check_int(owner, "resync_after", resync_after, minimum=0)
        self.epsilon, self.delta = check_precision(owner, epsilon, delta)
        self.seed = check_int(owner, "seed", seed)
        rows, columns = sketch_shape(self.epsilon, self.delta)
        self._parameters = row_parameters(self.seed, rows)
        self._state = new_scheduler(self.workers, rows, columns)

    @property
    def phase(self) -> SchedulerPhase:
        """Where the scheduler stands."""
        return phase_of(self._state)

    @property
    def epoch(self) -> int:
        """Number of the last synchronisation begun, 0 before the first."""
        return epoch_of(self._state)

    @property
    def estimated(self) -> NDArray[np.float64]:
        """Estimated load of every worker (a copy)."""
        return self._state.estimated.copy()

    def assign(self, key: Key) -> tuple[int, SyncRequest | None]:
        """Return the worker of the next row, and the request that the row has to carry."""
        state = self._state
        columns = np.empty(self._parameters.shape[0], np.int64)
        columns_of(identity(key), self._parameters, np.uint64(state.cells.shape[2]), columns)
        worker, epoch = assign(state, columns, self.resync_after)
        if epoch == NO_REQUEST:
            return int(worker), None
        return int(worker), SyncRequest(int(epoch), float(state.estimated[worker]))

    def receive(self, message: CostReport | SyncReply) -> None:
        """Take in a worker's message; late and repeated ones do no harm."""
        check_int(
            type(self).__name__, "worker", message.worker, minimum=0, maximum=self.workers - 1
        )
        if isinstance(message, SyncReply):
            if np.isfinite(message.difference):
                take_in_reply(self._state, message.worker, message.epoch, message.difference)
        elif message.cells.shape != self._state.cells.shape[1:]:
            expected = f"matrices of shape {self._state.cells.shape[1:]}"
            got = f"shape {message.cells.shape}"
            raise InvalidParameterError(type(self).__name__, "report", expected, got)
        else:
            take_in_report(self._state, message.worker, message.number, message.cells)
