"""Full knowledge: proactive shuffle's ideal, given the true cost of every row beforehand."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import compiled
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping, Weights, Workers
from unskew.hashing import Ids


class FullKnowledge(Grouping):
    """Send each row to the worker with the least true cost so far (online greedy, an oracle) [1].

    The busiest worker gets at most (2 − 1/W) times what any assignment could reach. No running
    system knows a row's cost beforehand: this shows how good proactive shuffle could become.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    speeds
        Factor on the execution time of each worker: 1.1 is ten percent slower; all 1 by default.
    seed
        The worker that wins a tie of all, modulo workers.

    Examples
    --------
    One slow row weighs as much as three fast ones:

    >>> FullKnowledge(2).route_many(["a", "b", "b", "b", "b"], weights=[3, 1, 1, 1, 1]).tolist()
    [0, 1, 1, 1, 0]

    References
    ----------
    [1] Rivetti et al., "Proactive Online Scheduling for Shuffle Grouping", 2016.
    """

    name: ClassVar[str] = "full-knowledge"
    paper: ClassVar[str] = "Rivetti et al. 2016 (oracle)"
    splits_keys: bool = True
    shares_state: bool = True
    needs_costs: ClassVar[bool] = True
    groups_keys: ClassVar[bool] = False
    drawback: ClassVar[str] = "knows all costs beforehand"

    def __init__(
        self, workers: int, *, speeds: Sequence[float] | None = None, seed: int = 0
    ) -> None:
        super().__init__(workers, seed=seed)
        self.speeds = speeds
        self._factors = self._check_speeds(speeds)
        self._loads = np.zeros(self.workers)

    def change_speeds(self, speeds: ArrayLike | None) -> None:
        """Know from now on that the workers have other speeds."""
        self._factors = self._check_speeds(speeds)

    def _check_speeds(self, speeds: ArrayLike | None) -> NDArray[np.float64]:
        if speeds is None:
            return np.ones(self.workers)
        try:
            factors = np.array(speeds, dtype=np.float64)
        except (TypeError, ValueError):
            factors = np.empty(0)
        if factors.shape != (self.workers,) or not np.all(np.isfinite(factors) & (factors > 0)):
            expected = f"{self.workers} numbers > 0"
            raise InvalidParameterError(type(self).__name__, "speeds", expected, speeds)
        return factors

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        _assign_greedily(self._loads, self._factors, self.seed % self.workers, weights, out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return tuple(range(self.workers))


@compiled
def _assign_greedily(
    loads: NDArray[np.float64],
    factors: NDArray[np.float64],
    first: int,
    weights: Weights,
    out: Workers,
) -> None:
    for i in range(out.size):
        worker, least = first, loads[first]
        for other in range(loads.size):
            if loads[other] < least:
                worker, least = other, loads[other]
        loads[worker] += (weights[i] if weights.size else 1.0) * factors[worker]
        out[i] = worker
