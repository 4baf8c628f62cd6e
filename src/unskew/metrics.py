"""Measures of how even a load is: pure functions on the loads of the workers."""

import numpy as np
from numpy.typing import ArrayLike

from unskew.errors import InvalidParameterError


def imbalance_percent(loads: ArrayLike) -> float:
    """Return λ, the percentage by which the largest load exceeds the mean.

    It is the time that is lost: with λ = 100 a job takes twice as long as it could.

    >>> imbalance_percent([30, 10, 20])
    50.0
    >>> imbalance_percent([0, 0]), imbalance_percent([0.1] * 3)
    (0.0, 0.0)
    """
    values = _checked("imbalance_percent", loads)
    mean = values.mean()
    # Of equal loads the mean may be rounded up.
    return max(0.0, float(100.0 * (values.max() / mean - 1.0))) if mean > 0 else 0.0


def imbalance(loads: ArrayLike) -> float:
    """Return I, the largest load less the mean load.

    >>> imbalance([30, 10, 20])
    10.0
    """
    values = _checked("imbalance", loads)
    return float(values.max() - values.mean())


def stddev(loads: ArrayLike) -> float:
    """Return σ, the standard deviation of the loads (of all of them, not of a sample).

    >>> stddev([1, 3])
    1.0
    """
    return float(_checked("stddev", loads).std())


def stddev_of_percent(loads: ArrayLike) -> float:
    """Return σ of the loads in percent of their sum, as the paper on dynamic key grouping has it.

    >>> stddev_of_percent([1, 3])
    25.0
    """
    values = _checked("stddev_of_percent", loads)
    total = values.sum()
    return float((100.0 * values / total).std()) if total > 0 else 0.0


def replication(memory: int, distinct_keys: int) -> float:
    """Return the number of workers that hold a key, on average (DistCost).

    1 for key grouping, up to the number of workers for shuffle.

    >>> replication(memory=15, distinct_keys=10)
    1.5
    >>> replication(memory=0, distinct_keys=0)
    1.0
    """
    return memory / distinct_keys if distinct_keys else 1.0


def _checked(owner: str, loads: ArrayLike) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    values = np.asarray(loads, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise InvalidParameterError(owner, "loads", "one number per worker", loads)
    return values
