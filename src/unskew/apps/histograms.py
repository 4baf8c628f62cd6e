"""Approximate histograms of Ben-Haim and Tom-Tov, as Spark's ``histogram_numeric`` makes them.

A histogram is a list of bins in rising order, each a centre and how many values fell to it. Spark
makes and merges them; here is what the driver asks them: how many values lie below a point, which
points cut the values into equal parts, and what two of them are together.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_Floats = NDArray[np.float64]


class Histogram(NamedTuple):
    """Bins of a histogram that was made with room for ``capacity`` of them [1]_.

    Examples
    --------
    Fewer bins than there is room for were never merged, and count exactly:

    >>> ages = Histogram.of([(20.0, 3.0), (30.0, 5.0)], capacity=10)
    >>> ages.below(20.0), ages.below(25.0), ages.below(40.0)
    (3.0, 3.0, 8.0)

    References
    ----------
    .. [1] Ben-Haim, Tom-Tov, "A Streaming Parallel Decision Tree Algorithm", JMLR 2010.
    """

    centres: _Floats
    counts: _Floats
    capacity: int

    @classmethod
    def of(cls, bins: Iterable[Sequence[float]], capacity: int) -> "Histogram":
        """Return the histogram of pairs of a centre and a count."""
        pairs = np.array([(x, y) for x, y in bins], np.float64).reshape(-1, 2)
        order = np.argsort(pairs[:, 0], kind="stable")
        return cls(pairs[order, 0], pairs[order, 1], capacity)

    @property
    def total(self) -> float:
        """How many values it has."""
        return float(self.counts.sum())

    @property
    def is_exact(self) -> bool:
        """Whether every bin is one value: merging stops at ``capacity`` bins, never below."""
        return self.centres.size < self.capacity

    def below(self, point: float) -> float:
        """Return how many values are at most ``point``: the paper's *sum* procedure.

        Half of a bin lies on each side of its centre, and between two centres the density is
        taken to change along a line.

        >>> Histogram.of([(0.0, 4.0), (10.0, 4.0)], capacity=2).below(5.0)
        4.0
        """
        at = int(np.searchsorted(self.centres, point, side="right"))
        if self.is_exact or at in (0, self.centres.size):
            return float(self.counts[:at].sum())
        left, right = self.counts[at - 1], self.counts[at]
        part = (point - self.centres[at - 1]) / (self.centres[at] - self.centres[at - 1])
        here = left + (right - left) * part
        return float(self.counts[: at - 1].sum() + left / 2 + (left + here) / 2 * part)

    def cuts(self, parts: int) -> _Floats:
        """Return points between the values that cut them into about equal parts: *uniform*.

        Of exact bins all points half-way between neighbours are returned, if there are not more
        of them than ``parts``.
        """
        middles = (self.centres[1:] + self.centres[:-1]) / 2
        if self.is_exact and middles.size <= parts:
            return middles
        lefts = np.cumsum(self.counts)[:-1] - self.counts[:-1] / 2
        rights = np.cumsum(self.counts)[1:] - self.counts[1:] / 2
        wanted = self.total * np.arange(1, parts) / parts
        at = np.clip(np.searchsorted(rights, wanted), 0, max(0, middles.size - 1))
        if not middles.size:
            return middles
        share = np.clip((wanted - lefts[at]) / (rights[at] - lefts[at]), 0.0, 1.0)
        points = self.centres[at] + share * (self.centres[at + 1] - self.centres[at])
        return np.unique(middles[at] if self.is_exact else points)

    def merge(self, other: "Histogram") -> "Histogram":
        """Return the histogram of both; the two nearest bins are joined until all have room.

        >>> Histogram.of([(1, 2), (5, 1)], 2).merge(Histogram.of([(6, 3)], 2)).centres.tolist()
        [1.0, 5.75]
        """
        pairs = np.concatenate([np.column_stack(self[:2]), np.column_stack(other[:2])])
        centres, where = np.unique(pairs[:, 0], return_inverse=True)
        counts: _Floats = np.bincount(where, pairs[:, 1], centres.size).astype(np.float64)
        while centres.size > self.capacity:
            near = int(np.argmin(np.diff(centres)))
            both = counts[near] + counts[near + 1]
            centres[near] = (centres[near : near + 2] * counts[near : near + 2]).sum() / both
            counts[near] = both
            centres, counts = np.delete(centres, near + 1), np.delete(counts, near + 1)
        return Histogram(centres, counts, self.capacity)
