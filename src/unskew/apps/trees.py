"""A tree of decisions over columns: Spark expressions for a row's leaf and its class."""

from collections.abc import Callable
from typing import NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import Column


class Node(NamedTuple):
    """A leaf with its class; with a ``feature`` rows go on, at most ``cut`` to the left."""

    label: str | None
    depth: int
    feature: str | None = None
    cut: float = 0.0
    left: int = 0
    right: int = 0


class Tree:
    """Decisions, beginning with one leaf, which grow by `split`.

    Examples
    --------
    >>> tree = Tree()
    >>> tree.split(0, "age", 30.0, ("young", "old"))
    (1, 2)
    >>> tree.leaves
    [1, 2]
    """

    def __init__(self) -> None:
        self.nodes = [Node(None, 0)]

    @property
    def leaves(self) -> list[int]:
        """Numbers of the nodes without a decision."""
        return [number for number, node in enumerate(self.nodes) if node.feature is None]

    def split(
        self, leaf: int, feature: str, cut: float, labels: tuple[str, str]
    ) -> tuple[int, int]:
        """Let a leaf decide, and return the two leaves that it leads to."""
        depth = self.nodes[leaf].depth + 1
        left, right = len(self.nodes), len(self.nodes) + 1
        self.nodes += [Node(label, depth) for label in labels]
        self.nodes[leaf] = self.nodes[leaf]._replace(
            feature=feature, cut=cut, left=left, right=right
        )
        return left, right

    def leaf_column(self) -> Column:
        """Return the number of the leaf (int) that a row falls to; null counts as large."""
        return self._column(0, lambda number: sf.lit(number))

    def label_column(self) -> Column:
        """Return the class (text) of the leaf that a row falls to; null if there is none yet."""
        return self._column(0, lambda number: sf.lit(self.nodes[number].label).cast("string"))

    def _column(self, number: int, of_leaf: Callable[[int], Column]) -> Column:
        node = self.nodes[number]
        if node.feature is None:
            return of_leaf(number)
        left, right = (self._column(child, of_leaf) for child in (node.left, node.right))
        return sf.when(sf.col(node.feature) <= sf.lit(node.cut), left).otherwise(right)
