"""Single instance allocation: everything on one worker, the worst balance there is."""

from typing import ClassVar

import numpy as np

from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.hashing import Ids


class Single(Grouping):
    """Send every row to worker 0 (SIA): the bound that no scheme can be worse than.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Has no effect.

    Examples
    --------
    >>> Single(3).route_many(["a", "b"]).tolist()
    [0, 0]
    """

    name: ClassVar[str] = "single"
    paper: ClassVar[str] = "baseline (SIA, Rivetti et al. 2015)"
    splits_keys: bool = False
    drawback: ClassVar[str] = "uses one worker"
    spark: ClassVar[SparkMode | None] = "plan"

    def fixed_plan(self) -> Plan:
        """Return the plan with one slot, on worker 0."""
        return hashing_plan(self.workers, HASHED_MEMBER, 1)

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        out[:] = 0

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return (0,)
