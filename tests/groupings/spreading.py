"""What Spark's expression for the rows of split keys has to compute, written with NumPy."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.groupings.base import Workers
from unskew.groupings.plan import Plan, slots_of
from unskew.groupings.split_tables import (
    POSITION_MASK,
    ROW_BITS,
    ROW_MASK,
    ROW_STEP,
    SOURCE_STEP,
    split_table,
)
from unskew.hashing import Ids


def positions_of(row_numbers: ArrayLike) -> NDArray[np.int64]:
    """Return where, in [0, 2³²), each row falls that is placed by its number.

    Parameters
    ----------
    row_numbers
        The number of each row in its source, plus 2³³ times the number of the source.

    Examples
    --------
    Any run of rows of a source, also every n-th row alone, is spread evenly:

    >>> quarters = positions_of(np.arange(0, 4000, 4)) >> 30
    >>> bool(abs(np.bincount(quarters) - 250).max() <= 3)
    True
    """
    numbers = np.asarray(row_numbers, np.int64)
    rows = numbers & ROW_MASK
    sources = (numbers >> ROW_BITS) & ROW_MASK
    positions: NDArray[np.int64] = (rows * ROW_STEP + sources * SOURCE_STEP) & POSITION_MASK
    return positions


def spread_planned(ids: Ids, positions: NDArray[np.int64], plan: Plan) -> Workers:
    """Return the worker of every row when the rows of split keys are spread by position.

    Parameters
    ----------
    ids
        The identity of each row's key.
    positions
        Where, in [0, 2³²), each row falls: `positions_of`, or the lower half of any good hash.
    plan
        Where the keys go.

    Examples
    --------
    A key of half of all rows is cut over workers as the plan says:

    >>> from unskew.groupings.wrap import Wrap
    >>> ids = np.array([7, 1, 7, 2, 7, 3, 7, 4] * 100, np.uint64)
    >>> plan = Wrap(4, seed=1).learn(ids).build().plan
    >>> loads = np.bincount(spread_planned(ids, positions_of(np.arange(ids.size)), plan))
    >>> int(loads.sum()), bool(abs(loads - plan.predicted_loads).max() <= 4)
    (800, True)
    """
    out: Workers = plan.slot_workers[slots_of(ids, plan.slot_member, plan.slot_workers.size)]
    if plan.hot_ids.size == 0:
        return out
    order = np.argsort(plan.hot_ids)
    sorted_ids = plan.hot_ids[order]
    at = np.minimum(np.searchsorted(sorted_ids, ids), sorted_ids.size - 1)
    rows = np.flatnonzero(sorted_ids[at] == ids)
    hot = order[at[rows]]
    table = split_table(plan)
    steps = (positions[rows] * table.sizes[hot]) >> 32
    out[rows] = table.entries[table.starts[hot] + steps]
    return out
