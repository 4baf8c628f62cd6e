"""Put numbers in an order that a seed picks."""

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.hashing import derive_seeds
from unskew.streams._sampler import random_bits


def dealt_order(count: int, seed: int, *, purpose: str) -> NDArray[np.uint64]:
    """Return the numbers 0 … count − 1 in an order that the seed picks.

    >>> order = dealt_order(100, 1, purpose="an example")
    >>> sorted(order.tolist()) == list(range(100)), order.tolist() == list(range(100))
    (True, False)
    """
    marks = _marks(count, derive_seeds(seed, 1, purpose=purpose)[0])
    return np.argsort(marks, kind="stable").astype(np.uint64)


@compiled
def _marks(count: int, seed: np.uint64) -> NDArray[np.uint64]:
    out = np.empty(count, np.uint64)
    for i in range(count):
        out[i] = random_bits(np.uint64(i), seed)
    return out
