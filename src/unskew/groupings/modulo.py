"""Modulo grouping: the key itself, as a number, modulo the workers."""

from typing import ClassVar

import numpy as np

from unskew._compiled import compiled
from unskew.groupings.base import Grouping, Weights, Workers
from unskew.hashing import Ids


class Modulo(Grouping):
    """Send an integer key to the worker ``key mod workers``, without hashing.

    Text is hashed to an integer first. Keys with a common divisor pile up; else it is plain
    key grouping.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Has no effect.

    Examples
    --------
    >>> Modulo(4).route_many([4, 8, 13]).tolist()
    [0, 0, 1]
    """

    name: ClassVar[str] = "modulo"
    paper: ClassVar[str] = "baseline (Rivetti et al. 2015)"
    splits_keys: bool = False
    drawback: ClassVar[str] = "hashes nothing: keys with a common divisor pile up"

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        _modulo(ids, np.uint64(self.workers), out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return (int(key_id % np.uint64(self.workers)),)


@compiled
def _modulo(ids: Ids, workers: np.uint64, out: Workers) -> None:
    for i in range(ids.size):
        out[i] = np.int32(ids[i] % workers)
