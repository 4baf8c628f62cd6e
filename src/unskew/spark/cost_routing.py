"""Route rows to the worker with the least estimated work: one scheduler a source.

The rows of an Arrow batch are there together, so that the most expensive come first (LPT): what
cheap rows even out afterwards, one expensive row at the end would spoil.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.functions import arrow_udf

from unskew._compiled import compiled
from unskew.groupings._cost_scheduler import NO_RESYNC, SchedulerState, assign, new_scheduler
from unskew.hashing import Ids, identities
from unskew.sketches.cost_sketch import COST, COUNT, estimate_cost, mean_cost
from unskew.sketches.count_min import columns_of
from unskew.spark._shipping import shipped
from unskew.spark._task import partition_number
from unskew.spark.cost_messages import ControlSource, Matrices, Schedule
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.placement import free_names

_ROW_SECONDS = 1e-6
_SOURCE_STRIDE, _ROUND_STRIDE = 0.6180339887498949, 0.41421356237309515


def scheduled_worker(
    identity: Column, workers: int, matrices: Matrices, source: ControlSource
) -> Column:
    """Return the worker (int) of each row; a task schedules its own rows alone.

    Eight bytes a row go to Python and four come back. Executors need unskew.

    Parameters
    ----------
    identity
        A column of what `keys.identity` returns for the columns that the cost depends on.
    workers, matrices
        As for `cost_control.CostControl`.
    source
        Where a task finds the schedule when it begins; rows are dealt in turn where there is none.
    """

    def route(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        control = source.read()
        schedule = None if control is None else control.schedule
        dealer = RowDealer(workers, matrices, schedule, source=partition_number())
        for batch, _ in batches:
            # A copy: Arrow's own memory is read-only, and loops are compiled anew for such arrays.
            ids = identities(batch.to_numpy(zero_copy_only=False).astype(np.int64))
            yield pa.array(dealer.deal(ids))

    # Rows that come in another order go elsewhere: not deterministic, and evaluated once a row.
    make: Any = arrow_udf  # its overloads want the kind by name, and then it warns: hints suffice
    udf = make(shipped(route), "int").asNondeterministic()
    # Given twice, and sent once: the optimiser would put what is used but once back in its place.
    worker: Column = udf(identity, identity)
    return worker


def place_by_schedule(
    df: DataFrame, workers: int, matrices: Matrices, source: ControlSource
) -> DataFrame:
    """Return ``df``, whose last column is the identity, with each row where the schedule says."""
    name = free_names(df, 1)[0]
    warn_if_unchecked(df.sparkSession)
    worker = scheduled_worker(sf.col(df.columns[-1]), workers, matrices, source)
    return df.withColumn(name, worker).repartitionById(workers, sf.col(name)).drop(name)


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
