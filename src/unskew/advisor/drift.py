"""Drift: how much of a stream changes hands among its hot keys as time goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from unskew.advisor.key_counts import KeyCounts, Numbers, merged_counts
from unskew.hashing import Ids

HOT_KEYS = 10
"""So many of the hottest keys of a window are compared with another."""
WINDOWS = 20
_DEVIATIONS = 2.0


@dataclass(frozen=True)
class Drift:
    """How the shares of hot keys change between windows; 0 is not at all, 1 is everything.

    A change is the share of the rows that would have to go to other keys to make one window's hot
    keys (the ten hottest of either) as hot as in the other; what chance explains does not count.

    Parameters
    ----------
    mean, largest
        Of the changes from each window to the next.
    overall
        The change from the first window to the last.
    windows
        How many windows were compared; with fewer than two nothing is known and all is 0.
    """

    mean: float
    largest: float
    overall: float
    windows: int


class DriftWindow(NamedTuple):
    """A stretch of time: the rows of its hottest keys at least, and of all its keys together."""

    counts: KeyCounts
    total: float


def measure_drift(windows: Sequence[KeyCounts]) -> Drift:
    """Compare windows, of which all keys are known and which are in the order of time.

    >>> from unskew.advisor.key_counts import count_by_key
    >>> calm, other = (count_by_key(np.repeat(np.uint64([key, 9]), 500)) for key in (1, 2))
    >>> drift = measure_drift([calm, calm, other])
    >>> 0.45 < drift.largest < 0.5, drift.mean == drift.largest / 2, drift.windows
    (True, True, 3)
    """
    return drift_between([DriftWindow(part, part.total) for part in _joined(windows)])


def drift_between(parts: Sequence[DriftWindow]) -> Drift:
    """Compare windows in the order of time; of each the ten hottest keys of any must be known."""
    if len(parts) < 2:
        return Drift(0.0, 0.0, 0.0, len(parts))
    changes = np.array([_change(*pair) for pair in pairwise(parts)])
    overall = _change(parts[0], parts[-1])
    return Drift(float(changes.mean()), float(changes.max()), overall, len(parts))


def _joined(windows: Sequence[KeyCounts]) -> list[KeyCounts]:
    """Join neighbours, so that there are few windows and each tells something."""
    bounds = np.linspace(0, len(windows), min(WINDOWS, len(windows)) + 1).astype(int)
    return [merged_counts(windows[first:last]) for first, last in pairwise(bounds)]


def _change(one: DriftWindow, other: DriftWindow) -> float:
    hot = np.union1d(_hottest(one.counts), _hottest(other.counts))
    first, second = _shares(one, hot), _shares(other, hot)
    both = (first * one.total + second * other.total) / (one.total + other.total)
    chance = np.sqrt(both * (1.0 - both) * (1.0 / one.total + 1.0 / other.total))
    beyond = np.maximum(np.abs(first - second) - _DEVIATIONS * chance, 0.0)
    return float(min(0.5 * beyond.sum(), 1.0))


def _hottest(table: KeyCounts) -> Ids:
    count = min(HOT_KEYS, table.ids.size)
    return table.ids[np.argpartition(-table.rows, count - 1)[:count]]


def _shares(window: DriftWindow, ids: Ids) -> Numbers:
    table = window.counts
    places = np.minimum(np.searchsorted(table.ids, ids), table.ids.size - 1)
    return np.where(table.ids[places] == ids, table.rows[places], 0.0) / window.total
