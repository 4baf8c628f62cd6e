"""A decision tree that is grown from histograms, which workers make of what they see."""

from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_int
from unskew.apps import data
from unskew.apps.base import KeyedApplication
from unskew.apps.drawing import uniform
from unskew.apps.trees import Tree
from unskew.errors import InvalidParameterError

FEATURES = ("month", "weekday", "hour", "distance", "air_time", "departure_delay")
_LATE_MINUTES = 15


class DecisionTree(KeyedApplication):
    """Make a histogram for each leaf, feature and class of a tree: what splits are decided by [1]_.

    A row becomes one row a feature, placed by leaf, feature and class, as in paper 003: with
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
            name: sf.floor(uniform("value", seed) * 50).cast("double")
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
