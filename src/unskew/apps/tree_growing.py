"""Grow a decision tree from the histograms of its leaves."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew._validation import check_int
from unskew.apps.decision_tree import DecisionTree
from unskew.apps.histograms import Histogram
from unskew.apps.placing import Placing
from unskew.apps.trees import Tree

_Counts = NDArray[np.float64]
_ByLabel = dict[str, Histogram]


class TreeGrower:
    """Turn histograms of a leaf into a split, where the split makes classes purer.

    A batch is read once a level: ``for _ in range(6): grower.learn(df, placing); grower.grow()``.
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
    min_gain
        By how much a split must lower the Gini impurity, weighted by the rows of the leaf.
    """

    def __init__(
        self, *, bins: int = 200, max_depth: int = 6, min_rows: int = 100, min_gain: float = 1e-4
    ) -> None:
        self.bins = check_int("TreeGrower", "bins", bins, minimum=2)
        self.max_depth = check_int("TreeGrower", "max_depth", max_depth, minimum=1)
        self.min_rows = check_int("TreeGrower", "min_rows", min_rows, minimum=2)
        self.min_gain = min_gain
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
        if gain <= self.min_gain:
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
