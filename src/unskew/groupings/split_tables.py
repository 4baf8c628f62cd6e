"""Spread the rows of split keys by a position that any engine can compute.

A source that counts what it sends can send each row to the least loaded of its key's workers. An
engine that only evaluates expressions cannot count. But each row has a position in [0, 1), and a
table per key says which part of [0, 1) belongs to which of its workers. The number of the row,
times the golden ratio, runs over [0, 1) more evenly than chance; a hash of what is in the row does
it by chance. All arithmetic is on whole numbers below 2⁶³.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.groupings.base import Workers
from unskew.groupings.plan import Plan, slots_of
from unskew.hashing import Ids

ROW_BITS = 33
"""A row number is its source's number, times 2³³, plus the number of the row in its source."""
ROW_MASK = (1 << 31) - 1
"""What is used of either part; after as many rows the sequence starts again."""
ROW_STEP = 1_640_531_527
"""2³² times the golden ratio's square, 0.382: the step from a row to the next one."""
SOURCE_STEP = 1_779_033_703
"""2³² times √2's part behind the point, 0.414: how far apart neighbouring sources start."""
POSITION_MASK = (1 << 32) - 1

_MOST_ENTRIES = 65_536
_FEWEST_A_PIECE, _MOST_A_PIECE = 64, 512


class SplitTable(NamedTuple):
    """Which worker comes at which position.

    Hot key i has ``sizes[i]`` entries from ``starts[i]`` on; a key of one piece has one. Keys whose
    entries are the same share them.
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    entries: NDArray[np.int32]


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


def split_table(plan: Plan) -> SplitTable:
    """Return the tables by which the rows of the hot keys of ``plan`` are spread.

    Each piece gets entries in proportion to its planned load: 64 a piece on average at least, so
    that what rounding takes from a piece is at most a 64th of the key's average piece. Equal
    pieces need only one entry each.
    """
    counts = np.diff(plan.pieces.starts)
    n_split = int(counts[counts > 1].sum())
    a_piece = min(max(_MOST_ENTRIES // max(n_split, 1), _FEWEST_A_PIECE), _MOST_A_PIECE)
    starts, sizes = np.empty(counts.size, np.int64), np.empty(counts.size, np.int64)
    places: dict[bytes, int] = {}
    parts: list[NDArray[np.int32]] = []
    length = 0
    for key, (first, count) in enumerate(zip(plan.pieces.starts, counts, strict=False)):
        loads = plan.pieces.loads[first : first + count]
        size = int(count) * (1 if np.all(loads == loads[0]) else a_piece)
        entries = np.repeat(plan.pieces.workers[first : first + count], _shares(loads, size))
        start = places.setdefault(entries.tobytes(), length)
        if start == length:
            parts.append(entries)
            length += size
        starts[key], sizes[key] = start, size
    return SplitTable(starts, sizes, np.concatenate(parts) if parts else np.empty(0, np.int32))


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


def _shares(loads: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Cut ``size`` entries in proportion to ``loads``, by the largest remainder."""
    total = float(loads.sum())
    wanted = loads * (size / total) if total > 0 else np.full(loads.size, size / loads.size)
    whole = np.floor(wanted).astype(np.int64)
    order = np.argsort(whole - wanted, kind="stable")
    whole[order[: size - int(whole.sum())]] += 1
    return whole
