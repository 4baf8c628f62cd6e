"""Spread the rows of a split key by what is in them: nothing is counted or carried along.

A row number has to be made before the shuffle and carried through it. A hash of other columns of
the row is an expression like any other, and gives the same worker each time it is evaluated. But
rows of equal content go together, so the columns must tell the rows of a key apart.
"""

from collections.abc import Sequence

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from unskew.groupings.plan import Plan
from unskew.groupings.split_tables import POSITION_MASK
from unskew.hashing import Ids
from unskew.spark.columns import quoted

MOST_DEVIATION = 0.01
"""How far, as a standard deviation, spreading by content may put a worker's load off its plan.

A plan learned from a sample is off by as much.
"""

_MOST_COLUMNS = 3
# Narrow types that often differ from row to row come first.
_LIKELY: tuple[type[DataType], ...] = (
    TimestampType,
    TimestampNTZType,
    DoubleType,
    LongType,
    DecimalType,
    FloatType,
    IntegerType,
    DateType,
    StringType,
)


def likely_columns(df: DataFrame, by: Sequence[str]) -> list[str]:
    """Return at most three columns beside the key that may tell the rows of a key apart."""
    names = [name.lower() for name in df.columns]
    likely = [
        field
        for field in df.schema.fields
        if field.name not in by
        and names.count(field.name.lower()) == 1
        and _is_likely(field.dataType)
    ]
    likely.sort(key=lambda field: _LIKELY.index(type(field.dataType)))
    return [field.name for field in likely[:_MOST_COLUMNS]]


def content_hash(identity: Column, columns: Sequence[str]) -> Column:
    """Return a hash (bigint) of the key and of ``columns``."""
    return sf.xxhash64(identity, *(sf.col(quoted(name)) for name in columns))


def content_position(identity: Column, columns: Sequence[str]) -> Column:
    """Return where, in [0, 2³²), each row falls (bigint): the lower half of `content_hash`."""
    return content_hash(identity, columns).bitwiseAND(sf.lit(POSITION_MASK))


def content_deviation(ids: Ids, contents: Ids, plan: Plan, *, rows: int) -> float:
    """Return how far spreading by content puts a worker's load off its plan, as a share of it.

    Where m rows of a split key have one content, a worker with a share s of the key gets all of
    them or none: a variance of m² s(1 − s). The standard deviation of all its split keys together
    is taken for the worker with most of it, over the average load of a worker.

    Parameters
    ----------
    ids, contents
        Key and content (`content_hash`) of each row of a sample.
    plan
        Says which keys are split, and how.
    rows
        How many rows there are in all; the more, the less chance alone matters.

    Examples
    --------
    A key with all 40,000 rows is cut in two halves. If each row has its own content, a worker gets
    20,000 ± 100 rows, and √10 times as far off if ten rows at a time are alike:

    >>> from unskew.groupings.plan import shuffling_plan
    >>> ids = np.full(40_000, 7, np.uint64)
    >>> plan = shuffling_plan(2, ids[:1])
    >>> row = np.arange(40_000, dtype=np.uint64)
    >>> content_deviation(ids, row, plan, rows=40_000)
    0.005
    >>> round(content_deviation(ids, row // 10, plan, rows=40_000), 4)
    0.0158
    """
    counts = np.diff(plan.pieces.starts)
    order = np.argsort(plan.hot_ids)
    _, first, times = np.unique(contents, return_index=True, return_counts=True)
    at = np.minimum(np.searchsorted(plan.hot_ids[order], ids[first]), order.size - 1)
    is_hot = plan.hot_ids[order[at]] == ids[first]
    # Rows of the sample that are alike stand for as large a part of all rows; a single one does
    # not, it is one of `rows`.
    squares = times * (times - 1.0) + times * (ids.size / rows)
    together = np.zeros(plan.hot_ids.size)
    np.add.at(together, order[at[is_hot]], squares[is_hot])
    totals = np.add.reduceat(plan.pieces.loads, plan.pieces.starts[:-1])
    shares = plan.pieces.loads / np.repeat(np.maximum(totals, np.finfo(float).tiny), counts)
    variances = np.zeros(plan.workers)
    np.add.at(variances, plan.pieces.workers, np.repeat(together, counts) * shares * (1 - shares))
    return float(np.sqrt(variances.max()) * plan.workers / ids.size)


def _is_likely(kind: DataType) -> bool:
    # Text with a collation is hashed by its bytes in some versions and not at all in others.
    return kind == StringType() if isinstance(kind, StringType) else type(kind) in _LIKELY
