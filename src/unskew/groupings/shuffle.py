"""Shuffle grouping: round-robin, whatever the key."""

from typing import ClassVar, Self

import numpy as np

from unskew._compiled import compiled
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.hashing import Ids


class Shuffle(Grouping):
    """Send row after row to worker after worker (round-robin).

    Row counts differ by at most one, but every worker may come to hold every key.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        The worker of the first row, modulo workers.

    Examples
    --------
    >>> Shuffle(3).route_many(["a", "a", "b", "a"]).tolist()
    [0, 1, 2, 0]
    """

    name: ClassVar[str] = "shuffle"
    paper: ClassVar[str] = "baseline"
    splits_keys: bool = True
    groups_keys: ClassVar[bool] = False
    spark: ClassVar[SparkMode | None] = "round-robin"

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self._next = self.seed % self.workers

    def for_source(self, source: int, n_sources: int) -> Self:
        """Start each source at another worker, so that they do not march in step."""
        own = super().for_source(source, n_sources)
        own._next = (self._next + source * self.workers // n_sources) % self.workers
        return own

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        self._next = _round_robin(self._next, self.workers, out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return tuple(range(self.workers))


@compiled
def _round_robin(first: int, workers: int, out: Workers) -> int:
    worker = first
    for i in range(out.size):
        out[i] = worker
        worker += 1
        if worker == workers:
            worker = 0
    return worker
