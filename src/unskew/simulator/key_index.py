"""Number the distinct keys of a stream in the order in which they first come."""

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._table import ABSENT, Table, get, new_table, put, with_room_for
from unskew.hashing import Ids


class KeyIndex:
    """Give each distinct identity a place: 0, then 1, then 2.

    Examples
    --------
    >>> index = KeyIndex()
    >>> index.places_of(np.array([9, 4, 9], np.uint64)).tolist(), index.size
    ([0, 1, 0], 2)
    >>> index.ids().tolist()
    [9, 4]
    """

    def __init__(self) -> None:
        self.size = 0
        self._table: Table = new_table(0)

    def places_of(self, ids: Ids) -> NDArray[np.int64]:
        """Return the place of every identity; new ones get the next places."""
        self._table = with_room_for(self._table, self.size + ids.size)
        places, self.size = _index(ids, self._table, self.size)
        return places

    def ids(self) -> Ids:
        """Return the identities by place."""
        taken = self._table.values != ABSENT
        ordered = np.empty(self.size, np.uint64)
        ordered[self._table.values[taken]] = self._table.ids[taken]
        return ordered


@compiled
def _index(ids: Ids, table: Table, size: int) -> tuple[NDArray[np.int64], int]:
    places = np.empty(ids.size, np.int64)
    for i in range(ids.size):
        place = get(table, ids[i])
        if place == ABSENT:
            place = np.int64(size)
            put(table, ids[i], place)
            size += 1
        places[i] = place
    return places, size
