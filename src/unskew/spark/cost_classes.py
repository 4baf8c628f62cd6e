"""Classes of rows that cost about the same, found by a few lookups in tables.

An engine that only evaluates expressions cannot add up what it has sent to a worker, but it can
count. So rows are sorted into a few classes by their estimated cost, and each class is dealt out in
turn by itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.sketches.cost_sketch import COST, COUNT, mean_cost

MOST_CLASSES = 16
_FINEST = 1.25
_NEGLIGIBLE = 0.01


class CostClasses(NamedTuple):
    """Which class of cost the rows of a key belong to, class 0 being the most expensive."""

    codes: NDArray[np.int32]
    """For every cell of the matrices: the smallest of a key's cells tells its class, modulo
    `MOST_CLASSES`."""
    tops: NDArray[np.float64]
    """The largest cost in each class, falling."""
    ratio: float
    """No cost of a class is less than its top divided by this, but in the last class."""

    @property
    def size(self) -> int:
        """How many classes there are."""
        return self.tops.size


def cost_classes(cells: NDArray[np.float64], most: int = MOST_CLASSES) -> CostClasses:
    """Return at most ``most`` classes of the costs that are estimated by ``cells``.

    The estimate of a key is that of `estimate_cost`: the mean of the cell with the fewest rows, the
    first one of several; the mean of all rows where that cell is empty. Costs below a hundredth of
    the mean make up one class: all such rows together are no more than a hundredth of the work.

    Parameters
    ----------
    cells
        Counts and costs, by row and column of the matrices.
    most
        How many classes there may be, up to `MOST_CLASSES`; the spread within a class is as small
        as that allows.

    Examples
    --------
    One row of 25 ms and two of 1 ms, in a matrix of one row and four columns; the mean is 9 ms:

    >>> cells = np.array([[[1, 0.025], [0, 0], [1, 0.001], [1, 0.001]]])
    >>> found = cost_classes(cells)
    >>> found.tops.round(3).tolist()
    [0.025, 0.009, 0.001]
    >>> (found.codes % MOST_CLASSES).tolist()
    [[0, 1, 2, 2]]
    """
    mean = mean_cost(cells)
    if mean <= 0.0:
        return CostClasses(np.zeros(cells.shape[:2], np.int32), np.zeros(1), 1.0)
    counts = cells[..., COUNT]
    means = np.divide(cells[..., COST], counts, out=np.full(counts.shape, mean), where=counts > 0)
    costs = np.maximum(means, _NEGLIGIBLE * mean)
    ratio = _FINEST
    while (tops := _tops(np.unique(costs), ratio, most + 1)).size > most:
        ratio **= 1.25
    # Tops fall: how many of them are no less than a cost, less one, is its class.
    classes = np.searchsorted(-tops, -costs, side="right") - 1
    ranks = np.unique(counts, return_inverse=True)[1].reshape(counts.shape)
    rows = np.arange(counts.shape[0])[:, np.newaxis]
    codes = (ranks * counts.shape[0] + rows) * MOST_CLASSES + classes
    return CostClasses(codes.astype(np.int32), tops, ratio)


def _tops(costs: NDArray[np.float64], ratio: float, most: int) -> NDArray[np.float64]:
    """Return the first ``most`` tops of classes, the largest of the rising ``costs`` first."""
    tops: list[float] = []
    end = costs.size
    while end and len(tops) < most:
        tops.append(float(costs[end - 1]))
        end = int(np.searchsorted(costs, tops[-1] / ratio))
    return np.array(tops)
