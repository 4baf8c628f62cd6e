"""Deal each class of cost to the workers in turn, without Python where the rows are."""

from typing import Any

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.groupings._cost_scheduler import SchedulerPhase
from unskew.groupings.dealing import POSITION_MASK, ROW_STEP, SOURCE_STEP
from unskew.scheduling import one_by_one
from unskew.spark.compiled_routing import element, row_of, source_of
from unskew.spark.cost_classes import CostClasses, cost_classes
from unskew.spark.cost_messages import HASH_SHIFT, Matrices, Schedule
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.placement import free_names, late

_ENTRIES_A_WORKER, _MOST_ENTRIES = 256, 65_536
_ROUND_STEP = 2_654_435_769  # 2³² times the golden ratio's part behind the point


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
    name, number, worker = free_names(df, 3)
    is_known = schedule.standing.phase != SchedulerPhase.ROUND_ROBIN
    classes = cost_classes(schedule.pooled if is_known else np.zeros(matrices.shape))
    turns = turns_of(schedule.speeds)
    numbered = (
        late(df)
        .withColumn(name, class_column(sf.col(df.columns[-1]), matrices, classes))
        .withColumn(number, _number_in_class(sf.col(name), classes.size))
    )
    start = _start(sf.col(number), sf.col(name), schedule.round_number, turns.size)
    turn = sf.pmod(row_of(sf.col(number)) + start, sf.lit(turns.size)).cast("int")
    is_even = np.array_equal(turns, np.arange(turns.size))
    placed = numbered.withColumn(worker, turn if is_even else element(turns, turn))
    kept = placed.drop(name, number)
    return kept.repartitionById(schedule.speeds.size, sf.col(worker)).drop(worker)


def class_column(identity: Column, matrices: Matrices, classes: CostClasses) -> Column:
    """Return the class of cost (int) of each row.

    Parameters
    ----------
    identity
        A column of what `keys.identity` returns.
    matrices, classes
        The matrices, and the classes of the costs in them.
    """
    if classes.size == 1:
        return sf.lit(0)
    low, high = (
        identity.bitwiseAND(sf.lit(POSITION_MASK)),
        sf.shiftrightunsigned(identity, 32),
    )
    found = []
    for (first, second, added), codes in zip(
        (matrices.parameters >> HASH_SHIFT).tolist(), classes.codes, strict=True
    ):
        bits = (low * sf.lit(first) + high * sf.lit(second) + sf.lit(added)).bitwiseAND(
            sf.lit(POSITION_MASK)
        )
        column = sf.shiftrightunsigned(bits * sf.lit(matrices.columns), 32).cast("int")
        found.append(element(codes, column))
    fewest = sf.least(*found) if len(found) > 1 else found[0]
    return sf.pmod(fewest, sf.lit(classes.size))


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


def _number_in_class(name: Column, n_classes: int) -> Column:
    """Return the number of the row among those of its class and source, and of its source.

    Each mention of Spark's function counts by itself, and only those rows that come to it.
    """
    number: Any = sf
    for one in range(n_classes - 1):
        number = number.when(name == one, sf.monotonically_increasing_id())
    if n_classes == 1:
        return sf.monotonically_increasing_id()
    counted: Column = number.otherwise(sf.monotonically_increasing_id())
    return counted


def _start(number: Column, name: Column, round_number: int, n_turns: int) -> Column:
    """Return with which turn a class begins: what is left over of each shall meet others."""
    place = (
        source_of(number) * sf.lit(SOURCE_STEP)
        + name.cast("bigint") * sf.lit(ROW_STEP)
        + sf.lit(round_number * _ROUND_STEP & POSITION_MASK)
    )
    return sf.shiftrightunsigned(place.bitwiseAND(sf.lit(POSITION_MASK)) * sf.lit(n_turns), 32)
