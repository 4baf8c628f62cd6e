"""A decision tree that is grown from histograms, which workers make of what they see."""

from collections.abc import Callable
from typing import ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_int
from unskew.apps import data
from unskew.apps.base import KeyedApplication
from unskew.apps.data import uniform_draw
from unskew.errors import InvalidParameterError

FEATURES = ("month", "weekday", "hour", "distance", "air_time", "departure_delay")
_LATE_MINUTES = 15


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


class DecisionTree(KeyedApplication):
    """Make a histogram for each leaf, feature and class of a tree: what splits are decided by [1]_.

    A row becomes one row per feature, placed by leaf, feature and class, as published: with
    ``shuffle`` every worker has every histogram, with ``partial-key`` at most two have one. Spark
    makes, keeps and merges them (``histogram_numeric`` is the histogram of the paper).
    `tree_growing.TreeGrower` grows trees with it, from a batch or from micro-batches.

    Parameters
    ----------
    bins
        Bins of a histogram. Of at most so many distinct values a histogram is exact; beyond, its
        bins depend a little on which rows came together, with plain Spark as with unskew.
    tree
        The tree so far; by default a single leaf.

    References
    ----------
    .. [1] Ben-Haim, Tom-Tov, "A Streaming Parallel Decision Tree Algorithm", JMLR 2010.
    """

    name: ClassVar[str] = "decision-tree"
    description: ClassVar[str] = "histograms per leaf, feature and class, from which a tree grows"
    schema: ClassVar[str] = "at timestamp, label string, " + ", ".join(
        f"{name} double" for name in FEATURES
    )
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = ("leaf", "feature", "label")
    result_key = key

    def __init__(self, *, bins: int = 200, tree: Tree | None = None) -> None:
        self.bins = check_int("decision-tree", "bins", bins, minimum=2)
        self.tree = Tree() if tree is None else tree
        if not isinstance(self.tree, Tree):
            raise InvalidParameterError("decision-tree", "tree", "a Tree", tree)

    def table(self, limit: int | None = None) -> pa.Table:
        """Return the flights that arrived from New York; over 15 minutes after schedule is late."""
        flights = data.flights()
        flights = flights.filter(pc.is_valid(flights["arrival_delay"])).slice(0, limit)
        late = pc.greater(flights["arrival_delay"], _LATE_MINUTES)
        columns = {name: flights[name].cast(pa.float64()) for name in FEATURES}
        label = pc.if_else(late, "late", "on time")
        return pa.table({"at": flights["at"], "label": label, **columns})

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up rows of small whole numbers, late where the last is high."""
        values = {
            name: sf.floor(uniform_draw("value", seed) * 50).cast("double")
            for seed, name in enumerate(FEATURES)
        }
        late = values[FEATURES[-1]] + values[FEATURES[0]] / 10 > 40
        return numbers.select(
            sf.col("timestamp").alias("at"),
            sf.when(late, "late").otherwise("on time").alias("label"),
            *(value.alias(name) for name, value in values.items()),
        )

    def prepared(self, df: DataFrame) -> DataFrame:
        """Return a row for each value of each row, with the leaf of the row."""
        pairs = sf.array(
            *(
                sf.struct(sf.lit(name).alias("feature"), sf.col(name).alias("value"))
                for name in FEATURES
            )
        )
        return df.select(self.tree.leaf_column().alias("leaf"), "label", sf.inline(pairs)).where(
            "value is not null and label is not null"
        )

    def merged(self, rows: DataFrame) -> DataFrame:
        """Return the histograms, as arrays of centre ``x`` and count ``y``."""
        histogram = sf.histogram_numeric("value", sf.lit(self.bins))
        return rows.groupBy(*self.key).agg(_without_twins(histogram).alias("bins"))


def _without_twins(bins: Column) -> Column:
    """Return bins with those of one centre added up: merging leaves them beside each other."""
    centres = sf.array_distinct(sf.transform(bins, lambda one: one["x"]))

    def whole(centre: Column) -> Column:
        twins = sf.filter(bins, lambda one: one["x"] == centre)
        count = sf.aggregate(twins, sf.lit(0.0), lambda total, one: total + one["y"])
        return sf.struct(centre.alias("x"), count.alias("y"))

    return sf.transform(centres, whole)
