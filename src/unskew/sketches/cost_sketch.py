"""Two Count-Min matrices with the same hash functions: what a row of each key costs."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import compiled, inlined
from unskew._validation import check_int
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Key, Keys, identities
from unskew.sketches.count_min import (
    check_mergeable,
    check_precision,
    columns_of,
    row_parameters,
    sketch_shape,
)

COUNT, COST = 0, 1
"""The two numbers of a cell; side by side, so that a visit touches one cache line."""


class CostSketch:
    """Estimate the execution time of a row from its key, in a fixed number of cells [1].

    One matrix counts rows (F), the other sums their measured costs (W). An estimate is W/F in the
    row of the matrix where F is smallest, since fewest other keys have mixed in there; so it lies
    between the smallest and the largest cost ever measured. A key whose smallest F is 0 was never
    seen: its estimate is the mean of all (0 if nothing was measured at all).

    Parameters
    ----------
    epsilon, delta
        Precision of the matrices, as for `CountMin`.
    seed
        Picks the hash functions; only sketches of equal seed and shape can be merged.

    Examples
    --------
    >>> sketch = CostSketch()
    >>> sketch.update_many(["slow", "fast", "fast"], [25.0, 1.0, 1.0])
    >>> sketch.estimate_many(["slow", "fast", "never seen"]).tolist()
    [25.0, 1.0, 9.0]

    References
    ----------
    [1] Rivetti et al., "Proactive Online Scheduling for Shuffle Grouping", 2016.
    """

    def __init__(self, *, epsilon: float = 0.05, delta: float = 0.1, seed: int = 0) -> None:
        self.epsilon, self.delta = check_precision(type(self).__name__, epsilon, delta)
        self.seed = check_int(type(self).__name__, "seed", seed)
        self.rows, self.columns = sketch_shape(self.epsilon, self.delta)
        self._parameters = row_parameters(self.seed, self.rows)
        self._cells = np.zeros((self.rows, self.columns, 2))

    @property
    def counts(self) -> NDArray[np.float64]:
        """The matrix F: rows counted in each cell (a copy)."""
        return self._cells[:, :, COUNT].copy()

    @property
    def costs(self) -> NDArray[np.float64]:
        """The matrix W: costs summed in each cell (a copy)."""
        return self._cells[:, :, COST].copy()

    @property
    def mean(self) -> float:
        """The mean cost of all measured rows, 0 if there are none."""
        return float(mean_cost(self._cells))

    def update(self, key: Key, cost: float) -> None:
        """Take in one measured row."""
        self.update_many([key], [cost])

    def update_many(self, keys: Keys, costs: ArrayLike) -> None:
        """Take in measured rows; a negative or not finite cost (a clock set back) counts as 0."""
        ids = identities(keys)
        measured = np.ascontiguousarray(costs, dtype=np.float64)
        if measured.shape != ids.shape:
            expected, got = f"one number per key ({ids.size})", f"shape {measured.shape}"
            raise InvalidParameterError(type(self).__name__, "costs", expected, got)
        _add_many(self._cells, self._parameters, ids, measured)

    def estimate(self, key: Key) -> float:
        """Return the estimated cost of one row of ``key``."""
        return float(self.estimate_many([key])[0])

    def estimate_many(self, keys: Keys) -> NDArray[np.float64]:
        """Return the estimated cost of one row of every key."""
        ids = identities(keys)
        out = np.empty(ids.size)
        _estimate_many(self._cells, self._parameters, ids, out)
        return out

    def snapshot(self) -> NDArray[np.float64]:
        """Return the mean cost W/F in every cell, NaN where nothing was counted."""
        out = np.empty((self.rows, self.columns))
        take_snapshot(self._cells, out)
        return out

    def merge(self, other: Self) -> None:
        """Take in what ``other`` has measured, as if this sketch had seen both."""
        check_mergeable(self, other)
        self._cells += other._cells


@inlined
def clean_cost(cost: float) -> float:
    """Return a usable cost: 0 for what no clock should have measured."""
    return cost if 0.0 < cost < np.inf else 0.0


@inlined
def add_cost(cells: NDArray[np.float64], columns: NDArray[np.int64], cost: float) -> None:
    """Count one row and its cost in the given column of every matrix row."""
    for row in range(columns.size):
        cells[row, columns[row], COUNT] += 1.0
        cells[row, columns[row], COST] += cost


@inlined
def estimate_cost(
    cells: NDArray[np.float64], columns: NDArray[np.int64], otherwise: float
) -> float:
    """Return W/F where F is smallest, or ``otherwise`` where that F is 0."""
    fewest, cost = np.inf, 0.0
    for row in range(columns.size):
        count = cells[row, columns[row], COUNT]
        if count < fewest:
            fewest, cost = count, cells[row, columns[row], COST]
    return cost / fewest if fewest > 0.0 else otherwise


@compiled
def mean_cost(cells: NDArray[np.float64]) -> float:
    """Return the mean cost of all rows counted (any matrix row holds all of them)."""
    count = cells[0, :, COUNT].sum()
    return cells[0, :, COST].sum() / count if count > 0.0 else 0.0


@compiled
def take_snapshot(cells: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write W/F of every cell to ``out``, NaN where F is 0."""
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            count = cells[row, column, COUNT]
            out[row, column] = cells[row, column, COST] / count if count > 0.0 else np.nan


@compiled
def is_stable(
    cells: NDArray[np.float64], snapshot: NDArray[np.float64], tolerance: float, columns: int
) -> bool:
    """Tell whether W/F has moved by at most ``tolerance`` of its sum since the snapshot.

    Only the first ``columns`` cells of each matrix row are compared. Cells that had no mean at the
    time of the snapshot are left out: new keys are no change of cost, and under skew there are
    always new ones.
    """
    moved, total = 0.0, 0.0
    for row in range(snapshot.shape[0]):
        for column in range(columns):
            before = snapshot[row, column]
            if not np.isnan(before):
                now = cells[row, column, COST] / cells[row, column, COUNT]
                moved += abs(before - now)
                total += before
    return moved <= tolerance * total


@compiled
def _add_many(
    cells: NDArray[np.float64], parameters: Ids, ids: Ids, costs: NDArray[np.float64]
) -> None:
    columns = np.empty(cells.shape[0], np.int64)
    for i in range(ids.size):
        columns_of(ids[i], parameters, np.uint64(cells.shape[1]), columns)
        add_cost(cells, columns, clean_cost(costs[i]))


@compiled
def _estimate_many(
    cells: NDArray[np.float64], parameters: Ids, ids: Ids, out: NDArray[np.float64]
) -> None:
    columns = np.empty(cells.shape[0], np.int64)
    mean = mean_cost(cells)
    for i in range(ids.size):
        columns_of(ids[i], parameters, np.uint64(cells.shape[1]), columns)
        out[i] = estimate_cost(cells, columns, mean)
