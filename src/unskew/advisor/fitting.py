"""What counts tell of the law behind them: the Zipf exponent, and the keys not seen."""

import numpy as np

from unskew.advisor.counts import Numbers

_HIGHEST_EXPONENT = 8.0
_PRECISION = 1e-4
_EXACT_RANKS = 4096


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
