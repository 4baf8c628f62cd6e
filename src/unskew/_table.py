"""A compiled hash table from 64-bit identities to whole numbers, for use inside hot loops.

Open addressing with linear probing in arrays whose size is a power of two. A loop cannot make
the arrays larger while it runs: call `with_room_for` before it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.hashing import Ids, mix

ABSENT = -1
"""What `get` answers for an identity that is not in the table; values are never negative."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Table(NamedTuple):
    """Keys and values of a table; a free place has the value `ABSENT`."""

    ids: Ids
    values: NDArray[np.int64]


def new_table(room: int) -> Table:
    """Return an empty table that takes ``room`` entries while at most half full."""
    size = 1 << max(4, (2 * room - 1).bit_length())
    return Table(np.zeros(size, np.uint64), np.full(size, ABSENT, np.int64))


def with_room_for(table: Table, entries: int) -> Table:
    """Return ``table``, or a larger copy of it if ``entries`` would fill more than half.

    >>> table = new_table(2)
    >>> put(table, np.uint64(7), 1)
    >>> larger = with_room_for(table, 1000)
    >>> get(larger, np.uint64(7)), get(larger, np.uint64(8))
    (1, -1)
    """
    if 2 * entries <= table.ids.size:
        return table
    larger = new_table(entries)
    _copy(table, larger)
    return larger


@inlined
def home(table_ids: Ids, key_id: np.uint64) -> np.int64:
    """Return the place where the search for ``key_id`` starts."""
    return np.int64(mix(key_id, _SPREAD) & np.uint64(table_ids.size - 1))


@inlined
def get(table: Table, key_id: np.uint64) -> np.int64:
    """Return the value of ``key_id``, or `ABSENT`."""
    last = table.ids.size - 1
    place = home(table.ids, key_id)
    while table.values[place] != ABSENT and table.ids[place] != key_id:
        place = (place + 1) & last
    return np.int64(table.values[place])


@compiled
def put(table: Table, key_id: np.uint64, value: np.int64) -> None:
    """Set the value of ``key_id``; the caller has made room before."""
    last = table.ids.size - 1
    place = home(table.ids, key_id)
    while table.values[place] != ABSENT and table.ids[place] != key_id:
        place = (place + 1) & last
    table.ids[place] = key_id
    table.values[place] = value


@compiled
def remove(table: Table, key_id: np.uint64) -> None:
    """Take ``key_id`` out, if it is there, and close the gap that it leaves."""
    last = table.ids.size - 1
    gap = home(table.ids, key_id)
    while table.values[gap] != ABSENT and table.ids[gap] != key_id:
        gap = (gap + 1) & last
    if table.values[gap] == ABSENT:
        return
    place = (gap + 1) & last
    while table.values[place] != ABSENT:
        wanted = home(table.ids, table.ids[place])
        if ((place - wanted) & last) >= ((place - gap) & last):
            table.ids[gap] = table.ids[place]
            table.values[gap] = table.values[place]
            gap = place
        place = (place + 1) & last
    table.values[gap] = ABSENT


@compiled
def _copy(source: Table, target: Table) -> None:
    for place in range(source.ids.size):
        if source.values[place] != ABSENT:
            put(target, source.ids[place], source.values[place])
