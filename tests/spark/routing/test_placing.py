from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.groupings.spreading import positions_of, spread_planned

from unskew.errors import InvalidParameterError, UnknownNameError, UnskewError
from unskew.groupings.partial_key import PartialKey
from unskew.groupings.registry import GROUPINGS
from unskew.groupings.split_tables import POSITION_MASK
from unskew.groupings.wrap import Wrap
from unskew.hashing import identities
from unskew.metrics import imbalance_percent
from unskew.spark.balance import balance
from unskew.spark.columns import identity
from unskew.spark.routing.learning import learn_placing
from unskew.spark.routing.placing import by_plan
from unskew.spark.routing.schemes import grouping_for, runnable
from unskew.spark.versions import to_arrow
from unskew.streams import zipf

WORKERS = 5
KEY_ATOMIC = ("key", "universal", "single", "distribution-aware")


@pytest.fixture(scope="module")
def skewed(spark: SparkSession) -> Iterator[DataFrame]:
    """40,000 rows in three partitions; users are Zipf 1.3, and the third most frequent is null."""
    keys = zipf_keys(40_000)
    names = [None if key == 3 else f"user {key}" for key in keys.tolist()]
    table = pa.table({"user": names, "row": np.arange(keys.size), "amount": keys * 0.5})
    df = spark.createDataFrame(table.to_pandas()).repartition(3, "row").cache()
    df.count()
    yield df
    df.unpersist()


@pytest.fixture(scope="module")
def long(spark: SparkSession) -> Iterator[DataFrame]:
    """400,000 rows: chance is small on each of 40 workers."""
    df = spark.createDataFrame(pa.table({"user": zipf_keys(400_000)})).cache()
    df.count()
    yield df
    df.unpersist()


def zipf_keys(rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    batches = zipf(keys=2000, exponent=1.3, rows=rows, seed=1).batches()
    return np.concatenate([batch.keys for batch in batches]).astype(np.int64)


def rows_of(df: DataFrame) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row) for row in df.collect())


def loads_of(df: DataFrame, workers: int) -> list[int]:
    counts = df.groupBy(sf.spark_partition_id().alias("worker")).count().collect()
    found = {row["worker"]: row["count"] for row in counts}
    return [found.get(worker, 0) for worker in range(workers)]


@pytest.mark.parametrize("name", runnable())
def test_rows_and_columns_stay_the_same(skewed: DataFrame, name: str) -> None:
    placed = balance(skewed, "user", WORKERS, grouping=name, seed=1)
    assert placed.schema == skewed.schema
    assert rows_of(placed) == rows_of(skewed)


@pytest.mark.matrix("every row where the simulator puts it")
@pytest.mark.parametrize(
    ("name", "how"), [(name, how) for name in runnable("plan") for how in ("sample", "pass")]
)
def test_core_and_spark_agree_on_the_worker_of_every_row(
    skewed: DataFrame, name: str, how: str
) -> None:
    key = identity(skewed, "user")
    plan = learn_placing(skewed, key, grouping_for(name, WORKERS), how=how).plan
    rows = by_plan(skewed, key, plan, ()).placed(plan.workers)
    placed = rows.select("row", sf.spark_partition_id().alias("worker"))
    got = to_arrow(placed).sort_by("row")["worker"].to_numpy()
    source = skewed.select("row", key.alias("id"), sf.monotonically_increasing_id().alias("number"))
    table = to_arrow(source).sort_by("row")
    positions = positions_of(table["number"].to_numpy())
    np.testing.assert_array_equal(got, spread_planned(identities(table["id"]), positions, plan))


@pytest.mark.parametrize("name", ["wrap", "popularity-counted"])
def test_core_and_spark_spread_rows_by_content_alike(skewed: DataFrame, name: str) -> None:
    key = identity(skewed, "user")
    learned = learn_placing(
        skewed, key, grouping_for(name, WORKERS), how="sample", likely=["amount", "row"]
    )
    # The amount is the same for all rows of a key, so it takes the number of the row as well.
    assert learned.spread_by == ("amount", "row")
    assert learned.plan.n_split_keys
    placed = by_plan(skewed, key, learned.plan, learned.spread_by).placed(WORKERS)
    got = placed.select("row", sf.spark_partition_id().alias("worker")).toArrow().sort_by("row")
    content = sf.xxhash64(key, "amount", "row")
    table = skewed.select("row", key.alias("id"), content.alias("content")).toArrow()
    table = table.sort_by("row")
    positions = table["content"].to_numpy() & POSITION_MASK
    expected = spread_planned(identities(table["id"]), positions, learned.plan)
    np.testing.assert_array_equal(got["worker"].to_numpy(), expected)


