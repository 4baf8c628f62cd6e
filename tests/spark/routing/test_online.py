from pathlib import Path

import numpy as np
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

from unskew.groupings.registry import make_grouping
from unskew.hashing import identities
from unskew.spark.balance import balance
from unskew.spark.columns import identity
from unskew.spark.routing.online import online_worker
from unskew.spark.routing.schemes import runnable
from unskew.spark.versions import to_arrow


@pytest.fixture
def skewed_files(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """1,000 rows of ten keys in a Parquet file, which Spark reads in columns."""
    rows = spark.range(1000).withColumn("key", sf.expr("concat('user ', id % 10)"))
    rows.write.parquet(str(tmp_path / "rows"))
    return spark.read.parquet(str(tmp_path / "rows"))


@pytest.mark.matrix("every row where the simulator puts it")
@pytest.mark.parametrize("name", runnable("online"))
def test_each_task_routes_like_a_source_of_its_own(spark: SparkSession, name: str) -> None:
    df = spark.range(0, 30_000, 1, 2).withColumn("key", sf.expr("id % 50 * (id % 3)"))
    grouping = make_grouping(name, 6, seed=2)
    key = identity(df, "key")
    rows = df.select("id", key.alias("key"), sf.spark_partition_id().alias("task"))
    routed = rows.withColumn("worker", online_worker(sf.col("key"), grouping))
    table = to_arrow(routed).sort_by("id")
    ids, tasks = identities(table["key"]), table["task"].to_numpy()
    workers = table["worker"].to_numpy()
    assert np.unique(tasks).tolist() == [0, 1]
    for task in (0, 1):
        own = make_grouping(name, 6, seed=2)
        np.testing.assert_array_equal(workers[tasks == task], own.route_many(ids[tasks == task]))


def test_a_grouping_travels_in_its_present_state_and_stays_as_it_is(spark: SparkSession) -> None:
    grouping = make_grouping("partial-key", 4)
    busy = grouping.route(7)
    grouping.route_many([7] * 500, weights=[1000.0] * 500)
    before = grouping.for_source(0, 1)
    df = spark.range(0, 100, 1, 1).select(sf.lit(7).cast("bigint").alias("id"))
    got = [row[0] for row in df.select(online_worker(sf.col("id"), grouping)).collect()]
    assert got == before.route_many([7] * 100).tolist()
    assert busy in grouping.candidates(7)
    assert grouping.route(7) == got[0]


def test_only_the_identity_goes_to_python(skewed_files: DataFrame) -> None:
    placed = balance(skewed_files, "key", 4, grouping="partial-key")
    text = placed._jdf.queryExecution().executedPlan().toString()
    below = text.partition("ArrowEvalPython")[2]
    # A projection of its own below the step: the rows themselves never take Arrow form.
    assert "xxhash64" not in below.partition("\n")[0]
    assert "xxhash64" in below
    assert placed.count() == 1000


def test_popularity_predicts_hot_keys_as_its_parameters_say(spark: SparkSession) -> None:
    """Half of 20,000 rows are one key's, the others come once: it is spread once it is known."""
    key = sf.when(sf.col("id") % 2 == 0, sf.lit(-1)).otherwise(sf.col("id"))
    df = spark.range(0, 20_000, 1, 1).select("id", key.alias("key"))
    first = {}
    for bits in (2, 8):
        placed = balance(df, "key", 5, grouping=f"popularity:frequency=0.1,threshold_bits={bits}")
        hot = placed.where("key = -1").select("id", sf.spark_partition_id().alias("worker"))
        workers = hot.toArrow().sort_by("id")["worker"].to_numpy()
        first[bits] = int(np.flatnonzero(workers != workers[0])[0])
        assert np.bincount(workers[-1_000:], minlength=5).min() >= 198
    # Two unlike records of the key: after some 4·2^r rows, and not before the second record.
    assert 2 <= first[2] < 40 * 4
    assert first[2] < first[8] < 40 * 256


def test_popularity_adapts_its_threshold_on_spark(spark: SparkSession) -> None:
    df = spark.range(0, 40_000, 1, 2).withColumn("key", sf.expr("id % 40 * (id % 3)"))
    grouping = "popularity:adaptive=true,interval=50,threshold_bits=3"
    placed = balance(df, "key", 4, grouping=grouping)
    fixed = balance(df, "key", 4, grouping="popularity:threshold_bits=3")
    counts = placed.groupBy("key").count().collect()
    assert sorted(counts) == sorted(df.groupBy("key").count().collect())
    worker = sf.spark_partition_id()
    assert placed.where(worker == 0).count() != fixed.where(worker == 0).count()


def test_a_key_that_cools_is_hashed_again_on_spark(spark: SparkSession) -> None:
    """Hot for 6,000 rows, then a row in 50, below the threshold of a tenth; 80 rows per shift."""
    away = sf.when(sf.col("id") % 50 == 0, sf.lit(-1)).otherwise(sf.col("id"))
    hot = sf.when(sf.col("id") % 2 == 0, sf.lit(-1)).otherwise(sf.col("id"))
    key = sf.when(sf.col("id") < 6_000, hot).otherwise(away)
    df = spark.range(0, 12_000, 1, 1).select("id", key.alias("key"))
    placed = balance(df, "key", 5, grouping="popularity:frequency=0.1,threshold_bits=2")
    rows = placed.where("key = -1").select("id", sf.spark_partition_id().alias("worker"))
    workers = rows.toArrow().sort_by("id")["worker"].to_numpy()
    home, last = workers[0], workers[-60:]
    assert set(workers[2_000:3_000]) == set(range(5))
    # 30 shifts are 2,400 rows: of 60 rows since then most are where the first ones were.
    assert np.count_nonzero(last == home) >= 50
