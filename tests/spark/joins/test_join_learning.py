"""What is learned of two tables of which only parts are seen."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.join_cases import WORKERS, rows_of

import unskew.spark as us
from unskew.metrics import imbalance_percent
from unskew.spark.joins.learning import learn_join, plan_join
from unskew.spark.joins.planning import Copying, Counts
from unskew.spark.joins.sides import check_sides

pytestmark = pytest.mark.spark

HOT = 7  # has 4,000 rows on the left and 3 on the right
HOT_RIGHT = 8  # has 2 rows on the left and 3,000 on the right


@pytest.fixture(scope="module")
def sides(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    def table(keys: list[int], name: str) -> DataFrame:
        mixed = np.random.default_rng(1).permutation(keys)
        return spark.createDataFrame(pa.table({"k": mixed, name: range(mixed.size)})).cache()

    cold = list(range(100, 2_100)) * 3
    left = table([HOT] * 4_000 + [HOT_RIGHT] * 2 + cold, "x")
    right = table([HOT] * 3 + [HOT_RIGHT] * 3_000 + cold, "y")
    return left, right


@pytest.fixture
def few_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unskew.spark.joins.learning.sample_size", lambda _: 2_000)


def learned(
    sides: tuple[DataFrame, DataFrame], learn: str
) -> tuple[Counts, dict[int, tuple[float, float]]]:
    question = check_sides("join", *sides, "k", "inner", merged=True).question("inner")
    counts = learn_join(question, WORKERS, learn=learn, seed=3).counts
    spark = sides[0].sparkSession
    hashes = spark.sql(f"select xxhash64({HOT}L), xxhash64({HOT_RIGHT}L)").collect()[0]
    found = {}
    for key, identity in zip((HOT, HOT_RIGHT), hashes, strict=True):
        (at,) = np.flatnonzero(counts.ids == np.int64(identity).view(np.uint64))
        found[key] = float(counts.left[at]), float(counts.right[at])
    return counts, found


def test_a_pass_counts_every_row(sides: tuple[DataFrame, DataFrame]) -> None:
    counts, found = learned(sides, "pass")
    assert found == {HOT: (4_000, 3), HOT_RIGHT: (2, 3_000)}
    out = 4_000 * 3 + 2 * 3_000 + 2_000 * 9
    assert (counts.left * counts.right).sum() + counts.slot_out.sum() == out
    assert counts.left.sum() + counts.slot_left.sum() == 10_002
    assert counts.right.sum() + counts.slot_right.sum() == 9_003


@pytest.mark.usefixtures("few_sampled")
def test_a_key_that_is_frequent_on_one_side_is_counted_on_the_other(
    sides: tuple[DataFrame, DataFrame],
) -> None:
    counts, found = learned(sides, "sample")
    # Its own side is estimated from the sample, the other one is exact.
    assert found[HOT][0] == pytest.approx(4_000, rel=0.15)
    assert found[HOT_RIGHT][1] == pytest.approx(3_000, rel=0.15)
    assert (found[HOT][1], found[HOT_RIGHT][0]) == (3, 2)
    assert counts.left.sum() + counts.slot_left.sum() == pytest.approx(10_002, rel=0.05)
    # What comes out of cold keys is known as a sum, to a few standard deviations.
    assert counts.slot_out.sum() == pytest.approx(18_000, rel=0.4)


@pytest.mark.usefixtures("few_sampled")
def test_a_plan_from_a_sample_is_exact_and_about_even(sides: tuple[DataFrame, DataFrame]) -> None:
    question = check_sides("join", *sides, "k", "inner", merged=True).question("inner")
    plan = plan_join(
        question, WORKERS, Copying(True, True), worthwhile=None, learn="sample", seed=3
    )
    joined = us.join(*sides, "k", plan=plan, salt="s")
    placed = joined.selectExpr("hash(k, s) as w").groupBy("w").count().collect()
    assert imbalance_percent([row["count"] for row in placed]) < 25
    assert plan.hashed_imbalance > 40
    assert rows_of(joined.drop("s")) == rows_of(sides[0].join(sides[1], "k"))
