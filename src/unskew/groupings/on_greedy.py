"""Online greedy: a new key goes to the least loaded worker and stays there."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._table import ABSENT, Table, get, put
from unskew.groupings.base import Weights, Workers
from unskew.groupings.remembering import RememberingGrouping
from unskew.hashing import Ids


class OnGreedy(RememberingGrouping):
    """Send a new key to the least loaded of all workers and remember it.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Has no effect.

    Examples
    --------
    >>> OnGreedy(2).route_many(["a", "a", "b", "c", "a"]).tolist()
    [0, 0, 1, 1, 0]
    """

    name: ClassVar[str] = "on-greedy"
    paper: ClassVar[str] = "baseline (Nasir et al. 2015)"

    def _remember(self, ids: Ids, weights: Weights, out: Workers) -> int:
        loads = self._loads.for_weights(weights)
        return _choose_least(ids, weights, self._chosen, loads, out)

    def _choices(self, key_id: np.uint64) -> tuple[int, ...]:
        return tuple(range(self.workers))


@compiled
def _choose_least(
    ids: Ids, weights: Weights, chosen: Table, loads: NDArray[Any], out: Workers
) -> int:
    new_keys = 0
    one = loads.dtype.type(1)
    for i in range(ids.size):
        worker = get(chosen, ids[i])
        if worker == ABSENT:
            worker = np.int64(np.argmin(loads))
            put(chosen, ids[i], worker)
            new_keys += 1
        loads[worker] += weights[i] if weights.size else one
        out[i] = worker
    return new_keys
