"""Key grouping with a hash function drawn from a 2-universal family."""

from typing import ClassVar

import numpy as np

from unskew._compiled import compiled
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.hashing import Ids, derive_seeds, universal


class Universal(Grouping):
    """Send all rows of a key to one worker, drawn by a 2-universal hash function.

    For any two keys the chance (over seeds) to share a worker is at most 1/workers.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Picks the member of the family.

    Examples
    --------
    Two keys meet on one of four workers about every fourth time:

    >>> meetings = [Universal(4, seed=s).route(7) == Universal(4, seed=s).route(8)
    ...             for s in range(400)]
    >>> 60 <= sum(meetings) <= 140
    True
    """

    name: ClassVar[str] = "universal"
    paper: ClassVar[str] = "baseline (Rivetti et al. 2015)"
    splits_keys: bool = False
    drawback: ClassVar[str] = "hashes like key, with other luck"
    spark: ClassVar[SparkMode | None] = "plan"

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self._member = derive_seeds(seed, 3, purpose="universal")

    def fixed_plan(self) -> Plan:
        """Return the plan of plain hashing, by Spark's own hash."""
        return hashing_plan(self.workers, HASHED_MEMBER, self.workers)

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        _universal_many(ids, self._member, np.uint64(self.workers), out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return (int(self.route_many(np.array([key_id]))[0]),)


@compiled
def _universal_many(ids: Ids, member: Ids, workers: np.uint64, out: Workers) -> None:
    for i in range(ids.size):
        out[i] = universal(ids[i], member, workers)
