"""Spread the rows of split keys by a position that any engine can compute.

A source that counts what it sends can send each row to the least loaded of its key's workers. An
engine that only evaluates expressions cannot count. But each row has a position in [0, 1), and a
table per key says which part of [0, 1) belongs to which of its workers. The number of the row,
times the golden ratio, runs over [0, 1) more evenly than chance; a hash of what is in the row does
it by chance. All arithmetic is on whole numbers below 2⁶³.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.plan import Plan

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
_FEWEST_PER_PIECE, _MOST_PER_PIECE = 64, 512


class SplitTable(NamedTuple):
    """Which worker comes at which position.

    Hot key i has ``sizes[i]`` entries from ``starts[i]`` on; a key of one piece has one. Keys whose
    entries are the same share them.
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    entries: NDArray[np.int32]


def split_table(plan: Plan) -> SplitTable:
    """Return the tables by which the rows of the hot keys of ``plan`` are spread.

    Each piece gets entries in proportion to its planned load: at least 64 per piece on average, so
    that what rounding takes from a piece is at most a 64th of the key's average piece. Equal
    pieces need only one entry each.
    """
    counts = np.diff(plan.pieces.starts)
    n_split = int(counts[counts > 1].sum())
    per_piece = min(max(_MOST_ENTRIES // max(n_split, 1), _FEWEST_PER_PIECE), _MOST_PER_PIECE)
    starts, sizes = np.empty(counts.size, np.int64), np.empty(counts.size, np.int64)
    places: dict[bytes, int] = {}
    parts: list[NDArray[np.int32]] = []
    length = 0
    for key, (first, count) in enumerate(zip(plan.pieces.starts, counts, strict=False)):
        loads = plan.pieces.loads[first : first + count]
        size = int(count) * (1 if np.all(loads == loads[0]) else per_piece)
        entries = np.repeat(plan.pieces.workers[first : first + count], shares_of(loads, size))
        start = places.setdefault(entries.tobytes(), length)
        if start == length:
            parts.append(entries)
            length += size
        starts[key], sizes[key] = start, size
    return SplitTable(starts, sizes, np.concatenate(parts) if parts else np.empty(0, np.int32))


def shares_of(loads: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Cut ``size`` entries in proportion to ``loads``, by the largest remainder."""
    total = float(loads.sum())
    wanted = loads * (size / total) if total > 0 else np.full(loads.size, size / loads.size)
    whole = np.floor(wanted).astype(np.int64)
    order = np.argsort(whole - wanted, kind="stable")
    whole[order[: size - int(whole.sum())]] += 1
    return whole
