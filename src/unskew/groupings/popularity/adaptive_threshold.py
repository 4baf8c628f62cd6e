"""The threshold of popularity grouping: the share from which on keys are shuffled."""

import numpy as np

from unskew._compiled import compiled
from unskew._validation import check_int, check_real
from unskew.hashing import Ids, mix
from unskew.sketches._coin_vectors import Census

LOWEST_FREQUENCY = 1e-6
"""A lower threshold would need gigabytes of synopsis and weeks of rows to learn."""
LARGEST_STEP = 2.0
"""By how much one interval may raise or lower the threshold at most."""

_SMALLEST_HASHES = 256
_FREE = np.uint64(0xFFFFFFFFFFFFFFFF)


def hot_share(owner: str, frequency: float | None, workers: int) -> float:
    """Return the share of rows from which on a key is hot: what is given, or 1/(20·workers).

    >>> hot_share("doctest", None, 16)
    0.003125
    """
    if frequency is None:
        fair = check_int(owner, "workers", workers, minimum=1)
        return max(LOWEST_FREQUENCY, 1 / (20 * fair))
    return check_real(owner, "frequency", frequency, minimum=LOWEST_FREQUENCY, maximum=1)


def next_frequency(
    frequency: float, rare_rows: float, hot_keys: float, time_weight: float, memory_weight: float
) -> float:
    """Return the threshold at which time and memory would cost the same, as far as chords tell.

    Shuffling fewer keys costs time: w_T·F_L, the share of rows that are hashed, is 0 at threshold
    0 and w_T at 1. Shuffling more keys costs memory: w_S·H, the share of keys that are shuffled,
    is w_S at threshold 0 and 0 at 1. Both curves are replaced by straight lines through what was
    measured and the known end on the side where they must cross (Fig. 12).

    Parameters
    ----------
    frequency
        f′: the threshold that was in force, in (0, 1).
    rare_rows
        F_L: share of rows whose key was not hot.
    hot_keys
        H: share of keys that were hot.
    time_weight, memory_weight
        w_T and w_S, at least one of them positive.

    Notes
    -----
    The paper's text says to *raise* the threshold where w_T·F_L is the larger one. F_L grows with
    the threshold, so it must fall, as the paper's own Fig. 12 has it. The chords towards 1 may
    jump far beyond the crossing, because shares of keys are much smaller than 1: a step is at
    most a factor of two.

    Examples
    --------
    Too many rows are hashed, so more keys must become hot:

    >>> next_frequency(0.04, 0.5, 0.1, 1.0, 1.0) < 0.04
    True

    Where both cost the same, the threshold stays:

    >>> next_frequency(0.04, 0.25, 0.25, 1.0, 1.0)
    0.04
    """
    time, memory = time_weight * rare_rows, memory_weight * hot_keys
    if time > memory:
        crossing = frequency * memory_weight / (time + memory_weight - memory)
    elif time < memory:
        crossing = frequency + (1 - frequency) * (memory - time) / (time_weight - time + memory)
    else:
        crossing = frequency
    return min(max(crossing, frequency / LARGEST_STEP), frequency * LARGEST_STEP, 1.0)


def frequency_after(
    frequency: float, census: Census, n_keys: float, time_weight: float, memory_weight: float
) -> float:
    """Return the threshold for the next interval from what reached the synopsis in the last one.

    Of v₁ records v₂ were of hot keys, and v₃ distinct hot keys were among them: F_L = 1 − v₂/v₁ and
    H = v₃ / ``n_keys``.
    """
    if census.records == 0 or n_keys == 0:
        return frequency
    rare_rows = 1 - census.hot_records / census.records
    hot_keys = min(1.0, census.hot_keys / n_keys)
    return next_frequency(frequency, rare_rows, hot_keys, time_weight, memory_weight)


def new_smallest_hashes() -> Ids:
    """Return room for the smallest hashes of a stream, from which its keys can be counted."""
    return np.full(_SMALLEST_HASHES, _FREE)


@compiled
def keep_smallest(smallest: Ids, ids: Ids, seed: np.uint64) -> None:
    """Take in those hashes of ``ids`` that are new and among the smallest."""
    largest = smallest[-1]
    for i in range(ids.size):
        bits = mix(ids[i], seed)
        if bits < largest:
            place = np.searchsorted(smallest, bits)
            if smallest[place] != bits:
                smallest[place + 1 :] = smallest[place:-1].copy()
                smallest[place] = bits
                largest = smallest[-1]


def count_keys(smallest: Ids) -> float:
    """Estimate how many distinct keys there were, within some 6 %; exact for up to 255.

    If the k-th smallest of evenly spread hashes is at a share u of their range, there are about
    (k − 1)/u of them.
    """
    if smallest[-1] == _FREE:
        return float(np.count_nonzero(smallest != _FREE))
    return (smallest.size - 1) / (float(smallest[-1]) / 2.0**64)
