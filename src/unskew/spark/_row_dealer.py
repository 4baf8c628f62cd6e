"""Give each row of a source to the worker with the least estimated work.

The rows of an Arrow batch are there together, so that the most expensive come first (LPT): what
cheap rows even out afterwards, one expensive row at the end would spoil.

Runs inside Spark's Python workers.
"""

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings._cost_scheduler import NO_RESYNC, SchedulerState, assign, new_scheduler
from unskew.hashing import Ids
from unskew.sketches.cost_sketch import COST, COUNT, estimate_cost, mean_cost
from unskew.sketches.count_min import columns_of
from unskew.spark.cost_messages import Matrices, Schedule

_ROW_SECONDS = 1e-6
_SOURCE_STRIDE, _ROUND_STRIDE = 0.6180339887498949, 0.41421356237309515


class RowDealer:
    """The scheduler of one source for one round.

    Parameters
    ----------
    workers, matrices
        As for `cost_control.CostControl`.
    schedule
        What the driver knows; None for nothing.
    source
        The number of the source: ties are broken by other workers first in every source and
        round, or the first workers would get all that does not divide evenly.

    Examples
    --------
    >>> from unskew.groupings.proactive_shuffle import ProactiveShuffle
    >>> from unskew.spark.cost_messages import matrices_of
    >>> dealer = RowDealer(3, matrices_of(ProactiveShuffle(3)), None, source=0)
    >>> dealer.deal(np.array([7, 7, 7, 7], np.uint64)).tolist()
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

    def deal(self, ids: Ids) -> NDArray[np.int32]:
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
