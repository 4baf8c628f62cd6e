"""What is drawn of the workers: a bar each while they are few, a summary when they are many."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BARS = 64
"""Beyond so many workers neighbours share a cell."""

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

WorkerView = dict[str, Any]
"""What `worker_view` returns; ready for JSON."""


def worker_view(
    actual: Sequence[float] | None, predicted: Sequence[float] | None = None
) -> WorkerView | None:
    """Return what to draw of one number a worker; its size does not grow with the workers.

    Parameters
    ----------
    actual
        What each worker had; None if that is not known.
    predicted
        What each should have had; left out where workers share cells.

    Returns
    -------
    WorkerView
        ``workers`` is their number, ``mean`` and ``quantiles`` (0, 5, 25, 50, 75, 95, 100 %) are
        over all of them. ``values`` has a number a worker; or the largest of each cell of
        ``per_cell`` neighbours, and ``cell_means`` beside it.

    Examples
    --------
    >>> worker_view([3, 1])["values"]
    [3.0, 1.0]
    >>> many = worker_view(range(1000))
    >>> many["workers"], many["per_cell"], len(many["values"]), many["values"][0]
    (1000, 16, 63, 15.0)
    """
    if not actual:
        return None
    numbers = np.asarray(actual, np.float64)
    per_cell = -(-numbers.size // MOST_BARS)
    shown_prediction = predicted if per_cell == 1 else None
    return {
        "workers": numbers.size,
        "per_cell": per_cell,
        "values": _rounded(_over_cells(numbers, per_cell, np.maximum)),
        "cell_means": _rounded(_cell_means(numbers, per_cell)) if per_cell > 1 else None,
        "predicted": None if shown_prediction is None else _rounded(np.asarray(shown_prediction)),
        "mean": float(numbers.mean()),
        "quantiles": _rounded(np.quantile(numbers, QUANTILES)),
    }


def _over_cells(
    numbers: NDArray[np.float64], per_cell: int, ufunc: np.ufunc
) -> NDArray[np.float64]:
    begins = np.arange(0, numbers.size, per_cell)
    joined: NDArray[np.float64] = ufunc.reduceat(numbers, begins)
    return joined


def _cell_means(numbers: NDArray[np.float64], per_cell: int) -> NDArray[np.float64]:
    sums = _over_cells(numbers, per_cell, np.add)
    sizes = _over_cells(np.ones_like(numbers), per_cell, np.add)
    means: NDArray[np.float64] = sums / sizes
    return means


def _rounded(numbers: NDArray[np.float64]) -> list[float]:
    """Return the numbers with six decimals: microseconds, which no eye tells apart."""
    listed: list[float] = np.round(np.asarray(numbers, np.float64), 6).tolist()
    return listed
