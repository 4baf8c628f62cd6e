"""Which workers are slower or faster than the others, beyond what chance explains."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Tallies: TypeAlias = NDArray[np.float64]
"""For each worker rows, seconds and squared seconds, by cell."""

_STANDARD_ERRORS = 4.0
_FASTEST, _SLOWEST = 1 / 16, 16.0


def worker_speeds(one: Tallies, other: Tallies) -> NDArray[np.float64]:
    """Return how long each worker takes for what takes a usual worker 1.

    A worker is usual unless both of two sets of rounds show the contrary: Spark may run it on
    another machine in every round, and a machine may be busy with other things for a while, so a
    speed that is to be followed must have lasted. The speed of an unusual worker is that of its
    time, compared with the usual ones (with all, if there are none).

    Costs are compared within a cell: rows of the same keys, whoever has executed them. A set shows
    a worker to be unusual if its rows took more or less than the means by over 4 standard errors:
    to follow chance would make of it an imbalance that stays. The error is the larger of two, by
    how the worker's own rows scatter, and by how all rows do: so a single row that took very long
    makes neither its own worker slow nor the others fast. For this every row counts alike,
    whatever it costs.

    Examples
    --------
    The second of two takes three times as long for the same rows:

    >>> rows, seconds = np.full((2, 1), 100.0), np.array([[100.0], [300.0]])
    >>> slow = np.stack([rows, seconds, seconds**2 / rows], axis=1)
    >>> worker_speeds(slow, slow).tolist()
    [0.5, 1.5]

    Here it did so only once, and here it had a single slow row:

    >>> even = np.ones_like(slow)
    >>> worker_speeds(slow, even).tolist()
    [1.0, 1.0]
    >>> slow[1, 1:] = [[99.0 + 201.0], [99.0 + 201.0**2]]
    >>> worker_speeds(slow, slow).tolist()
    [1.0, 1.0]
    """
    is_usual = _direction(one) * _direction(other) <= 0
    tallies = one + other
    mean = _means(tallies[is_usual] if is_usual.any() else tallies)
    rows, seconds = tallies[:, 0], np.where(mean > 0, tallies[:, 1], 0.0)
    speeds = _ratio(seconds.sum(axis=1), (rows * mean).sum(axis=1))
    return np.where(is_usual, 1.0, np.clip(speeds, _FASTEST, _SLOWEST))


def _direction(tallies: Tallies) -> NDArray[np.float64]:
    """Return 1 for a worker that is slower than chance explains, -1 for a faster one, else 0."""
    rows, total = tallies[:, 0], tallies[:, 0].sum(axis=0)
    mean = _means(tallies)
    # In units of the mean of the cell, so that every row counts alike.
    seconds = _ratio(tallies[:, 1], np.broadcast_to(mean, rows.shape))
    squares = _ratio(tallies[:, 2], np.broadcast_to(mean**2, rows.shape))
    variance = np.fmax(_ratio(squares.sum(axis=0), total) - 1.0, 0.0)
    own_scatter = (squares - 2 * seconds + rows).sum(axis=1)
    scatter = np.fmax(own_scatter, (rows * variance).sum(axis=1))
    excess = seconds.sum(axis=1) - np.where(mean > 0, rows, 0.0).sum(axis=1)
    is_clear = np.abs(excess) > _STANDARD_ERRORS * np.sqrt(scatter)
    direction: NDArray[np.float64] = np.where(is_clear, np.sign(excess), 0.0)
    return direction


def _means(tallies: Tallies) -> NDArray[np.float64]:
    return _ratio(tallies[:, 1].sum(axis=0), tallies[:, 0].sum(axis=0))


def _ratio(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
