"""Estimate what hash cells will bring from what a sample of rows has shown of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.groupings.plan import slots_of
from unskew.groupings.wrap.replanning import Flow
from unskew.hashing import Ids
from unskew.scheduling import LoadArray
from unskew.sketches.hash_cells import HashCells
from unskew.sketches.space_saving import SpaceSaving

_KNEES = (1.0, 1.6)  # times the mean load of a cell with so many keys
_FEATURES, _ROWS = 3 + len(_KNEES), 2  # how many there are; the number of the rows themselves
_PENALTY = 10.0  # cells


class Mixture(NamedTuple):
    """How much of a load is to be believed: coefficients of `_feature`."""

    coefficients: LoadArray
    mean: float
    """The load of a key on average."""

    def of(self, keys: LoadArray, seen: LoadArray) -> LoadArray:
        """Return the expected loads of cells with so many keys and rows."""
        return _expected(self.coefficients, keys, seen, self.mean)


def known_loads(
    slot_loads: LoadArray, summary: SpaceSaving, cells: HashCells | None, member: Ids, noise: float
) -> tuple[LoadArray, Flow]:
    """Return the expected loads of all slots, and those of keys that are known one by one.

    The slots are without these keys, which come largest first: those whose load the summary knows
    for at least one half, and those that have most of a hash cell.
    """
    hot = _sure_loads(summary)
    rest = slot_loads.copy()
    np.subtract.at(rest, slots_of(hot.ids, member, rest.size), hot.loads)
    rest = np.maximum(rest, 0.0)
    if cells is None or noise <= 0:
        return rest, hot
    seen, keys = _without_hot(cells, hot)
    mixture = best_mixture(keys, seen, cells.keys_seen_once(), noise)
    expected = mixture.of(keys, seen)
    expected *= seen.sum() / max(float(expected.sum()), 1e-300)
    rest += (expected - seen).reshape(rest.size, -1).sum(axis=1)
    main = _main_keys(cells, hot, expected, mixture)
    np.subtract.at(rest, slots_of(main.ids, member, rest.size), main.loads)
    loads = np.concatenate((hot.loads, main.loads))
    order = np.argsort(-loads, kind="stable")
    return np.maximum(rest, 0.0), Flow(np.concatenate((hot.ids, main.ids))[order], loads[order])


def best_mixture(keys: LoadArray, seen: LoadArray, seen_once: LoadArray, noise: float) -> Mixture:
    """Return the mixture of keys and rows of cells that comes nearest to their true loads.

    The count of a cell is true to its own chance: one that happened to get many rows of the sample
    will get fewer of the stream. The number of its keys is hardly touched by chance, but says
    nothing of how heavy they are. What is best is found from the sample alone.

    Least squares needs the mean of true load × feature, and the true load is not known. But if rows
    come by chance (Poisson), it is the mean of load × feature *as it would be without the row that
    is counted* (the identity of Stein and Hudson [1]). So from load × feature only what each row
    adds to the feature of its own cell has to be taken off: ``falls``, times the weight of a row.

    Parameters
    ----------
    keys, seen
        About how many keys each cell has, and what it has received.
    seen_once
        Of the keys, those that would not be there without one of the rows.
    noise
        The weight of a row, above 0: the variance of a load over its mean, if rows come by chance.

    Examples
    --------
    Where keys are alike, how many there are is all that counts:

    >>> keys = np.repeat([1.0, 2.0], 10_000)
    >>> seen = np.random.default_rng(1).poisson(10 * keys).astype(float)
    >>> mixture = best_mixture(keys, seen, np.zeros(20_000), 1.0)
    >>> mixture.of(np.array([1.0, 2.0]), np.array([14.0, 14.0])).round().tolist()
    [10.0, 20.0]

    References
    ----------
    [1] Hudson, "A Natural Identity for Exponential Families with Applications in Multiparameter
       Estimation", Annals of Statistics 1978.
    """
    mean = float(seen.sum()) / max(float(keys.sum()), 1.0)
    means, products = _means_and_products(keys, seen, mean)
    falls = _falls(keys, seen, seen_once, mean, noise)
    # The sum of load × feature, and how much of it each row adds to the feature of its own cell.
    wanted = products[_ROWS] + means * seen.sum() - noise * falls
    coefficients = _least_squares(means, products, wanted, seen.size)
    # Keys that a hash spreads more evenly than chance would make it seem that cells which have rows
    # get no more. All that this shows is that they differ by less than chance: not at all.
    if coefficients @ products[_ROWS] <= 0:  # their covariance
        coefficients = np.concatenate(([seen.mean()], np.zeros(_FEATURES - 1)))
    return Mixture(coefficients, mean)


def _least_squares(
    means: LoadArray, products: NDArray[np.float64], wanted: LoadArray, size: int
) -> LoadArray:
    """Return the coefficients of least squares, small where what they should be is unsure.

    Features that say almost the same (keys and rows, where each key came once) would get large
    coefficients of opposite sign by chance. A penalty (ridge) that counts for as much as some
    cells keeps them small; the first feature, the constant, has none, so that the sum is kept.

    Parameters
    ----------
    means, products
        Of the features over all cells, and the sums of the products of their deviations.
    wanted
        The sums of true load × feature.
    size
        Number of cells.
    """
    spread = np.sqrt(np.diag(products)[1:] / size)
    spread[spread == 0] = 1.0
    target = (wanted[1:] - means[1:] * wanted[0]) / spread
    scaled = products[1:, 1:] / np.outer(spread, spread)
    penalty = _PENALTY * np.eye(spread.size)
    coefficients = np.linalg.solve(scaled + penalty, target) / spread
    constant = wanted[0] / size - coefficients @ means[1:]
    return np.concatenate(([constant], coefficients))


@inlined
def _feature(number: int, keys: float, seen: float, mean: float) -> Any:
    """Return what the mixture is of: a constant for keys that were not seen, keys, and rows.

    Rows count more or less up to the mean of so many keys, and from 1.6 times that on: few keys
    are heavy, so that a count beyond is less likely to be chance.
    """
    if number == 0:
        return 1.0
    if number == 1:
        return keys
    if number == _ROWS:
        return seen
    return min(seen, _KNEES[number - _ROWS - 1] * mean * keys)


@compiled
def _expected(coefficients: LoadArray, keys: LoadArray, seen: LoadArray, mean: float) -> LoadArray:
    """Return the sum of all features of each cell, times their coefficients, at least 0."""
    expected = np.empty(seen.size)
    for cell in range(seen.size):
        load = 0.0
        for number in range(_FEATURES):
            load += coefficients[number] * _feature(number, keys[cell], seen[cell], mean)
        expected[cell] = max(load, 0.0)
    return expected


@compiled
def _means_and_products(
    keys: LoadArray, seen: LoadArray, mean: float
) -> tuple[LoadArray, NDArray[np.float64]]:
    """Return the means of all features, and the sums of the products of their deviations."""
    means, products = np.zeros(_FEATURES), np.zeros((_FEATURES, _FEATURES))
    off = np.empty(_FEATURES)
    for cell in range(seen.size):
        for number in range(_FEATURES):
            means[number] += _feature(number, keys[cell], seen[cell], mean)
    means /= seen.size
    for cell in range(seen.size):
        for number in range(_FEATURES):
            off[number] = _feature(number, keys[cell], seen[cell], mean) - means[number]
            for other in range(number + 1):
                products[number, other] += off[number] * off[other]
    for number in range(_FEATURES):
        for other in range(number):
            products[other, number] = products[number, other]
    return means, products


@compiled
def _falls(
    keys: LoadArray, seen: LoadArray, seen_once: LoadArray, mean: float, noise: float
) -> LoadArray:
    """Return by how much all features would fall, in sum, if each row in turn were not there."""
    falls = np.zeros(_FEATURES)
    for cell in range(seen.size):
        row_less = max(seen[cell] - noise, 0.0)
        falls[1] += seen_once[cell]
        falls[_ROWS] += seen[cell]
        for number in range(_ROWS + 1, _FEATURES):
            fall = _feature(number, keys[cell], seen[cell], mean)
            fall -= _feature(number, keys[cell], row_less, mean)
            falls[number] += seen[cell] / noise * fall
    return falls


def _sure_loads(summary: SpaceSaving) -> Flow:
    """Return the keys whose load is known for at least one half, largest first."""
    ids, counts, errors = summary.items()
    sure = counts - errors
    known = np.flatnonzero(sure > 0.5 * counts)
    order = known[np.argsort(-sure[known], kind="stable")]
    return Flow(ids[order], sure[order])


def _without_hot(cells: HashCells, hot: Flow) -> tuple[LoadArray, LoadArray]:
    """Return what the cells have received, and from how many keys, hot ones left out."""
    seen, keys = cells.loads.copy(), cells.keys()
    places = slots_of(hot.ids, cells.member, seen.size)
    np.subtract.at(seen, places, hot.loads)
    np.subtract.at(keys, places, 1.0)
    return np.maximum(seen, 0.0), np.maximum(keys, 0.0)


def _main_keys(cells: HashCells, hot: Flow, expected: LoadArray, mixture: Mixture) -> Flow:
    """Return the keys, but the hot ones, that have most of their cells, with expected loads."""
    ids, places, seen = cells.main_keys()
    other = ~np.isin(ids, hot.ids)
    loads = mixture.of(np.ones(int(other.sum())), seen[other]) - mixture.coefficients[0]
    return Flow(ids[other], np.clip(loads, 0.0, expected[places[other]]))
