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


@pytest.fixture
def skewed_files(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """1,000 rows of ten keys in a Parquet file, which Spark reads in columns."""
    rows = spark.range(1000).withColumn("key", sf.expr("concat('user ', id % 10)"))
    rows.write.parquet(str(tmp_path / "rows"))
    return spark.read.parquet(str(tmp_path / "rows"))


@pytest.mark.parametrize("name", runnable("online"))
def test_each_task_routes_like_a_source_of_its_own(spark: SparkSession, name: str) -> None:
    df = spark.range(0, 30_000, 1, 2).withColumn("key", sf.expr("id % 50 * (id % 3)"))
    grouping = make_grouping(name, 6, seed=2)
    key = identity(df, "key")
    rows = df.select("id", key.alias("key"), sf.spark_partition_id().alias("task"))
    routed = rows.withColumn("worker", online_worker(sf.col("key"), grouping))
    table = routed.toArrow().sort_by("id")
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
