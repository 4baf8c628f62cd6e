"""Draw keys with given probabilities, and orders of keys, from a seed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.hashing import derive_seeds, mix

_STEP = np.uint64(0x9E3779B97F4A7C15)
_S11 = np.uint64(11)
_ONE = 1 << 53


@inlined
def random_bits(row: np.uint64, seed: np.uint64) -> np.uint64:
    """Return the 64 random bits of one row: they depend on its number and the seed alone."""
    return mix(row * _STEP, seed)


class Sampler(NamedTuple):
    """The cumulative probabilities of keys 0, 1, 2 … and a guide to where a search starts."""

    thresholds: NDArray[np.uint64]
    """The 53-bit numbers from ``thresholds[k − 1]`` to below ``thresholds[k]`` draw key k."""
    guide: NDArray[np.int32]
    """For each value of the leading bits, the first key that they may stand for."""


def make_sampler(weights: NDArray[np.float64]) -> Sampler:
    """Return the sampler that draws key k with probability ``weights[k] / weights.sum()``."""
    sums = np.cumsum(weights)
    thresholds = np.ceil(sums / sums[-1] * _ONE).astype(np.uint64)
    thresholds[-1] = _ONE
    cells = 1 << max(1, (2 * weights.size - 1).bit_length())
    return Sampler(thresholds, _make_guide(thresholds, cells))


@compiled
def _make_guide(thresholds: NDArray[np.uint64], cells: int) -> NDArray[np.int32]:
    guide = np.empty(cells, np.int32)
    width = np.uint64(_ONE // cells)
    key = 0
    for cell in range(cells):
        while thresholds[key] <= np.uint64(cell) * width:
            key += 1
        guide[cell] = key
    return guide


@compiled
def draw(sampler: Sampler, first: int, seed: np.uint64, out: NDArray[np.uint64]) -> None:
    """Write the keys of the rows from number ``first`` on to ``out``."""
    thresholds, guide = sampler
    shift = np.uint64(64)
    cells = guide.size
    while cells > 1:
        cells >>= 1
        shift -= np.uint64(1)
    row = np.uint64(first)
    for i in range(out.size):
        bits = random_bits(row + np.uint64(i), seed)
        key = guide[np.int64(bits >> shift)]
        number = bits >> _S11
        while thresholds[key] <= number:
            key += 1
        out[i] = np.uint64(key)


def shuffled_order(count: int, seed: int, *, purpose: str) -> NDArray[np.uint64]:
    """Return the numbers 0 … count − 1 in an order that the seed picks.

    >>> order = shuffled_order(100, 1, purpose="an example")
    >>> sorted(order.tolist()) == list(range(100)), order.tolist() == list(range(100))
    (True, False)
    """
    marks = _random_marks(count, derive_seeds(seed, 1, purpose=purpose)[0])
    return np.argsort(marks, kind="stable").astype(np.uint64)


@compiled
def _random_marks(count: int, seed: np.uint64) -> NDArray[np.uint64]:
    out = np.empty(count, np.uint64)
    for i in range(count):
        out[i] = random_bits(np.uint64(i), seed)
    return out
