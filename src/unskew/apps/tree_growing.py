"""Grow a decision tree from the approximate histograms of its leaves."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew._validation import check_int
from unskew.apps.decision_tree import DecisionTree, Tree
from unskew.apps.placing import Placing

_Floats = NDArray[np.float64]

_LEAST_GAIN = 1e-4
"""By how much a split must lower the Gini impurity, weighted by the rows of the leaf."""


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


_Counts = NDArray[np.float64]
_ByLabel = dict[str, Histogram]


class TreeGrower:
    """Turn histograms of a leaf into a split, where the split makes classes purer.

    A batch is read once per level: ``for _ in range(6): grower.learn(df, placing); grower.grow()``.
    On a stream, ``foreachBatch`` calls `learn` and `grow` for every micro-batch: a leaf that has
    seen ``min_rows`` is split, and its children begin to learn with the next micro-batch.

    Parameters
    ----------
    bins
        Bins of a histogram, and the most cuts of a feature that are tried.
    max_depth
        How many decisions there are at most from root to leaf.
    min_rows
        A leaf that has seen fewer rows is not split.
    """

    def __init__(self, *, bins: int = 200, max_depth: int = 6, min_rows: int = 100) -> None:
        self.bins = check_int("TreeGrower", "bins", bins, minimum=2)
        self.max_depth = check_int("TreeGrower", "max_depth", max_depth, minimum=1)
        self.min_rows = check_int("TreeGrower", "min_rows", min_rows, minimum=2)
        self.tree = Tree()
        self._seen: dict[int, dict[str, _ByLabel]] = {}
        self._done: set[int] = set()

    @property
    def is_done(self) -> bool:
        """Whether no leaf can be split any more, whatever a batch shows."""
        return all(leaf in self._done for leaf in self.tree.leaves)

    def learn(self, df: DataFrame, placing: Placing) -> None:
        """Add the rows of a batch to the histograms of their leaves."""
        application = DecisionTree(bins=self.bins, tree=self.tree)
        growing = [leaf for leaf in self.tree.leaves if leaf not in self._done]
        if not growing:
            return
        rows = df.where(self.tree.leaf_column().isin(growing))
        for row in application.balanced(rows, placing).collect():
            new = Histogram.of(row["bins"], self.bins)
            of_feature = self._seen.setdefault(row["leaf"], defaultdict(dict))[row["feature"]]
            old = of_feature.get(row["label"])
            of_feature[row["label"]] = new if old is None else old.merge(new)

    def grow(self) -> int:
        """Split every leaf that has seen enough, and return how many were."""
        before = len(self.tree.nodes)
        for leaf, features in list(self._seen.items()):
            first = next(iter(features.values()))
            total = sum(histogram.total for histogram in first.values())
            if total < self.min_rows:
                continue
            self._split(leaf, features)
            del self._seen[leaf]
        return (len(self.tree.nodes) - before) // 2

    def _split(self, leaf: int, features: dict[str, _ByLabel]) -> None:
        labels = sorted({label for of_feature in features.values() for label in of_feature})
        gain, feature, cut, left, right = max(
            (
                best_cut(of_feature, labels, self.bins, name)
                for name, of_feature in features.items()
            ),
            key=lambda found: (found[0], found[1]),
        )
        if self.tree.nodes[leaf].label is None:
            whole = labels[int(np.argmax(left + right))]
            self.tree.nodes[leaf] = self.tree.nodes[leaf]._replace(label=whole)
        if gain <= _LEAST_GAIN:
            self._done.add(leaf)
            return
        names = (labels[int(np.argmax(left))], labels[int(np.argmax(right))])
        children = self.tree.split(leaf, feature, cut, names)
        for child, counts in zip(children, (left, right), strict=True):
            if self.tree.nodes[child].depth >= self.max_depth or np.count_nonzero(counts) < 2:
                self._done.add(child)


def best_cut(
    of_feature: _ByLabel, labels: list[str], parts: int, feature: str
) -> tuple[float, str, float, _Counts, _Counts]:
    """Return the cut that makes classes purest: its gain, feature, place, and counts either side.

    >>> low, high = Histogram.of([(1, 4)], 9), Histogram.of([(3, 4)], 9)
    >>> best_cut({"a": low, "b": high}, ["a", "b"], 9, "size")[:3]
    (0.5, 'size', 2.0)
    """
    empty = Histogram.of([], parts)
    histograms = [of_feature.get(label, empty) for label in labels]
    totals = np.array([histogram.total for histogram in histograms])
    whole = histograms[0]
    for other in histograms[1:]:
        whole = whole.merge(other)
    best = (0.0, feature, 0.0, totals, np.zeros_like(totals))
    for cut in whole.cuts(parts).tolist():
        left = np.array([histogram.below(cut) for histogram in histograms])
        right = totals - left
        gain = gini(totals) - (left.sum() * gini(left) + right.sum() * gini(right)) / totals.sum()
        if gain > best[0]:
            best = (float(gain), feature, cut, left, right)
    return best


def gini(counts: _Counts) -> float:
    """Return the chance that two rows, drawn at random, are of unlike classes; 0 for no rows.

    >>> gini(np.array([1.0, 1.0])), gini(np.array([5.0, 0.0])), gini(np.array([0.0, 0.0]))
    (0.5, 0.0, 0.0)
    """
    total = float(counts.sum())
    return 1.0 - float(((counts / total) ** 2).sum()) if total > 0 else 0.0
