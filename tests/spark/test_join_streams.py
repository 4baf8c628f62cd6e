"""Joins of streams: exactly the rows of the plain query, before and after a restart."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from tests.cheap_settings import INTERPRETED, PLAIN_FILES
from tests.spark.join_cases import WORKERS, rows_of

import unskew.spark as us
from unskew.errors import InvalidParameterError

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _settings(spark: SparkSession) -> Any:
    wanted = {
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.shuffle.partitions": str(WORKERS),
        **INTERPRETED,
        **PLAIN_FILES,
    }
    before = {name: str(spark.conf.get(name)) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def events(spark: SparkSession, name: str, hot: int, rows: int) -> DataFrame:
    """Rows of a minute each: of every ``hot`` one has the key a, others share the rest, or null."""
    number = sf.col("id")
    key = sf.when(number % hot != 0, "a").when(number % 11 == 0, None)
    at = sf.timestamp_seconds(sf.lit(1_700_000_000) + number * 60)
    return spark.range(rows).select(
        key.otherwise(sf.concat(sf.lit("b"), number % 5)).alias("k"),
        at.alias(f"{name}_at"),
        number.alias(name),
    )


def write(df: DataFrame, folder: Path, number: str, low: int, high: int) -> None:
    """Add two files, a micro-batch each, of the rows with numbers from ``low`` to ``high``."""
    middle = (low + high) // 2
    for first, end in ((low, middle), (middle, high)):
        rows = df.where(f"{number} >= {first} and {number} < {end}").coalesce(1)
        rows.write.mode("append").parquet(str(folder))


def stream(spark: SparkSession, like: DataFrame, folder: Path, at: str) -> DataFrame:
    reader = spark.readStream.schema(like.schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder)).withWatermark(at, "10 minutes")


def run(df: DataFrame, out: Path, checkpoint: Path) -> None:
    writer = df.writeStream.format("parquet").outputMode("append").option("path", str(out))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(240)


def content(spark: SparkSession, out: Path, columns: list[str]) -> Counter[Any]:
    return rows_of(spark.read.parquet(str(out)).select(*columns))


def near() -> Column:
    return sf.expr("y_at >= x_at - interval 5 minutes and y_at <= x_at + interval 5 minutes")


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi"])
def test_two_streams_give_the_rows_of_the_plain_query_also_after_a_restart(
    spark: SparkSession, tmp_path: Path, how: str
) -> None:
    left, right = events(spark, "x", 4, 90), events(spark, "y", 3, 80)
    # So few rows of a semi join are not worth a cut: its plan is that of another join.
    kind = "inner" if how == "semi" else how
    plan = us.plan(left, "k", WORKERS, join=right, how=kind, grouping="wrap", learn="pass")
    assert plan.n_split_keys > 0
    plan.save(tmp_path / "plan.json")
    columns = ["x", "x_at"] if how == "semi" else ["x", "x_at", "y", "y_at"]
    for kind in ("plain", "ours"):
        folder = tmp_path / kind
        for part in range(2):  # the second half comes after a restart
            for df, name in ((left, "x"), (right, "y")):
                write(df, folder / name, name, 45 * part, 45 * (part + 1))
            one = stream(spark, left, folder / "x", "x_at")
            other = stream(spark, right, folder / "y", "y_at")
            if kind == "plain":
                joined = one.join(other, (one["k"] == other["k"]) & near(), how)
            else:
                kept = us.load_plan(tmp_path / "plan.json")
                joined = us.join(one, other, "k", how, condition=near(), plan=kept)
            run(joined.select(*columns), folder / "out", folder / "checkpoint")
    found = content(spark, tmp_path / "ours" / "out", columns)
    assert found == content(spark, tmp_path / "plain" / "out", columns)
    assert sum(found.values()) > 50


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_a_stream_and_a_table_give_the_rows_of_the_plain_query(
    spark: SparkSession, tmp_path: Path, how: str
) -> None:
    left, right = events(spark, "x", 4, 120), events(spark, "y", 3, 12).drop("y_at")
    plan = us.plan(left, "k", WORKERS, join=right, how=how, grouping="wrap")
    write(left, tmp_path / "x", "x", 0, 120)
    source = stream(spark, left, tmp_path / "x", "x_at")
    joined = us.join(source, right, "k", how, plan=plan)
    run(joined, tmp_path / "out", tmp_path / "checkpoint")
    plain = left.join(right, "k", how)
    assert content(spark, tmp_path / "out", plain.columns) == rows_of(plain)


def test_the_state_of_two_streams_is_spread_evenly(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"k": ["hot"] * 400, "x": range(400)})
    left = spark.createDataFrame(rows)
    right = spark.createDataFrame(pa.table({"k": ["hot", "cold"], "y": [1, 2]}))
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap")
    left.write.parquet(str(tmp_path / "x"))
    right.write.parquet(str(tmp_path / "y"))
    one = spark.readStream.schema(left.schema).parquet(str(tmp_path / "x"))
    other = spark.readStream.schema(right.schema).parquet(str(tmp_path / "y"))
    joined = us.join(one, other, "k", plan=plan).withColumn("w", sf.spark_partition_id())
    run(joined, tmp_path / "out", tmp_path / "checkpoint")
    found = spark.read.parquet(str(tmp_path / "out")).groupBy("w").count().collect()
    assert sum(row["count"] for row in found) == 400
    assert len(found) == WORKERS
    assert max(row["count"] for row in found) < 130


def test_two_streams_with_fewer_states_than_workers_are_refused(spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").load()
    table = spark.range(100).withColumnRenamed("id", "value")
    hot = table.select((sf.col("value") * 0).alias("value"))
    plan = us.plan(hot, "value", WORKERS + 1, join=table, grouping="wrap")
    with pytest.raises(InvalidParameterError, match="for two streams"):
        us.join(rate, rate.select("value"), "value", plan=plan)
