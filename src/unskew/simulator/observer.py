"""Watch what workers receive: loads, imbalance over time, which keys they come to hold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew import metrics
from unskew._compiled import compiled
from unskew._table import ABSENT, Table, get, new_table, put, with_room_for
from unskew.groupings.base import NO_WEIGHTS, LoadVector, Weights, Workers
from unskew.hashing import Ids

_MOST_POINTS = 1024  # of the series I(t); beyond, every other point is dropped


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


class Observer:
    """Follow the rows of one run in memory that grows with the keys, never with the rows.

    Parameters
    ----------
    workers
        Number of workers.
    n_keys
        Number of keys if they are known to be 0 … n_keys − 1, which is faster; None otherwise.

    Examples
    --------
    >>> observer = Observer(2)
    >>> observer.observe(np.array([7, 7, 8], np.uint64), np.array([0, 1, 0], np.int32))
    >>> observer.loads.tolist(), observer.distinct_keys, observer.memory
    ([2, 1], 2, 3)
    """

    def __init__(self, workers: int, *, n_keys: int | None = None) -> None:
        self.rows = 0
        self.distinct_keys = 0
        self.memory = 0
        self.series: list[tuple[int, float]] = []
        self._loads = LoadVector(workers)
        self._sum_of_imbalance = 0.0
        self._index = KeyIndex() if n_keys is None else None
        # A row per key: how often it came, then one bit per worker.
        self._records: Ids = np.zeros((n_keys or 0, 1 + -(-workers // 64)), np.uint64)
        self._thinned_to = 1
        self._batches = 0

    def observe(self, ids: Ids, workers: Workers, weights: Weights = NO_WEIGHTS) -> None:
        """Take note of rows and the workers they went to."""
        places = self._places_of(ids)
        loads = self._loads.for_weights(weights)
        imbalance, keys, pairs = _track(places, workers, weights, self._records, loads)
        self.rows += ids.size
        self._sum_of_imbalance += imbalance
        self.distinct_keys += keys
        self.memory += pairs
        self._add_point()

    @property
    def loads(self) -> NDArray[Any]:
        """What each worker has received."""
        return self._loads.values

    @property
    def top_share(self) -> float:
        """The share p1 of the most frequent key."""
        most = int(self._records[:, 0].max(initial=0))
        return most / self.rows if self.rows else 0.0

    @property
    def average_imbalance_fraction(self) -> float:
        """The mean of I(t) over all rows, as a fraction of the total load."""
        total = float(self.loads.sum())
        return self._sum_of_imbalance / self.rows / total if total > 0 else 0.0

    def _places_of(self, ids: Ids) -> NDArray[np.int64]:
        if self._index is None:
            return ids.view(np.int64)
        places = self._index.places_of(ids)
        if self._index.size > self._records.shape[0]:
            rows = max(self._index.size, 2 * self._records.shape[0])
            larger = np.zeros((rows, self._records.shape[1]), np.uint64)
            larger[: self._records.shape[0]] = self._records
            self._records = larger
        return places

    def _add_point(self) -> None:
        self._batches += 1
        if self._batches % self._thinned_to == 0:
            self.series.append((self.rows, metrics.imbalance(self.loads)))
        if len(self.series) > _MOST_POINTS:
            self.series = self.series[1::2]
            self._thinned_to *= 2


@compiled
def _track(
    places: NDArray[np.int64],
    workers: Workers,
    weights: Weights,
    records: Ids,
    loads: NDArray[Any],
) -> tuple[float, int, int]:
    sum_of_imbalance, new_keys, new_pairs = 0.0, 0, 0
    highest, total = loads.max(), float(loads.sum())
    share = 1.0 / loads.size
    one, bit = loads.dtype.type(1), np.uint64(1)
    for i in range(places.size):
        worker, place = np.int64(workers[i]), places[i]
        load = loads[worker] + (weights[i] if weights.size else one)
        loads[worker] = load
        highest = max(highest, load)
        total += weights[i] if weights.size else 1.0
        sum_of_imbalance += highest - total * share
        new_keys += records[place, 0] == 0
        records[place, 0] += bit
        word, flag = 1 + (worker >> 6), bit << np.uint64(worker & 63)
        new_pairs += (records[place, word] & flag) == 0
        records[place, word] |= flag
    return sum_of_imbalance, new_keys, new_pairs
