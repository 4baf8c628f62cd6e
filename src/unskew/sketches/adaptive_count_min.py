"""Count-Min over time: how often each key came in each interval, the sharper the more recent."""

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import compiled
from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Key, Keys, derive_seeds, identities, mix, universal
from unskew.sketches.count_min import (
    check_mergeable,
    check_precision,
    row_parameters,
    sketch_shape,
    weights_or_ones,
)

_MOST_BITS = 512
"""Before a weight grows beyond two to this, all cells are scaled down: no float overflows."""
_FEWEST_BITS = -900
"""Below two to this a weight counts as vanished, before floats lose digits."""


class AdaptiveCountMin:
    """Estimate the count of a key in an interval: never too low, and best for recent intervals.

    A count of interval t is added as f(t) = growthᵗ times its weight, to cells picked by key *and*
    interval, and divided by f(t) when asked for. What collides from older intervals is thus made
    small: with probability 1 − δ the excess is at most ε · Σₛ f(s) · total(s) / f(t) [1].

    Parameters
    ----------
    epsilon, delta
        Precision, and so the size, as for `CountMin`.
    growth
        How fast the weight of intervals grows, at least 1; 1.0015 in [1].
    seed
        Picks the hash functions; only sketches of equal seed, shape and growth can be merged.

    Notes
    -----
    Answers for an interval so old that its weight has vanished are infinite: nothing is known.

    Examples
    --------
    >>> sketch = AdaptiveCountMin(growth=2.0)
    >>> sketch.update_many(["a"] * 5 + ["b"], time=0)
    >>> sketch.update_many(["a"] * 2, time=1)
    >>> sketch.estimate("a", time=0), sketch.estimate("a", time=1), sketch.estimate("b", time=1)
    (5.0, 2.0, 0.0)

    References
    ----------
    [1] Shrivastava, König and Bilenko, "Time Adaptive Sketches (Ada-Sketches) for Summarizing
    Data Streams", 2016.
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.05,
        delta: float = 0.1,
        growth: float = 1.0015,
        seed: int = 0,
    ) -> None:
        owner = type(self).__name__
        self.epsilon, self.delta = check_precision(owner, epsilon, delta)
        self.growth = check_real(owner, "growth", growth, minimum=1, maximum=1e6)
        self.seed = check_int(owner, "seed", seed)
        self.rows, self.columns = sketch_shape(self.epsilon, self.delta)
        self._parameters = row_parameters(self.seed, self.rows)
        self._time_seed = derive_seeds(self.seed, 1, purpose="count-min time")[0]
        self._cells = np.zeros((self.rows, self.columns))
        # Cells are scaled at fixed intervals, so that equal streams give equal sketches.
        self._stretch = max(1, int(_MOST_BITS / max(math.log2(self.growth), 1e-9)))
        self._base = 0

    def update(self, key: Key, weight: float = 1.0, *, time: int) -> None:
        """Count one key in the interval number ``time``."""
        self.update_many([key], [weight], time=time)

    def update_many(self, keys: Keys, weights: ArrayLike | None = None, *, time: int) -> None:
        """Count every key in the interval number ``time``, by its weight where given."""
        ids = identities(keys)
        checked = weights_or_ones(type(self).__name__, weights, ids.size)
        interval = self._check_time(time)
        self._rebase(max(self._base, interval - interval % self._stretch))
        salt, emphasis = self._salt(interval), self._emphasis(interval)
        _add(self._cells, self._parameters, salt, emphasis, ids, checked)

    def estimate(self, key: Key, *, time: int) -> float:
        """Return the estimated count of one key in the interval number ``time``."""
        return float(self.estimate_many([key], time=time)[0])

    def estimate_many(self, keys: Keys, *, time: int) -> NDArray[np.float64]:
        """Return the estimated count of every key in the interval number ``time``."""
        ids = identities(keys)
        interval = self._check_time(time)
        emphasis = self._emphasis(interval)
        if emphasis == 0.0:
            return np.full(ids.size, np.inf)
        out = np.empty(ids.size)
        _smallest(self._cells, self._parameters, self._salt(interval), ids, out)
        return out / emphasis

    def merge(self, other: Self) -> None:
        """Add what ``other`` has counted, as if this sketch had seen both streams."""
        check_mergeable(self, other)
        if self.growth != other.growth:
            owner, expected = type(self).__name__, f"one of growth {self.growth}"
            raise InvalidParameterError(owner, "other", expected, other.growth)
        self._rebase(max(self._base, other._base))
        self._cells += other._cells_from(self._base)

    def _check_time(self, time: int) -> int:
        return check_int(type(self).__name__, "time", time, minimum=0, maximum=2**62)

    def _salt(self, time: int) -> np.uint64:
        return np.uint64(mix(np.uint64(time), self._time_seed))

    def _bits(self, intervals: int) -> float:
        return intervals * math.log2(self.growth)

    def _emphasis(self, time: int) -> float:
        """Return f(time) / f(base), or 0 where it has vanished."""
        bits = self._bits(time - self._base)
        return math.exp2(min(bits, 1000.0)) if bits >= _FEWEST_BITS else 0.0

    def _rebase(self, base: int) -> None:
        if base > self._base:
            self._cells = self._cells_from(base)
            self._base = base

    def _cells_from(self, base: int) -> NDArray[np.float64]:
        """Return the cells as they are with a later base."""
        # In two steps: the whole factor may be too small for a float where the product is not.
        half = math.exp2(max(self._bits(self._base - base) / 2, -1050.0))
        return self._cells * half * half


@compiled
def _add(
    cells: NDArray[np.float64],
    parameters: Ids,
    salt: np.uint64,
    emphasis: float,
    ids: Ids,
    weights: NDArray[np.float64],
) -> None:
    n_columns = np.uint64(cells.shape[1])
    for i in range(ids.size):
        pair = mix(ids[i], salt)
        added = emphasis * weights[i] if weights.size else emphasis
        for row in range(cells.shape[0]):
            cells[row, universal(pair, parameters[row], n_columns)] += added


@compiled
def _smallest(
    cells: NDArray[np.float64],
    parameters: Ids,
    salt: np.uint64,
    ids: Ids,
    out: NDArray[np.float64],
) -> None:
    n_columns = np.uint64(cells.shape[1])
    for i in range(ids.size):
        pair, least = mix(ids[i], salt), np.inf
        for row in range(cells.shape[0]):
            least = min(least, cells[row, universal(pair, parameters[row], n_columns)])
        out[i] = least
