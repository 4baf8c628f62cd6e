"""Place rows by their cost: classes of like cost in a batch, a scheduler per source in a stream.

An engine that only evaluates expressions cannot add up what it has sent to a worker, but it can
count. So the rows of a batch are sorted into a few classes by their estimated cost, and each class
is spread round-robin by itself.
"""

from typing import NamedTuple

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.groupings.proactive.scheduler import SchedulerPhase
from unskew.groupings.split_tables import POSITION_MASK, ROW_BITS, ROW_MASK
from unskew.scheduling import one_by_one
from unskew.sketches.cost_sketch import COST, COUNT, mean_cost
from unskew.spark.columns import evaluated_late, free_names, quoted
from unskew.spark.plans.live_file import Sent
from unskew.spark.routing.online import Router, routed_column
from unskew.spark.routing.salting import on_workers
from unskew.spark.session import warn_if_unchecked
from unskew.spark.worker.cost_machine import RowRouter
from unskew.spark.worker.cost_messages import HASH_SHIFT, ControlSource, Matrices, Schedule
from unskew.spark.worker.task import partition_number

MOST_CLASSES = 16
_FINEST = 1.25
_NEGLIGIBLE = 0.01

_ENTRIES_PER_WORKER, _MOST_ENTRIES = 256, 65_536
# How far apart sources, classes and rounds begin, as shares of all turns times 2³²: what stands
# behind the point in the golden ratio, √2 and √3 repeats late, and not together.
_SOURCE_STEP, _CLASS_STEP, _ROUND_STEP = 2_654_435_769, 1_779_033_703, 3_144_134_277


class CostClasses(NamedTuple):
    """Which class of cost the rows of a key belong to, class 0 being the most expensive."""

    codes: NDArray[np.int32]
    """For every cell of the matrices: the smallest of a key's cells tells its class, modulo
    `MOST_CLASSES`."""
    tops: NDArray[np.float64]
    """The largest cost in each class, falling."""
    ratio: float
    """No cost of a class is less than its top divided by this, but in the last class."""

    @property
    def size(self) -> int:
        """How many classes there are."""
        return self.tops.size


def cost_classes(cells: NDArray[np.float64], most: int = MOST_CLASSES) -> CostClasses:
    """Return at most ``most`` classes of the costs that are estimated by ``cells``.

    The estimate of a key is that of `estimate_cost`: the mean of the cell with the fewest rows, the
    first one of several; the mean of all rows where that cell is empty. Costs below a hundredth of
    the mean make up one class: all such rows together are no more than a hundredth of the work.

    Parameters
    ----------
    cells
        Counts and costs, by row and column of the matrices.
    most
        How many classes there may be, up to `MOST_CLASSES`; the spread within a class is as small
        as that allows.

    Examples
    --------
    One row of 25 ms and two of 1 ms, in a matrix of one row and four columns; the mean is 9 ms:

    >>> cells = np.array([[[1, 0.025], [0, 0], [1, 0.001], [1, 0.001]]])
    >>> found = cost_classes(cells)
    >>> found.tops.round(3).tolist()
    [0.025, 0.009, 0.001]
    >>> (found.codes % MOST_CLASSES).tolist()
    [[0, 1, 2, 2]]
    """
    mean = mean_cost(cells)
    if mean <= 0.0:
        return CostClasses(np.zeros(cells.shape[:2], np.int32), np.zeros(1), 1.0)
    counts = cells[..., COUNT]
    means = np.divide(cells[..., COST], counts, out=np.full(counts.shape, mean), where=counts > 0)
    costs = np.maximum(means, _NEGLIGIBLE * mean)
    ratio = _FINEST
    while (tops := _tops(np.unique(costs), ratio, most + 1)).size > most:
        ratio **= 1.25
    # Tops fall: how many of them are no less than a cost, less one, is its class.
    classes = np.searchsorted(-tops, -costs, side="right") - 1
    ranks = np.unique(counts, return_inverse=True)[1].reshape(counts.shape)
    rows = np.arange(counts.shape[0])[:, np.newaxis]
    codes = (ranks * counts.shape[0] + rows) * MOST_CLASSES + classes
    return CostClasses(codes.astype(np.int32), tops, ratio)


def _tops(costs: NDArray[np.float64], ratio: float, most: int) -> NDArray[np.float64]:
    """Return the first ``most`` tops of classes, the largest of the rising ``costs`` first."""
    tops: list[float] = []
    end = costs.size
    while end and len(tops) < most:
        tops.append(float(costs[end - 1]))
        end = int(np.searchsorted(costs, tops[-1] / ratio))
    return np.array(tops)


def place_by_cost(df: DataFrame, matrices: Matrices, schedule: Schedule) -> DataFrame:
    """Return the rows of a batch, each class of cost spread round-robin over the workers.

    Each map task places its own rows. Of each class of cost (`cost_classes`) it gives every worker
    as many rows, but for one; where workers are of unequal speed, as many as their speeds allow.
    Any two workers' estimated work differs by at most the tops of all classes, once per source, and
    by what costs differ within a class. Rows keep their order. All of it is one expression.

    Parameters
    ----------
    df
        A batch, whose last column is the identity of what the cost of a row depends on.
    matrices, schedule
        The matrices, and what is known of costs and speeds; rows go round-robin, all as one
        class, while the schedule is in ``ROUND_ROBIN``.
    """
    warn_if_unchecked(df.sparkSession)
    identity, (name, number, worker) = quoted(df.columns[-1]), free_names(df, 3)
    is_known = schedule.standing.phase != SchedulerPhase.ROUND_ROBIN
    classes = cost_classes(schedule.pooled if is_known else np.zeros(matrices.shape))
    turns = turns_of(schedule.speeds)
    start = _start(number, name, schedule.round_number, turns.size)
    turn = f"cast(pmod(({number} & {ROW_MASK}L) + {start}, {turns.size}) as int)"
    is_even = np.array_equal(turns, np.arange(turns.size))
    # As text: Spark reads all of it at once, and every call from Python would take its time.
    placed = (
        evaluated_late(df)
        .withColumn(name, sf.expr(class_text(identity, matrices, classes)))
        .withColumn(number, sf.expr(_number_text(name, classes.size)))
        .withColumn(worker, sf.expr(turn if is_even else _lookup(turns, turn)))
        .drop(name, number)
    )
    return on_workers(placed, schedule.speeds.size, sf.col(worker)).drop(worker)


