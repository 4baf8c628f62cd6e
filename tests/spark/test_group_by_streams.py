"""group_by on a stream gives, micro-batch by micro-batch, what plain Spark gives."""

import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType
from tests.spark.grouped_cases import (
    SPREAD,
    SUMS,
    SumAndCount,
    file_stream,
    multiset,
    run_to_end,
    skewed_rows,
    spread,
    summed,
)

from unskew.errors import InvalidParameterError
from unskew.groupings.plan import Plan
from unskew.spark.columns import identity
from unskew.spark.group_by import group_by
from unskew.spark.loads import Loads
from unskew.spark.routing.learning import learn_placing
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(skewed_rows())


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(STATE_STORE, ROCKSDB)
    yield
    spark.conf.unset(STATE_STORE)


def _splitting_plan(rows: DataFrame, workers: int) -> Plan:
    plan = learn_placing(
        rows, identity(rows, "user"), grouping_for("wrap", workers), how="sample"
    ).plan
    assert plan.n_split_keys > 0
    return plan


@pytest.mark.parametrize("grouping", ["key", "partial-key", "shuffle", "popularity", "auto"])
def test_agg_gives_what_the_batch_gives(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, grouping: str
) -> None:
    stream = file_stream(spark, rows, tmp_path / "in", files=2)
    plan = _splitting_plan(rows, 3) if grouping == "auto" else None
    placed = group_by(stream, "user", workers=3, grouping=grouping, plan=plan)
    name = f"counted_{grouping.replace('-', '_')}"
    counted = placed.agg(sf.count("*").alias("n"), sf.sum("x").alias("total"))
    query = run_to_end(counted, name, "complete", tmp_path)
    plain = rows.groupBy("user").agg(sf.count("*"), sf.sum("x"))
    assert len([one for one in query.recentProgress if one["numInputRows"]]) == 2
    assert multiset(spark.table(name)) == multiset(plain)


def _odd_keys(spark: SparkSession) -> DataFrame:
    """Keys whose bits, or Python values, are not what groupBy goes by."""
    n = 240
    table = pa.table(
        {
            "number": pa.array([0.0, -0.0, math.nan, float("-nan"), None, 1.5] * (n // 6)),
            "parts": pa.array([[0.0], [-0.0], [], None] * (n // 4), pa.list_(pa.float64())),
            "at": pa.array([253402300800000000, None, 0] * (n // 3), pa.timestamp("us", tz="UTC")),
            "raw": pa.array([b"", b"\xff\x00"] * (n // 2), pa.binary()),
            "x": list(range(n)),
        }
    )
    return spark.createDataFrame(table)


@pytest.mark.usefixtures("rocksdb")
def test_apply_gives_out_what_a_running_aggregation_of_spark_gives_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    by = ["number", "parts", "at", "raw"]
    spelled: list[Column | str] = [sf.to_json(sf.struct(*by)).alias("key"), "total", "n"]
    stream = file_stream(spark, _odd_keys(spark), tmp_path / "in", files=3)
    applied = group_by(stream, by, workers=3, plan_path=tmp_path / "plans").apply(
        SumAndCount(), SUMS
    )
    keys = [stream.schema[key] for key in by]
    sums = [StructField(name, LongType()) for name in ("total", "n")]
    assert applied.schema == StructType([*keys, *sums])
    run_to_end(applied.select(*spelled), "running", "update", tmp_path)
    run_to_end(summed(stream, *by).select(*spelled), "running_plain", "update", tmp_path)
    assert multiset(spark.table("running")) == multiset(spark.table("running_plain"))


@pytest.mark.usefixtures("rocksdb")
def test_a_state_outlives_the_query_and_is_not_taken_for_another(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    class Renamed(SumAndCount):
        state_schema = "sum bigint, n bigint"

    first, second = rows.randomSplit([0.5, 0.5], seed=1)
    stream = file_stream(spark, first, tmp_path / "in", files=1)
    # A key that is split comes in pieces, one of which would be taken for the whole.
    placed = group_by(stream, "user", workers=3, plan=_splitting_plan(rows, 3))
    assert _written(placed.apply(SumAndCount(), SUMS), tmp_path) == multiset(summed(first, "user"))
    second.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    both = _written(placed.apply(SumAndCount(), SUMS), tmp_path)
    touched = second.select("user").distinct().withColumnRenamed("user", "again")
    changed = summed(rows, "user").join(touched, sf.expr("user <=> again"), "left_semi")
    assert both == multiset(summed(first, "user")) + multiset(changed)
    second.limit(5).write.mode("append").parquet(str(tmp_path / "in"))
    with pytest.raises(StreamingQueryException, match="states of another state_schema"):
        _written(placed.apply(Renamed(), SUMS), tmp_path)


def _written(df: DataFrame, folder: Path) -> Counter[Any]:
    """Return all that a query has given out since it first started; it can be started again."""
    writer = df.writeStream.format("parquet").option("checkpointLocation", str(folder / "state"))
    writer.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()
    return multiset(df.sparkSession.read.parquet(str(folder / "out")))


@pytest.mark.parametrize("learns", [True, False])
def test_apply_in_arrow_gives_what_spark_gives_for_each_micro_batch(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, learns: bool
) -> None:
    stream = file_stream(spark, rows, tmp_path / "in", files=2)
    how: dict[str, Any] = {"plan_path": tmp_path / "plans"} if learns else {"grouping": "key"}
    got = group_by(stream, "user", workers=3, **how).apply_in_arrow(spread, SPREAD)
    run_to_end(got, f"groups_{learns}", "append", tmp_path)
    plain = stream.groupBy("user").applyInArrow(spread, SPREAD)
    run_to_end(plain, "groups_plain", "append", tmp_path)
    assert multiset(spark.table(f"groups_{learns}")) == multiset(spark.table("groups_plain"))


def test_what_a_stream_cannot_do_is_refused_when_the_query_is_built(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("value", "user")
    learning = group_by(stream, "user", workers=2)
    with pytest.raises(InvalidParameterError, match=r"key, single, universal.* on a stream"):
        group_by(stream, "user", workers=2, grouping="wrap").agg(sf.count("*").alias("count"))
    with pytest.raises(InvalidParameterError, match=r"apply_in_arrow: grouping must be one that"):
        learning.apply_in_arrow(spread, SPREAD)
    with pytest.raises(InvalidParameterError, match=r"state store is RocksDB.*conf\.set"):
        group_by(stream, "user", workers=2, grouping="key").apply(SumAndCount(), SUMS)
    with pytest.raises(InvalidParameterError, match=r"loads must be left out for a stream"):
        group_by(stream, "user", workers=2, grouping="key", loads=Loads())


@pytest.mark.usefixtures("rocksdb")
def test_complete_mode_is_refused_by_spark_when_a_running_apply_starts(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("value", "x")
    applied = group_by(stream, "timestamp", workers=2, grouping="key").apply(SumAndCount(), SUMS)
    with pytest.raises(AnalysisException, match="complete"):
        run_to_end(applied, "whole", "complete", tmp_path)
