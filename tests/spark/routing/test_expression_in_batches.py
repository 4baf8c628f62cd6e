from dataclasses import replace

import numpy as np
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession
from tests.groupings.spreading import positions_of, spread_planned

from unskew.errors import InvalidParameterError
from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.groupings.split_tables import ROW_BITS
from unskew.groupings.wrap import Wrap
from unskew.hashing import identities
from unskew.scheduling import Pieces
from unskew.spark.routing.expression import number_position, round_robin_column, worker_column
from unskew.spark.routing.placing import by_plan

# Identities where signs, halves and all bits matter.
IDS = np.array([0, 1, -1, 42, (1 << 63) - 1, -(1 << 63), 1 << 32, -(1 << 32), 0x7FFFFFFF], np.int64)


def random_plan(workers: int, n_slots: int, n_hot: int, *, split: bool, seed: int) -> Plan:
    rng = np.random.default_rng(seed)
    most = rng.integers(1, workers + 1, n_hot) if split else np.ones(n_hot, np.int64)
    pieces = [rng.permutation(workers)[:count].astype(np.int32) for count in most]
    hot = np.unique(np.concatenate([IDS[:n_hot], rng.integers(-(1 << 63), 1 << 63, n_hot)]))[:n_hot]
    return replace(
        hashing_plan(workers, HASHED_MEMBER, n_slots),
        slot_workers=rng.integers(0, workers, n_slots).astype(np.int32),
        hot_ids=rng.permutation(hot).view(np.uint64),
        pieces=Pieces(
            np.concatenate([[0], np.cumsum(most)]).astype(np.int64),
            np.concatenate([*pieces, np.empty(0, np.int32)]).astype(np.int32),
            rng.random(int(most.sum())) + 0.1,
        ),
    )


@pytest.mark.parametrize(
    ("workers", "n_slots", "n_hot", "split"),
    [
        (1, 1, 0, False),
        (1, 2, 5, True),
        (3, 1, 0, False),
        (3, 1, 40, True),
        (7, 14, 20, False),
        (7, 14, 20, True),
        (8, 512, 8, True),
        (100, 8192, 100, True),
        (40, 65_536, 700, False),
    ],
)
def test_the_expression_says_what_the_core_says(
    spark: SparkSession, workers: int, n_slots: int, n_hot: int, split: bool
) -> None:
    plan = random_plan(workers, n_slots, n_hot, split=split, seed=n_hot)
    rng = np.random.default_rng(1)
    ids = np.concatenate([IDS, plan.hot_ids.view(np.int64), rng.integers(-(1 << 63), 1 << 63, 500)])
    ids = rng.permutation(np.tile(ids, 3))
    numbers = rng.integers(0, 1 << 20, ids.size) + (rng.integers(0, 1 << 30, ids.size) << ROW_BITS)
    numbers[:3] = [(1 << 33) - 1, ((1 << 30) - 1) << 33, (1 << 63) - 1]
    df = spark.createDataFrame(np.stack([ids, numbers], 1).tolist(), "id bigint, number bigint")
    position = number_position(sf.col("number")) if split else None
    column = worker_column(sf.col("id"), plan, position=position)
    got = df.select("id", "number", column.alias("worker")).toArrow()
    assert str(got["worker"].type) == "int32"
    expected = spread_planned(identities(got["id"]), positions_of(got["number"].to_numpy()), plan)
    np.testing.assert_array_equal(got["worker"].to_numpy(), expected)


@pytest.mark.parametrize("split", [False, True])
def test_without_a_row_number_nothing_is_added_to_the_rows(
    spark: SparkSession, split: bool
) -> None:
    df = spark.range(10).withColumn("other", sf.lit(1)).repartition(2)
    plan = random_plan(4, 8, 3, split=split, seed=1)
    placed = by_plan(df, sf.xxhash64("id"), plan, ["other"]).placed(plan.workers)
    text = placed._jdf.queryExecution().executedPlan().toString().partition("REPARTITION_BY_NUM")[0]
    assert "monotonically" not in text
    assert "Project" not in text
    assert "Python" not in text


def test_a_plan_that_splits_needs_a_position() -> None:
    plan = random_plan(4, 8, 3, split=True, seed=1)
    assert plan.n_split_keys
    with pytest.raises(InvalidParameterError, match="position"):
        worker_column(sf.lit(1), plan)


def test_a_plan_of_other_identities_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="identities that Spark computes"):
        worker_column(sf.lit(1), Wrap(4).plan)


def test_round_robin_starts_at_another_worker_in_each_partition(spark: SparkSession) -> None:
    df = spark.range(0, 20, 1, 2).withColumn("number", sf.monotonically_increasing_id())
    rows = df.select("id", round_robin_column(4, sf.col("number")).alias("worker")).collect()
    assert [row["worker"] for row in sorted(rows)[:10]] == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert [row["worker"] for row in sorted(rows)[10:]] == [1, 2, 3, 0, 1, 2, 3, 0, 1, 2]
