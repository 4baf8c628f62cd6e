"""Key grouping: one hash, one worker a key; what Spark and Storm do by themselves."""

from typing import ClassVar

import numpy as np

from unskew._compiled import compiled
from unskew.groupings.base import Grouping, Weights, Workers
from unskew.hashing import Ids, derive_seeds, mix


class KeyGrouping(Grouping):
    """Send all rows of a key to the worker ``hash(key) mod n_workers``.

    No merge is needed and nothing is remembered, but the worker of a hot key gets all of its rows.

    Parameters
    ----------
    n_workers
        Number of downstream workers, at least 1.
    seed
        Picks the hash function; equal seeds give equal answers in every process.

    Examples
    --------
    However often a key comes, it goes to one worker:

    >>> len(set(KeyGrouping(8).route_many(["hot"] * 100).tolist()))
    1
    """

    name: ClassVar[str] = "key"
    paper: ClassVar[str] = "baseline"
    splits_keys: ClassVar[bool] = False

    def __init__(self, n_workers: int, *, seed: int = 0) -> None:
        super().__init__(n_workers, seed=seed)
        self._hash_seed = derive_seeds(seed, 1, purpose="key")[0]

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:  # noqa: ARG002
        _hash_modulo(ids, self._hash_seed, np.uint64(self.n_workers), out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return (int(self.route_many(np.array([key_id]))[0]),)


@compiled
def _hash_modulo(ids: Ids, seed: np.uint64, n_workers: np.uint64, out: Workers) -> None:
    for i in range(ids.size):
        out[i] = np.int32(mix(ids[i], seed) % n_workers)