def plan_text(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


def test_rows_are_numbered_only_where_no_column_tells_them_apart(skewed: DataFrame) -> None:
    assert "monotonically" not in plan_text(balance(skewed, "user", WORKERS))
    alike = skewed.select("user", "amount")
    assert "monotonically" in plan_text(balance(alike, "user", WORKERS))
    assert "monotonically" in plan_text(balance(skewed, "user", WORKERS, spread_by=()))
    assert "monotonically" in plan_text(balance(skewed, "user", WORKERS, learn="pass"))
    plan = learn_placing(
        skewed, identity(skewed, "user"), grouping_for("wrap", WORKERS), how="pass"
    ).plan
    assert "monotonically" in plan_text(balance(skewed, "user", WORKERS, plan=plan))
    chosen = balance(skewed, "user", WORKERS, plan=plan, spread_by="row")
    assert "monotonically" not in plan_text(chosen)
    assert rows_of(chosen) == rows_of(skewed)


@pytest.mark.parametrize("alike", [False, True])
def test_wrap_is_even_whether_or_not_other_columns_tell_rows_apart(
    spark: SparkSession, alike: bool
) -> None:
    rows = np.arange(400_000)
    other = rows % 3 if alike else rows * 0.5
    df = spark.createDataFrame(pa.table({"other": other, "user": zipf_keys(400_000)}))
    loads = loads_of(balance(df, "user", 8), 8)
    assert imbalance_percent(np.array(loads)) <= 4


@pytest.mark.parametrize("name", KEY_ATOMIC)
def test_schemes_that_do_not_split_keep_a_key_on_one_worker(skewed: DataFrame, name: str) -> None:
    placed = balance(skewed, "user", WORKERS, grouping=name)
    pairs = placed.select("user", sf.spark_partition_id()).distinct().count()
    assert pairs == skewed.select("user").distinct().count()


@pytest.mark.parametrize("how", ["sample", "pass"])
@pytest.mark.parametrize("workers", [2, 8, 40])
def test_wrap_is_even_on_skewed_rows(long: DataFrame, workers: int, how: str) -> None:
    loads = loads_of(balance(long, "user", workers, learn=how), workers)
    assert imbalance_percent(np.array(loads)) <= 4


def test_shuffle_is_even_to_the_row_for_each_partition(skewed: DataFrame) -> None:
    loads = loads_of(balance(skewed, "user", 8, grouping="shuffle"), 8)
    assert max(loads) - min(loads) <= 3  # one for each partition of the input


@pytest.mark.parametrize("name", runnable("online"))
def test_online_schemes_split_the_hot_keys(skewed: DataFrame, name: str) -> None:
    by_hash = loads_of(balance(skewed, "user", 8, grouping="key"), 8)
    loads = loads_of(balance(skewed, "user", 8, grouping=name), 8)
    assert max(loads) < 0.8 * max(by_hash)


def test_partial_key_uses_the_candidates_of_the_key(skewed: DataFrame) -> None:
    grouping = PartialKey(8, seed=3)
    placed = balance(skewed, "user", 8, grouping=grouping)
    pairs = placed.select(identity(placed, "user").alias("id"), sf.spark_partition_id().alias("w"))
    for row in pairs.distinct().collect():
        assert row["w"] in grouping.candidates(row["id"])


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partitions_are_workers_with_adaptive_execution_on_and_off(
    spark: SparkSession, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        df = spark.range(10).withColumn("key", sf.lit("only"))
        placed = balance(df, "key", 16, grouping="single")
        assert loads_of(placed, 16) == [10] + [0] * 15
        shuffled = balance(df, "key", 16, grouping="shuffle")
        assert placed.rdd.getNumPartitions() == shuffled.rdd.getNumPartitions() == 16
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize("name", runnable())
@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows_are_placed_too(spark: SparkSession, name: str, rows: int) -> None:
    df = spark.range(rows).withColumn("key", sf.lit(None).cast("string"))
    for workers in (1, 7):
        assert rows_of(balance(df, "key", workers, grouping=name)) == rows_of(df)


def test_a_pass_over_no_rows_makes_a_plan(spark: SparkSession) -> None:
    assert balance(spark.range(0), "id", 4, learn="pass").count() == 0


@pytest.mark.parametrize("name", sorted(set(GROUPINGS) - {*runnable(), "auto"}))
def test_schemes_that_cannot_run_are_refused_and_those_that_can_are_named(
    spark: SparkSession, name: str
) -> None:
    with pytest.raises(InvalidParameterError, match=r"partial-key.*got '" + name):
        balance(spark.range(1), "id", 4, grouping=name)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"workers": 0}, InvalidParameterError),
        ({"workers": 2.5}, InvalidParameterError),
        ({"by": "nobody"}, InvalidParameterError),
        ({"grouping": "no such scheme"}, UnknownNameError),
        ({"grouping": "wrap:slotz=3"}, UnknownNameError),
        ({"grouping": "partial-key:load=global"}, InvalidParameterError),
        ({"grouping": "partial-key:hashes=storm"}, InvalidParameterError),
        ({"grouping": Wrap(5)}, InvalidParameterError),
        ({"grouping": Wrap(4).learn([1, 2, 3])}, InvalidParameterError),
        ({"grouping": Wrap(4).learn([1, 2, 3]).build()}, InvalidParameterError),
        ({"grouping": 7}, InvalidParameterError),
        ({"learn": "guess"}, InvalidParameterError),
        ({"plan": Wrap(4).plan}, InvalidParameterError),
        ({"spread_by": "nobody"}, InvalidParameterError),
        ({"spread_by": "other", "grouping": "popularity"}, InvalidParameterError),
        ({"spread_by": "other", "grouping": "shuffle"}, InvalidParameterError),
        ({"plan": grouping_for("wrap", 5).plan}, InvalidParameterError),  # type: ignore[attr-defined] # wrap has a plan
    ],
    ids=str,
)
def test_bad_parameters_are_refused_when_balance_is_called(
    spark: SparkSession, changes: dict[str, Any], error: type[UnskewError]
) -> None:
    arguments = {"by": "id", "workers": 4, **changes}
    with pytest.raises(error):
        balance(spark.range(1).withColumn("other", sf.lit(1)), **arguments)


