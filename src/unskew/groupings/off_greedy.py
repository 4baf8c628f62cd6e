"""Offline greedy: the best whole-key placement that knows the stream beforehand."""

from typing import ClassVar

import numpy as np

from unskew._compiled import compiled
from unskew._table import ABSENT, Table, get, new_table, put
from unskew.groupings.base import OfflineGrouping, Weights, Workers
from unskew.hashing import Ids, derive_seeds, mix, to_range
from unskew.scheduling import longest_first


class OffGreedy(OfflineGrouping):
    """Place whole keys, most frequent first, on the least loaded worker.

    It is given the counts of the *whole* stream (`fit`) before the first row. Keys that it was
    not given are hashed. Memory grows with the number of keys.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Picks the hash function for keys that are not known.

    Examples
    --------
    >>> grouping = OffGreedy(2).fit(["a", "b", "c"], [5, 4, 2])
    >>> grouping.route_many(["a", "b", "c"]).tolist()
    [0, 1, 1]
    """

    name: ClassVar[str] = "off-greedy"
    paper: ClassVar[str] = "baseline (Nasir et al. 2015)"
    splits_keys: bool = False
    memory_grows: ClassVar[bool] = True

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self._hash_seed = derive_seeds(seed, 1, purpose="off-greedy")[0]
        self._placed: Table = new_table(0)

    def _fit(self, ids: Ids, loads: Weights) -> None:
        self._placed = new_table(ids.size)
        _put_all(self._placed, ids, longest_first(loads, self.workers))

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        _look_up(ids, self._placed, self._hash_seed, np.uint64(self.workers), out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return (int(self.route_many(np.array([key_id]))[0]),)


@compiled
def _put_all(placed: Table, ids: Ids, workers: Workers) -> None:
    for i in range(ids.size):
        put(placed, ids[i], np.int64(workers[i]))


@compiled
def _look_up(ids: Ids, placed: Table, seed: np.uint64, size: np.uint64, out: Workers) -> None:
    for i in range(ids.size):
        worker = get(placed, ids[i])
        out[i] = to_range(mix(ids[i], seed), size) if worker == ABSENT else worker
