import sys
from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

from unskew.errors import InvalidParameterError
from unskew.spark.balance import balance
from unskew.spark.join import join
from unskew.spark.routing.salting import salt_column
from unskew.spark.salt import salt

pytestmark = pytest.mark.spark

WORKERS = 4  # as many as the session's shuffle partitions


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """One key has half of the rows, null has an eighth, 50 keys share the rest."""
    number = sf.col("id")
    key = sf.when(number % 2 == 0, "hot").when(number % 8 == 1, None)
    return spark.range(8_000).select(
        key.otherwise(sf.concat(sf.lit("k"), number % 50)).alias("key"), number.alias("value")
    )


@pytest.mark.parametrize(
    "key",
    [
        "cast(id as string)",
        "id",
        "cast(id as int)",
        "cast(id as double)",
        "cast(id as decimal(20, 3))",
        "cast(null as string)",
        "array(id, null)",
        "struct(id, 'x')",
    ],
)
def test_the_hash_of_key_and_salt_is_the_worker(spark: SparkSession, key: str) -> None:
    df = spark.range(2_000).select(sf.expr(key).alias("key"), (sf.col("id") % 137).alias("worker"))
    salted = df.withColumn("salt", salt_column([sf.col("key")], sf.col("worker").cast("int"), 137))
    assert salted.where(sf.hash("key", "salt") != sf.col("worker")).count() == 0


def test_rows_grouped_by_key_and_salt_are_where_they_were_planned(
    spark: SparkSession, rows: DataFrame
) -> None:
    salted = salt(rows, "key", WORKERS, grouping="wrap", learn="pass")
    placed = salted.repartition(WORKERS, "key", "salt")
    loads = [row["count"] for row in placed.groupBy(sf.spark_partition_id()).count().collect()]
    assert len(loads) == WORKERS
    assert max(loads) <= 1.1 * sum(loads) / WORKERS
    plain = rows.repartition(WORKERS, "key")
    skewed = [row["count"] for row in plain.groupBy(sf.spark_partition_id()).count().collect()]
    assert max(skewed) > 1.9 * sum(skewed) / WORKERS


def test_a_salted_count_merges_to_the_plain_count(spark: SparkSession, rows: DataFrame) -> None:
    salted = salt(rows, "key", WORKERS, grouping="wrap", learn="pass")
    partials = salted.groupBy("key", "salt").agg(sf.count("*").alias("n"))
    merged = partials.groupBy("key").agg(sf.sum("n").alias("n"))
    plain = rows.groupBy("key").agg(sf.count("*").alias("n"))
    assert sorted(merged.collect(), key=str) == sorted(plain.collect(), key=str)


def test_a_key_that_is_not_split_has_one_salt(spark: SparkSession, rows: DataFrame) -> None:
    salted = salt(rows, "key", WORKERS, grouping="distribution-aware", learn="pass")
    most = salted.groupBy("key").agg(sf.count_distinct("salt").alias("n")).agg(sf.max("n"))
    assert most.collect()[0][0] == 1
    kept = salted.dropDuplicates(["key", "salt"]).count()
    assert kept == rows.select("key").distinct().count()


def test_the_other_columns_are_unchanged(spark: SparkSession, rows: DataFrame) -> None:
    salted = salt(rows, "key", WORKERS, grouping="key", name="my_salt")
    assert salted.columns == [*rows.columns, "my_salt"]
    assert salted.drop("my_salt").exceptAll(rows).count() == 0
    assert salted.count() == rows.count()


def test_streaming_state_lies_where_it_was_planned(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    rows.write.parquet(str(tmp_path / "in"))
    plan_source = salt(rows, "key", WORKERS, grouping="key")
    expected = {
        row["key"]: row["p"]
        for row in balance(rows, "key", WORKERS, grouping="key")
        .select("key", sf.spark_partition_id().alias("p"))
        .distinct()
        .collect()
    }
    stream = spark.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    salted = salt(stream, "key", WORKERS, grouping="key")
    counted = salted.groupBy("key", "salt").count().withColumn("p", sf.spark_partition_id())
    query = (
        counted.writeStream.format("memory").queryName("salted_state").outputMode("complete")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True).start()
    )  # fmt: skip
    query.awaitTermination(60)
    found = {row["key"]: row["p"] for row in spark.table("salted_state").collect()}
    assert found == expected
    assert plan_source.columns == salted.columns


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": WORKERS + 1}, "at most spark.sql.shuffle.partitions"),
        ({"workers": 0}, "workers must be an int >= 1"),
        ({"workers": 2, "name": "value"}, "a name that no column has"),
        ({"workers": 2, "by": "nope"}, "among the columns"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(
    rows: DataFrame, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        salt(rows, **{"by": "key", "grouping": "key", **arguments})


def test_where_a_platform_chooses_the_partitions_a_number_is_asked_for(
    rows: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Stock Spark refuses `auto`, which Databricks has: only what it means can be tried here.
    for verb in ("salt", "join"):
        module = sys.modules[f"unskew.spark.{verb}"]
        monkeypatch.setattr(module, "shuffle_partitions", lambda _: None)
    with pytest.raises(InvalidParameterError, match=r"shuffle.partitions \(auto\)"):
        salt(rows, "key", WORKERS)
    with pytest.raises(InvalidParameterError, match="workers must be given where"):
        join(rows, rows, "key")
    joined = join(rows.limit(10), rows, "key", "left_semi", WORKERS)
    assert joined.count() == rows.limit(10).where("key is not null").count()
