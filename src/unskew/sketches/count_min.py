"""Count-Min: how often each key came, never too low, in a fixed number of cells."""

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import compiled, inlined
from unskew._validation import check_int, check_real, check_weights
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Key, Keys, derive_seeds, identities, universal

UNIT_WEIGHTS: NDArray[np.float64] = np.empty(0, np.float64)
"""Stands for "every key weighs one" where a compiled loop wants an array."""


class CountMin:
    """Estimate the count of any key: never too low, and rarely too high by more than ε·total.

    With probability 1 − δ an estimate exceeds the true count by at most ε times all that was
    counted [1]. Memory is fixed: ⌈log₂ 1/δ⌉ rows of round(e/ε) cells.

    Parameters
    ----------
    epsilon
        Tolerated excess ε, as a share of the total, in (0, e).
    delta
        Probability δ of a larger excess, in (0, 1).
    seed
        Picks the hash functions; only sketches of equal seed and shape can be merged.

    Notes
    -----
    Apache DataSketches has such a sketch, too. This one has the sizes that [2] measures with,
    takes whole arrays, and shares its hash functions with `CostSketch` and with compiled loops.

    Examples
    --------
    >>> sketch = CountMin(epsilon=0.05, delta=0.1)
    >>> sketch.rows, sketch.columns
    (4, 54)
    >>> sketch.update_many(["hot"] * 100 + ["cold"])
    >>> sketch.estimate("hot") >= 100 and sketch.estimate("cold") >= 1
    True
    >>> sketch.total
    101.0

    References
    ----------
    [1] Cormode and Muthukrishnan, "An Improved Data Stream Summary: The Count-Min Sketch and its
    Applications", 2005.
    [2] Rivetti et al., "Proactive Online Scheduling for Shuffle Grouping", 2016.
    """

    def __init__(self, *, epsilon: float = 0.05, delta: float = 0.1, seed: int = 0) -> None:
        self.epsilon, self.delta = check_precision(type(self).__name__, epsilon, delta)
        self.seed = check_int(type(self).__name__, "seed", seed)
        self.rows, self.columns = sketch_shape(self.epsilon, self.delta)
        self.total = 0.0
        self._parameters = row_parameters(self.seed, self.rows)
        self._counts = np.zeros((self.rows, self.columns))

    @property
    def counts(self) -> NDArray[np.float64]:
        """The cells, one row per hash function (a copy)."""
        return self._counts.copy()

    def update(self, key: Key, weight: float = 1.0) -> None:
        """Count one key."""
        self.update_many([key], [weight])

    def update_many(self, keys: Keys, weights: ArrayLike | None = None) -> None:
        """Count every key, by its weight (finite, at least 0) where weights are given."""
        ids = identities(keys)
        checked = weights_or_ones(type(self).__name__, weights, ids.size)
        _add(self._counts, self._parameters, ids, checked)
        self.total += float(checked.sum()) if weights is not None else float(ids.size)

    def estimate(self, key: Key) -> float:
        """Return the estimated count of one key, at least its true count."""
        return float(self.estimate_many([key])[0])

    def estimate_many(self, keys: Keys) -> NDArray[np.float64]:
        """Return the estimated count of every key."""
        ids = identities(keys)
        out = np.empty(ids.size)
        _smallest(self._counts, self._parameters, ids, out)
        return out

    def merge(self, other: Self) -> None:
        """Add what ``other`` has counted, as if this sketch had seen both streams."""
        check_mergeable(self, other)
        self._counts += other._counts
        self.total += other.total


_LEAST_EPSILON = 1e-6  # 2.7 million columns


def sketch_shape(epsilon: float, delta: float) -> tuple[int, int]:
    """Return the rows and columns for a precision.

    >>> sketch_shape(0.05, 0.1)
    (4, 54)
    """
    return max(1, math.ceil(math.log2(1 / delta))), max(1, round(math.e / epsilon))


def row_parameters(seed: int, rows: int) -> Ids:
    """Return what picks one 2-universal hash function for each row."""
    return derive_seeds(seed, 3 * rows, purpose="count-min").reshape(rows, 3)


@inlined
def columns_of(
    key_id: np.uint64, parameters: Ids, n_columns: np.uint64, out: NDArray[np.int64]
) -> None:
    """Write to ``out`` the column of ``key_id`` in every row."""
    for row in range(out.size):
        out[row] = universal(key_id, parameters[row], n_columns)


@compiled
def _add(
    counts: NDArray[np.float64], parameters: Ids, ids: Ids, weights: NDArray[np.float64]
) -> None:
    n_columns = np.uint64(counts.shape[1])
    for i in range(ids.size):
        weight = weights[i] if weights.size else 1.0
        for row in range(counts.shape[0]):
            counts[row, universal(ids[i], parameters[row], n_columns)] += weight


@compiled
def _smallest(
    counts: NDArray[np.float64], parameters: Ids, ids: Ids, out: NDArray[np.float64]
) -> None:
    n_columns = np.uint64(counts.shape[1])
    for i in range(ids.size):
        least = np.inf
        for row in range(counts.shape[0]):
            least = min(least, counts[row, universal(ids[i], parameters[row], n_columns)])
        out[i] = least


def check_precision(owner: str, epsilon: object, delta: object) -> tuple[float, float]:
    """Return ε and δ as floats, or raise where a sketch cannot have them."""
    return (
        check_real(owner, "epsilon", epsilon, minimum=_LEAST_EPSILON, below=math.e),
        check_real(owner, "delta", delta, above=0, below=1),
    )


def weights_or_ones(owner: str, weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """Return one finite weight >= 0 per key, or the empty array that stands for all ones."""
    if weights is None:
        return UNIT_WEIGHTS
    return check_weights(owner, "weights", weights, size)


def check_mergeable(mine: object, other: object) -> None:
    """Raise unless ``other`` is a sketch of the same kind, shape and hash functions."""
    kind = type(mine).__name__
    expected, got = _description(mine), _description(other)
    if expected != got:
        hint = "sketches merge only if made with equal epsilon, delta and seed"
        raise InvalidParameterError(kind, "other", f"a {expected}", got, hint=hint)


def _description(sketch: object) -> str:
    facts = [f"{name} {getattr(sketch, name, None)}" for name in ("rows", "columns", "seed")]
    return f"{type(sketch).__name__} of {', '.join(facts)}"
