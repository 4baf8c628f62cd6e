"""Deal each class of cost to the workers in turn, without Python where the rows are."""

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew.groupings._cost_scheduler import SchedulerPhase
from unskew.groupings.dealing import POSITION_MASK, ROW_BITS, ROW_MASK
from unskew.scheduling import one_by_one
from unskew.spark.cost_classes import MOST_CLASSES, CostClasses, cost_classes
from unskew.spark.cost_messages import HASH_SHIFT, Matrices, Schedule
from unskew.spark.keys import quoted
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.placement import free_names, late

_ENTRIES_A_WORKER, _MOST_ENTRIES = 256, 65_536
# How far apart sources, classes and rounds begin, as shares of all turns times 2³²: what stands
# behind the point in the golden ratio, √2 and √3 repeats late, and not together.
_SOURCE_STEP, _CLASS_STEP, _ROUND_STEP = 2_654_435_769, 1_779_033_703, 3_144_134_277


def deal_by_cost(df: DataFrame, matrices: Matrices, schedule: Schedule) -> DataFrame:
    """Return the rows of a batch, each class of cost dealt to the workers in turn.

    Each map task deals its own rows. Of each class of cost (`cost_classes`) it gives every worker
    as many rows, but for one; where workers are of unequal speed, as many as their speeds allow.
    Any two workers' estimated work differs by at most the tops of all classes, once a source, and
    by what costs differ within a class. Rows keep their order. All of it is one expression.

    Parameters
    ----------
    df
        A batch, whose last column is the identity of what the cost of a row depends on.
    matrices, schedule
        The matrices, and what is known of costs and speeds; rows are dealt in turn, all as one
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
        late(df)
        .withColumn(name, sf.expr(class_text(identity, matrices, classes)))
        .withColumn(number, sf.expr(_number_text(name, classes.size)))
        .withColumn(worker, sf.expr(turn if is_even else _lookup(turns, turn)))
        .drop(name, number)
    )
    return placed.repartitionById(schedule.speeds.size, sf.col(worker)).drop(worker)


def class_text(identity: str, matrices: Matrices, classes: CostClasses) -> str:
    """Return the class of cost (int) of each row, as an expression in SQL.

    Parameters
    ----------
    identity
        The name of a column of what `keys.identity` returns.
    matrices, classes
        The matrices, and the classes of the costs in them.

    Examples
    --------
    >>> from unskew.groupings.proactive_shuffle import ProactiveShuffle
    >>> from unskew.spark.cost_messages import matrices_of
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
    size = workers * max(min(_ENTRIES_A_WORKER, _MOST_ENTRIES // workers), 1)
    return one_by_one(np.ones(size), workers, capacity=1.0 / speeds)


def _number_text(name: str, n_classes: int) -> str:
    """Return the number of the row among those of its class and source, and of its source.

    Each mention of Spark's function counts by itself, and only those rows that come to it. There is
    one for every class that there could be: for the same text Spark compiles nothing anew.
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
    """Return what stands at a place, see `compiled_routing.element`."""
    return f"get(cast(split('{','.join(map(str, values.tolist()))}', ',') as array<int>), {at})"
