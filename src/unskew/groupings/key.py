"""Key grouping: one hash, one worker per key; what Spark and Storm do by themselves."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from unskew._compiled import compiled
from unskew._validation import check_choice
from unskew.groupings.authors_hashes import authors_workers
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.hashing import Ids, Key, Keys, derive_seeds, identity, mix


class KeyGrouping(Grouping):
    """Send all rows of a key to the worker ``hash(key) mod workers``.

    No merge is needed and nothing is remembered, but the worker of a hot key gets all of its rows.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    hashes
        ``mixed``, or ``simulator``: the hash function of the partial-key authors' simulator.
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
    splits_keys: bool = False
    spark: ClassVar[SparkMode | None] = "plan"
    spark_requires: ClassVar[Mapping[str, Any]] = {"hashes": "mixed"}

    def __init__(self, workers: int, *, hashes: str = "mixed", seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self.hashes = check_choice("KeyGrouping", "hashes", hashes, ("mixed", "simulator"))
        self._hash_seed = derive_seeds(seed, 1, purpose="key")[0]

    @property
    def reads_keys(self) -> bool:
        """The authors' simulator hashes the text of the key."""
        return self.hashes != "mixed"

    def route_many(self, keys: Keys, *, weights: ArrayLike | None = None) -> Workers:
        """Return the worker of every row (see `Grouping.route_many`)."""
        if not self.reads_keys:
            return super().route_many(keys, weights=weights)
        workers = authors_workers(keys, "simulator-key", self.workers)[:, 0].astype(np.int32)
        self._check_weights(weights, workers.size)
        return workers

    def candidates(self, key: Key) -> tuple[int, ...]:
        """Return the one worker of ``key``."""
        return (self.route(key),) if self.reads_keys else self._candidates(identity(key))

    def fixed_plan(self) -> Plan:
        """Return the plan of plain hashing."""
        return hashing_plan(self.workers, HASHED_MEMBER, self.workers)

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        _hash_modulo(ids, self._hash_seed, np.uint64(self.workers), out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return (int(self.route_many(np.array([key_id]))[0]),)


@compiled
def _hash_modulo(ids: Ids, seed: np.uint64, workers: np.uint64, out: Workers) -> None:
    for i in range(ids.size):
        out[i] = np.int32(mix(ids[i], seed) % workers)
