"""Estimate what hash cells will bring from what a sample of rows has shown of them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.plan import slots_of
from unskew.groupings.wrap.replanning import Flow
from unskew.hashing import Ids
from unskew.scheduling import LoadArray
from unskew.sketches.hash_cells import HashCells
from unskew.sketches.space_saving import SpaceSaving

_KNEES = (1.0, 1.6)  # times the mean load of a cell with so many keys
_PENALTY = 10.0  # cells


class Mixture(NamedTuple):
    """How much of a load is to be believed: coefficients of `_features`."""

    coefficients: LoadArray
    mean: float
    """The load of a key on average."""

    def of(self, keys: LoadArray, seen: LoadArray) -> LoadArray:
        """Return the expected loads of cells with so many keys and rows."""
        expected: LoadArray = np.maximum(self.coefficients @ _features(keys, seen, self.mean), 0.0)
        return expected


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
    table = _features(keys, seen, mean)
    falls = [0.0, seen_once.sum(), seen.sum()]
    row_less = np.maximum(seen - noise, 0.0)
    for knee, up_to in zip(_KNEES, table[3:], strict=True):
        falls.append((seen / noise * (up_to - np.minimum(row_less, knee * mean * keys))).sum())
    wanted = table @ seen - noise * np.array(falls)
    coefficients = _least_squares(table, wanted)
    # Keys that a hash spreads more evenly than chance would make it seem that cells which have rows
    # get no more. All that this shows is that they differ by less than chance: not at all.
    if (coefficients @ table) @ (seen - seen.mean()) <= 0:  # their covariance
        coefficients = np.concatenate(([seen.mean()], np.zeros(table.shape[0] - 1)))
    return Mixture(coefficients, mean)


def _least_squares(table: NDArray[np.float64], wanted: LoadArray) -> LoadArray:
    """Return the coefficients b of ``table @ table.T @ b = wanted``, small where it is unsure.

    Features that say almost the same (keys and rows, where each key came once) would get large
    coefficients of opposite sign by chance. A penalty (ridge) that counts for as much as some
    cells keeps them small; the first feature, the constant, has none, so that the sum is kept.
    """
    size = table.shape[1]
    means = table[1:].mean(axis=1)
    scaled = table[1:] - means[:, None]
    spread = np.sqrt(np.square(scaled).mean(axis=1))
    spread[spread == 0] = 1.0
    scaled /= spread[:, None]
    target = (wanted[1:] - means * wanted[0]) / spread
    penalty = _PENALTY * np.eye(scaled.shape[0])
    coefficients = np.linalg.solve(scaled @ scaled.T + penalty, target) / spread
    constant = wanted[0] / size - coefficients @ means
    return np.concatenate(([constant], coefficients))


def _features(keys: LoadArray, seen: LoadArray, mean: float) -> NDArray[np.float64]:
    """Return what the mixture is of: a constant for keys that were not seen, keys, and rows.

    Rows count more or less up to the mean of so many keys, and from 1.6 times that on: few keys
    are heavy, so that a count beyond is less likely to be chance.
    """
    table = np.empty((3 + len(_KNEES), seen.size))
    table[0], table[1], table[2] = 1.0, keys, seen
    for knee, up_to in zip(_KNEES, table[3:], strict=True):
        np.minimum(seen, knee * mean * keys, out=up_to)
    return table


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