@pytest.mark.matrix("streams, by a plan or row by row")
@pytest.mark.parametrize("name", ["wrap", "shuffle", "partial-key", "popularity"])
def test_a_stream_is_placed_by_a_plan_or_without_one(
    skewed: DataFrame, tmp_path: Path, name: str
) -> None:
    skewed.write.parquet(str(tmp_path / "in"))
    plan = None
    if name == "wrap":
        key = identity(skewed, "user")
        plan = learn_placing(skewed, key, grouping_for(name, WORKERS), how="pass").plan
        assert plan.n_split_keys
    spark = skewed.sparkSession
    stream = spark.readStream.schema(skewed.schema).parquet(str(tmp_path / "in"))
    placed = balance(stream, "user", WORKERS, grouping=name, plan=plan)
    table = f"placed_{name.replace('-', '_')}"
    placed.withColumn("worker", sf.spark_partition_id()).writeStream.trigger(
        availableNow=True
    ).format("memory").queryName(table).start().awaitTermination()
    out = spark.table(table)
    assert rows_of(out.drop("worker")) == rows_of(skewed)
    loads = [row["count"] for row in out.groupBy("worker").count().collect()]
    assert len(loads) == WORKERS
    if name in ("wrap", "shuffle"):
        assert imbalance_percent(np.array(loads)) <= 4


def test_columns_with_our_own_names_are_left_alone(spark: SparkSession) -> None:
    df = spark.range(100).withColumn("_unskew_0", sf.lit(1)).withColumn("_UNSKEW_1", sf.lit(2))
    placed = balance(df, "id", 4, grouping="shuffle")
    assert placed.columns == df.columns
    assert rows_of(placed) == rows_of(df)
