"""A tree grown from merged histograms is nearly as good as scikit-learn's on the same rows."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]  # it has no hints

from unskew.apps.decision_tree import FEATURES, DecisionTree, Tree
from unskew.apps.placing import Placing
from unskew.apps.tree_growing import TreeGrower

pytestmark = pytest.mark.slow

_DEPTH = 5


@pytest.fixture(scope="module")
def flights() -> tuple[pa.Table, pa.Table]:
    """Every fiftieth flight of the year to learn from, and others to test with."""
    table = DecisionTree().table()
    number = np.arange(table.num_rows) % 50
    return table.filter(pa.array(number == 0)), table.filter(pa.array(number == 25))


def _features(table: pa.Table) -> NDArray[np.float64]:
    return np.column_stack([table[name].to_numpy() for name in FEATURES])


def _reference_accuracy(flights: tuple[pa.Table, pa.Table]) -> float:
    learned, tested = flights
    tree = DecisionTreeClassifier(max_depth=_DEPTH, min_samples_split=100, random_state=1)
    tree.fit(_features(learned), learned["label"].to_pylist())
    return float(tree.score(_features(tested), tested["label"].to_pylist()))


def _accuracy(spark: SparkSession, tree: Tree, table: pa.Table) -> float:
    rows = spark.createDataFrame(table).select("label", tree.label_column()).collect()
    return sum(bool(label == predicted) for label, predicted in rows) / len(rows)


@pytest.mark.parametrize("bins", [400, 50])
def test_a_tree_is_within_two_points_of_scikit_learns(
    spark: SparkSession, flights: tuple[pa.Table, pa.Table], bins: int
) -> None:
    learned, tested = flights
    df = spark.createDataFrame(learned)
    grower = TreeGrower(bins=bins, max_depth=_DEPTH)
    while not grower.is_done:
        grower.learn(df, Placing("partial-key", 3))
        if not grower.grow():
            break
    assert max(node.depth for node in grower.tree.nodes) > 1
    assert _accuracy(spark, grower.tree, tested) > _reference_accuracy(flights) - 0.02


def test_a_tree_grows_with_the_micro_batches_of_a_stream(
    spark: SparkSession, flights: tuple[pa.Table, pa.Table], tmp_path: Path
) -> None:
    learned, tested = flights
    order = np.random.default_rng(1).permutation(learned.num_rows)
    (tmp_path / "in").mkdir()
    for number, part in enumerate(np.array_split(order, 3)):
        pq.write_table(learned.take(pa.array(part)), tmp_path / "in" / f"{number}.parquet")
    grower = TreeGrower(bins=100, max_depth=_DEPTH)

    def grow(batch: DataFrame, number: int) -> None:
        grower.learn(batch, Placing("shuffle", 3))
        grower.grow()

    reader = spark.readStream.schema(DecisionTree.schema).option("maxFilesPerTrigger", 1)
    writer = reader.parquet(str(tmp_path / "in")).writeStream.foreachBatch(grow)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert max(node.depth for node in grower.tree.nodes) == 3
    most_common = Counter(tested["label"].to_pylist()).most_common(1)[0][1] / tested.num_rows
    reached = _accuracy(spark, grower.tree, tested)
    assert reached > most_common
    assert reached > _reference_accuracy(flights) - 0.02


def test_histograms_with_room_for_all_values_are_exact_counts(spark: SparkSession) -> None:
    table = DecisionTree().table(300)
    rows = DecisionTree(bins=400).balanced(spark.createDataFrame(table), Placing("shuffle", 3))
    found = {
        (row["feature"], row["label"]): {one["x"]: one["y"] for one in row["bins"]}
        for row in rows.collect()
    }
    labels = table["label"].to_pylist()
    expected = {
        (name, label): Counter(
            value
            for value, own in zip(table[name].to_pylist(), labels, strict=True)
            if own == label
        )
        for name in FEATURES
        for label in set(labels)
    }
    assert found == expected
