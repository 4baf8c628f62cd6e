"""The power of two choices without splitting: a key keeps the worker it first got."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._table import ABSENT, Table, get, put
from unskew.groupings.base import Weights, Workers
from unskew.groupings.candidates import apart, hash_choices
from unskew.groupings.remembering import RememberingGrouping
from unskew.hashing import Ids, derive_seeds, mix, to_range


class TwoChoices(RememberingGrouping):
    """Send a new key to the less loaded of two candidates and remember it (PoTC).

    One worker per key, so no merge; but each key needs an entry that all sources agree on, and a
    hot key still has one worker alone. The two candidates are distinct, as those of `PartialKey`
    are: the paper compares the two schemes, which differ in key splitting alone.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Picks the two hash functions.

    Examples
    --------
    >>> len(set(TwoChoices(8).route_many(["hot"] * 100).tolist()))
    1
    """

    name: ClassVar[str] = "potc"
    paper: ClassVar[str] = "baseline (Nasir et al. 2015; Azar et al. 1999)"

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self._hash_seeds = derive_seeds(seed, 2, purpose="potc")

    def _remember(self, ids: Ids, weights: Weights, out: Workers) -> int:
        loads = self._loads.for_weights(weights)
        return _choose_once(ids, self._hash_seeds, weights, self._chosen, loads, out)

    def _choices(self, key_id: np.uint64) -> tuple[int, ...]:
        both = hash_choices(np.array([key_id]), self._hash_seeds, self.workers, True)
        return tuple(sorted(set(both[0].tolist())))


@compiled
def _choose_once(
    ids: Ids, seeds: Ids, weights: Weights, chosen: Table, loads: NDArray[Any], out: Workers
) -> int:
    new_keys = 0
    size = np.uint64(loads.size)
    one = loads.dtype.type(1)
    for i in range(ids.size):
        worker = get(chosen, ids[i])
        if worker == ABSENT:
            worker = to_range(mix(ids[i], seeds[0]), size)
            second = apart(worker, to_range(mix(ids[i], seeds[1]), size), loads.size)
            if loads[second] < loads[worker]:
                worker = second
            put(chosen, ids[i], worker)
            new_keys += 1
        loads[worker] += weights[i] if weights.size else one
        out[i] = worker
    return new_keys
