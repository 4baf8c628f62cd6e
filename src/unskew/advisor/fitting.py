"""Fit the law behind counts: the Zipf exponent, and the keys that were not seen."""

import numpy as np
from numpy.typing import NDArray

from unskew.advisor.key_counts import Numbers

_HIGHEST_EXPONENT = 8.0
_PRECISION = 1e-4
_EXACT_RANKS = 4096
_ENOUGH_KEYS = 1000


def fit_zipf(rows: Numbers, keys: float) -> float:
    """Return the exponent of the Zipf law under which these counts are most likely.

    Parameters
    ----------
    rows
        Rows of each key that was seen.
    keys
        Number of keys in all, those not seen among them.

    Notes
    -----
    Ranks are those by count, which makes nearly even counts look a little more skewed than they
    are: chance alone gives uniform keys an exponent near 0.1 where they have some 100 rows each.

    Examples
    --------
    >>> ranks = np.arange(1, 1001)
    >>> round(fit_zipf(1e6 / ranks**1.3, 1000), 2)
    1.3
    >>> fit_zipf(np.array([5.0]), 1)
    0.0
    """
    if keys < 2:
        return 0.0
    ordered = -np.sort(-rows)
    wanted = float(ordered @ np.log(np.arange(1.0, ordered.size + 1))) / float(ordered.sum())
    low, high = 0.0, _HIGHEST_EXPONENT
    while high - low > _PRECISION:  # the mean logarithm of the rank falls with the exponent
        middle = 0.5 * (low + high)
        if _mean_log_rank(middle, keys) > wanted:
            low = middle
        else:
            high = middle
    return round(high, 3) if low > 0 else 0.0


def _mean_log_rank(exponent: float, keys: float) -> float:
    """Return the mean of ln(rank) under a Zipf law; far ranks by an integral."""
    ranks = np.arange(1.0, min(keys, _EXACT_RANKS) + 1)
    weights = ranks**-exponent
    mass, logs = float(weights.sum()), float(weights @ np.log(ranks))
    if keys > _EXACT_RANKS:
        edges = np.geomspace(_EXACT_RANKS + 0.5, keys + 0.5, 2000)
        middles = np.sqrt(edges[1:] * edges[:-1])
        parts = np.diff(edges) * middles**-exponent
        mass += float(parts.sum())
        logs += float(parts @ np.log(middles))
    return logs / mass


def unseen_keys(rows: Numbers, share: float) -> float:
    """Estimate how many keys a sample has missed, from the sample alone.

    Parameters
    ----------
    rows
        Rows of each key in the sample.
    share
        Which part of all rows the sample is.

    Notes
    -----
    The geometric mean of Chao's estimate [1], which is a lower bound, and Shlosser's [2], which
    supposes that rare keys are as rare in the whole as in the sample and tends to be too high. It
    remains a guess: from a sample alone nobody can tell whether a million more keys of one row
    each are in the rest. A sketch that sees all rows does better (`DistinctKeys`).

    Examples
    --------
    A sample of everything misses nothing, and one in which all keys came often hardly any:

    >>> unseen_keys(np.array([1.0, 1.0, 7.0]), 1.0)
    0.0
    >>> unseen_keys(np.full(1000, 50.0), 0.1)
    0.0

    References
    ----------
    [1] Chao, "Nonparametric Estimation of the Number of Classes in a Population", 1984.
    [2] Shlosser, "On Estimation of the Size of the Dictionary of a Long Text", 1981.
    """
    once, twice = (float(np.count_nonzero(rows == times)) for times in (1, 2))
    if share >= 1.0 or once == 0:
        return 0.0
    most = once * (1.0 - share) / share  # as many as if each had one row
    chao = (1.0 - share) * once * (once - 1.0) / (2.0 * (twice + 1.0))
    times, keys = np.unique(rows, return_counts=True)
    left = (1.0 - share) ** times
    shlosser = once * float(keys @ left) / float(keys @ (times * share * left / (1.0 - share)))
    return float(min(np.sqrt(chao * shlosser), most))


def unseen_share(rows: Numbers) -> float:
    """Estimate the share of rows whose keys a sample has missed (Good and Turing).

    >>> unseen_share(np.array([1.0, 1.0, 8.0]))
    0.2
    """
    return float(np.count_nonzero(rows == 1)) / float(rows.sum())


def rates_behind(rows: Numbers, unseen: float) -> tuple[Numbers, Numbers]:
    """Estimate how often keys come for which a sample has so many rows, and how unsure that is.

    A key with n rows in the sample has, on average, fewer (or more) if the sample is taken again:
    (n + 1) · K(n + 1) / K(n), where K(n) keys have n rows each [1]. No law is supposed.

    Parameters
    ----------
    rows
        Rows of each key in the sample.
    unseen
        How many keys have none.

    Returns
    -------
    means, variances
        Of the rows that keys of 0, 1, 2 … rows in a sample may expect in another.

    Notes
    -----
    Each K is the sum over some neighbours. Where that is of less than 1,000 keys, higher counts are
    lowered by as much as the two before, and lower ones are taken for the first that is known.

    Examples
    --------
    Keys that are alike all have the mean, whatever the sample has of them:

    >>> sample = np.random.default_rng(1).poisson(9.0, 100_000).astype(float)
    >>> means, variances = rates_behind(sample, 0)
    >>> bool(np.abs(means[6:13] - 9).max() < 0.5), bool(variances[6:13].mean() < 1)
    (True, True)

    References
    ----------
    [1] Robbins, "An Empirical Bayes Approach to Statistics", 1956; Good, "The Population
       Frequencies of Species and the Estimation of Population Parameters", 1953.
    """
    largest = int(rows.max(initial=0))
    keys = np.bincount(rows.astype(np.int64), minlength=largest + 3).astype(np.float64)
    keys[0] = unseen
    times = np.arange(largest + 1)
    reach = (np.sqrt(times) / 4).astype(np.int64)
    numbers = np.arange(keys.size)
    near = [
        _sums_between(weighted, times - reach + step, times + reach + step)
        for step, weighted in enumerate((keys, numbers * keys, numbers * (numbers - 1) * keys))
    ]
    enough = np.flatnonzero(near[0] >= _ENOUGH_KEYS)
    means, variances = times.astype(np.float64), times.astype(np.float64)
    if enough.size:
        first, last = enough[0], enough[-1]
        sure = slice(first, last + 1)
        base = np.maximum(near[0][sure], 1.0)
        means[sure] = near[1][sure] / base
        variances[sure] = np.maximum(near[2][sure] / base - means[sure] ** 2, 0.0)
        lowered = float(np.clip((times - means)[max(first, last - 1) : last + 1].mean(), 0.0, 2.0))
        means[last + 1 :] = variances[last + 1 :] = times[last + 1 :] - lowered
        means[:first], variances[:first] = means[first], variances[first]
    return np.maximum(means, 0.01), variances


def _sums_between(values: Numbers, first: NDArray[np.int64], last: NDArray[np.int64]) -> Numbers:
    """Return the sums of ``values`` from each ``first`` to ``last``, as far as there are any."""
    sums = np.concatenate(([0.0], np.cumsum(values)))
    size = values.size
    between: Numbers = sums[np.minimum(last + 1, size)] - sums[np.minimum(first, size)]
    return between
