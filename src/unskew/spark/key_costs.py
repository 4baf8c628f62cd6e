"""What rows of a key cost, as weights for groupings."""

import numpy as np
from numpy.typing import NDArray

from unskew.hashing import Ids
from unskew.sketches.cost_sketch import CostSketch

_EPSILON, _DELTA = 0.001, 0.05
LOWEST = 1e-6
"""Rows that weigh nothing would all go to one worker."""


class KeyCosts:
    """Estimate what a row of a key costs against the mean of all rows.

    A key that was not measured is taken to cost the mean. Memory is that of one `CostSketch`:
    with many thousands of keys their costs mix, but for those that have many rows.

    Parameters
    ----------
    ids
        Identities of keys; one may come several times.
    rows
        Rows that were measured of each, at least 1.
    seconds
        What these took together.

    Examples
    --------
    >>> ids = np.array([7, 8, 9], np.uint64)
    >>> costs = KeyCosts(ids[:2], np.array([10, 90]), np.array([5.0, 5.0]))
    >>> costs.weights(ids).round(2).tolist()
    [5.0, 0.56, 1.0]
    """

    def __init__(self, ids: Ids, rows: NDArray[np.int64], seconds: NDArray[np.float64]) -> None:
        self._sketch = CostSketch(epsilon=_EPSILON, delta=_DELTA)
        self._sketch.update_many(np.repeat(ids, rows), np.repeat(seconds / rows, rows))

    def weights(self, ids: Ids) -> NDArray[np.float64]:
        """Return the weight of a row of each key: 1 is the mean of all rows that were measured."""
        mean = self._sketch.mean
        if mean <= 0.0:
            return np.ones(ids.size)
        return np.maximum(self._sketch.estimate_many(ids) / mean, LOWEST)