def class_text(identity: str, matrices: Matrices, classes: CostClasses) -> str:
    """Return the class of cost (int) of each row, as an expression in SQL.

    Parameters
    ----------
    identity
        The name of a column of what `columns.identity` returns.
    matrices, classes
        The matrices, and the classes of the costs in them.

    Examples
    --------
    >>> from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
    >>> from unskew.spark.worker.cost_messages import matrices_of
    >>> nothing_known = cost_classes(np.zeros((4, 54, 2)))
    >>> class_text("identity", matrices_of(ProactiveShuffle(8)), nothing_known)
    '0'
    """
    if classes.size == 1:
        return "0"
    low, high = f"({identity} & {POSITION_MASK}L)", f"shiftrightunsigned({identity}, 32)"
    found = []
    for (first, second, added), codes in zip(
        (matrices.parameters >> HASH_SHIFT).tolist(), classes.codes, strict=True
    ):
        bits = f"(({low} * {first}L + {high} * {second}L + {added}L) & {POSITION_MASK}L)"
        column = f"cast(shiftrightunsigned({bits} * {matrices.columns}L, 32) as int)"
        found.append(_lookup(codes, column))
    fewest = f"least({', '.join(found)})" if len(found) > 1 else found[0]
    return f"{fewest} % {MOST_CLASSES}"


def turns_of(speeds: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the workers in the order in which they get rows of a class, again and again.

    Parameters
    ----------
    speeds
        How long each worker takes for what takes the mean worker 1.

    Examples
    --------
    The second takes twice as long:

    >>> turns_of(np.array([1.0, 1.0])).tolist()
    [0, 1]
    >>> turns = turns_of(np.array([1.0, 2.0]))
    >>> turns[:6].tolist(), np.bincount(turns).tolist()
    ([0, 1, 0, 0, 1, 0], [341, 171])
    """
    workers = speeds.size
    if np.all(speeds == speeds[0]):
        return np.arange(workers, dtype=np.int32)
    size = workers * max(min(_ENTRIES_PER_WORKER, _MOST_ENTRIES // workers), 1)
    return one_by_one(np.ones(size), workers, capacity=1.0 / speeds)


def _number_text(name: str, n_classes: int) -> str:
    """Return the number of the row among those of its class and source, and of its source.

    Each mention of Spark's function counts by itself, and only those rows that come to it. There is
    one for every class that there could be: for the same text Spark compiles nothing again.
    """
    count = "monotonically_increasing_id()"
    if n_classes == 1:
        return count
    cases = " ".join(f"WHEN {one} THEN {count}" for one in range(MOST_CLASSES - 1))
    return f"CASE {name} {cases} ELSE {count} END"


def _start(number: str, name: str, round_number: int, n_turns: int) -> str:
    """Return with which turn a class begins: what is left over of each shall meet others."""
    source, first = f"shiftrightunsigned({number}, {ROW_BITS})", round_number * _ROUND_STEP
    place = f"{source} * {_SOURCE_STEP}L + {name} * {_CLASS_STEP}L + {first & POSITION_MASK}L"
    return f"shiftrightunsigned((({place}) & {POSITION_MASK}L) * {n_turns}L, 32)"


def _lookup(values: NDArray[np.integer], at: str) -> str:
    """Return what stands at a place, see `expression._element`."""
    return f"get(cast(split('{','.join(map(str, values.tolist()))}', ',') as array<int>), {at})"


def scheduled_worker(
    identity: Column,
    workers: int,
    matrices: Matrices,
    source: ControlSource,
    sent: Sent | None = None,
) -> Column:
    """Return the worker (int) of each row; a task schedules its own rows alone.

    Parameters
    ----------
    identity
        Of the columns that the cost depends on; a column of its own, as for `routed_column`.
    workers, matrices
        As for `costs.scheduler.CostControl`.
    source
        Where a task finds the schedule when it begins; rows go round-robin where there is none.
    sent
        That, where it travels with the rows.
    """

    def start() -> Router:
        control = source.read()
        schedule = None if control is None else control.schedule
        return RowRouter(workers, matrices, schedule, source=partition_number()).route

    return routed_column(identity, start, sent=sent)


def place_by_schedule(
    df: DataFrame,
    workers: int,
    matrices: Matrices,
    source: ControlSource,
    sent: Sent | None = None,
) -> DataFrame:
    """Return ``df``, whose last column is the identity, with each row where the schedule says."""
    name = free_names(df, 1)[0]
    warn_if_unchecked(df.sparkSession)
    worker = scheduled_worker(sf.col(df.columns[-1]), workers, matrices, source, sent)
    return on_workers(df.withColumn(name, worker), workers, sf.col(name)).drop(name)
