"""group_by gives what plain Spark gives, whatever the placement."""

import importlib
import logging
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.grouped_cases import (
    SPREAD,
    SUMS,
    SumAndCount,
    multiset,
    skewed_rows,
    spread,
    summed,
)

from unskew.errors import InvalidParameterError
from unskew.groupings.plan import Plan
from unskew.spark.aggregators import Mean, TopRows
from unskew.spark.columns import identity
from unskew.spark.group_by import group_by
from unskew.spark.routing.learning import learn_placing
from unskew.spark.routing.schemes import grouping_for

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """A hot null, a hot key, a tail; two key columns and whole numbers with nulls."""
    df = spark.createDataFrame(skewed_rows()).repartition(3).cache()
    df.count()
    yield df
    df.unpersist()


@pytest.mark.parametrize("grouping", ["shuffle", "wrap", "partial-key", "distribution-aware"])
def test_apply_gives_what_spark_sums_up(rows: DataFrame, grouping: str) -> None:
    got = group_by(rows, "user", workers=5, grouping=grouping).apply(SumAndCount(), SUMS)
    assert got.columns == ["user", "total", "n"]
    assert multiset(got) == multiset(summed(rows, "user"))


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_composite_keys_with_nulls_merge_with_adaptive_execution_on_and_off(
    spark: SparkSession, rows: DataFrame, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        placed = group_by(rows, ["user", "day"], workers=4)
        expected = multiset(summed(rows, "user", "day"))
        assert multiset(placed.apply(SumAndCount(), SUMS)) == expected
        total = sf.coalesce(sf.sum("x"), sf.lit(0))
        assert multiset(placed.agg(total.alias("total"), sf.count("*").alias("n"))) == expected
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize("grouping", ["auto", "key", "single"])
def test_apply_in_arrow_gives_what_spark_gives_group_by_group(
    rows: DataFrame, grouping: str
) -> None:
    got = group_by(rows, "user", workers=5, grouping=grouping).apply_in_arrow(spread, SPREAD)
    plain = rows.groupBy("user").applyInArrow(spread, SPREAD)
    assert got.columns == plain.columns
    assert multiset(got) == multiset(plain)


def test_apply_in_arrow_gives_groups_of_more_rows_than_an_arrow_batch_in_one_piece(
    spark: SparkSession, rows: DataFrame
) -> None:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    try:
        got = group_by(rows, "user", workers=2).apply_in_arrow(spread, SPREAD)
        assert multiset(got) == multiset(rows.groupBy("user").applyInArrow(spread, SPREAD))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_apply_in_arrow_passes_the_key_to_a_function_of_two(rows: DataFrame) -> None:
    def named(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        user, day = (part.as_py() for part in key)
        return pa.table({"key": [f"{user}/{day}"], "n": [table.num_rows]})

    got = group_by(rows, ["user", "day"], workers=3).apply_in_arrow(named, "key string, n bigint")
    plain = rows.groupBy("user", "day").applyInArrow(named, "key string, n bigint")
    assert multiset(got) == multiset(plain)


def test_raw_rows_are_shuffled_once_for_whole_groups(rows: DataFrame) -> None:
    got = group_by(rows, "user", workers=5).apply_in_arrow(spread, SPREAD)
    plan = _executed_plan(got)
    assert plan.count("Exchange hashpartitioning(") == 1
    assert plan.count("Exchange ") == 1


@pytest.mark.parametrize(
    "sql", ["count(*)", "count(distinct x)", "collect_list(x)", "percentile(x, 0.5)"]
)
def test_auto_leaves_aggregates_to_spark_and_says_why(
    rows: DataFrame, sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    aggregate = sf.expr(sql).alias("a")
    plain = rows.groupBy("user").agg(aggregate)
    with caplog.at_level(logging.INFO, logger="unskew.spark"):
        left = group_by(rows, "user", workers=5).agg(aggregate)
    assert _steps(left) == _steps(plain)
    (said,) = caplog.messages
    assert "plain Spark" in said
    assert "before its shuffle" in said
    assert "%" not in said


def _steps(df: DataFrame) -> list[str]:
    return re.findall(r"[A-Z]\w+(?= |\()", re.sub(r"#\d+L?|plan_id=\d+", "", _executed_plan(df)))


def test_agg_runs_on_placed_rows_and_merges_by_key_without_python(rows: DataFrame) -> None:
    placed = group_by(rows, "user", workers=5, grouping="wrap")
    plan = _executed_plan(placed.agg(sf.sum("x")))
    steps = ["HashAggregate(keys=[user", "Exchange hashpartitioning(user", "partial_sum(x"]
    places = [plan.index(step) for step in steps]
    assert places == sorted(places)
    # Below the partial sums rows are shuffled once more: by the integer of their worker.
    assert plan.rindex("Exchange hashpartitioning(") > places[-1]
    assert plan.count("Exchange ") == 2
    assert "Python" not in plan
    assert "Arrow" not in plan


def _executed_plan(df: DataFrame) -> str:
    plan = str(df._jdf.queryExecution().executedPlan())
    return plan.split("InMemoryRelation")[0]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([0.0, -0.0, math.nan, float("-nan"), None, 1.5] * 4),
        pa.array([[0.0], [-0.0], [], None, [None], [math.nan]] * 4, pa.list_(pa.float64())),
        pa.array(
            [{"a": 1, "b": None}, {"a": None, "b": 1}, None] * 8,
            pa.struct([("a", pa.int32()), ("b", pa.int32())]),
        ),
        pa.array([b"", b"\x00", None, b"\xff"] * 6, pa.binary()),
        pa.array([True, False, None] * 8),
        pa.array([253402300800000000, 0, None] * 8, pa.timestamp("us", tz="UTC")),
        pa.array([0, -719528, None, 5] * 6, pa.date32()),
    ],
    ids=["double", "array", "struct", "binary", "boolean", "timestamp after 9999", "date"],
)
def test_keys_of_any_type_are_the_groups_of_spark(spark: SparkSession, keys: pa.Array) -> None:
    df = spark.createDataFrame(pa.table({"k": keys, "x": list(range(len(keys)))}))
    spelled = sf.to_json(sf.struct("k")).alias("k")

    def count(table: pa.Table) -> pa.Table:
        total = pc.sum(table["x"]).as_py()
        return pa.table({"total": [total], "n": [table.num_rows]})

    expected = multiset(summed(df, "k").select(spelled, "total", "n"))
    merged = group_by(df, "k", workers=3, grouping="shuffle").apply(SumAndCount(), SUMS)
    assert multiset(merged.select(spelled, "total", "n")) == expected
    whole = group_by(df, "k", workers=3, grouping="key").apply_in_arrow(count, SUMS)
    assert multiset(whole) == multiset(summed(df, "k").select("total", "n"))


def test_no_rows_give_no_groups(rows: DataFrame) -> None:
    nothing = group_by(rows.where("x < 0"), "user", workers=4)
    assert nothing.agg(sf.count("*").alias("count")).collect() == []
    assert nothing.apply(SumAndCount(), SUMS).collect() == []
    assert nothing.apply_in_arrow(spread, SPREAD).collect() == []


def test_one_key_alone_is_split_and_comes_out_whole(spark: SparkSession) -> None:
    df = spark.range(1_000).select(sf.lit("only").alias("user"), sf.col("id").alias("x"))
    for grouping in ("wrap", "shuffle", "partial-key"):
        got = group_by(df, "user", workers=4, grouping=grouping).apply(
            SumAndCount(), "t bigint, n bigint"
        )
        assert [tuple(row) for row in got.collect()] == [("only", 499_500, 1_000)]


def test_python_aggregators_give_what_spark_gives(rows: DataFrame) -> None:
    placed = group_by(rows, "user", workers=4)
    got = {row["user"]: row["mean"] for row in placed.apply(Mean("x"), "mean double").collect()}
    # Sums of whole numbers below 2⁵³ are exact in doubles.
    assert got == {row[0]: row[1] for row in rows.groupBy("user").agg(sf.avg("x")).collect()}
    schema = "xs array<double>, users array<string>"
    tops = placed.apply(TopRows("x", "user", k=2), schema).collect()
    ordered = sf.slice(sf.sort_array(sf.collect_list(sf.col("x").cast("double")), False), 1, 2)
    assert {row[0]: row["xs"] for row in tops} == {
        row[0]: row[1] for row in rows.groupBy("user").agg(ordered).collect()
    }


def test_a_name_with_dots_and_ticks_is_a_key_like_any_other(spark: SparkSession) -> None:
    df = spark.range(10).select((sf.col("id") % 2).alias("a.`b"), sf.col("id").alias("x"))
    placed = group_by(df, "a.`b", workers=2, grouping="shuffle")
    assert sorted(map(tuple, placed.agg(sf.sum("x")).collect())) == [(0, 20), (1, 25)]
    applied = placed.apply(SumAndCount(), "t bigint, n bigint")
    assert sorted(map(tuple, applied.collect())) == [(0, 20, 5), (1, 25, 5)]


def test_a_plan_is_followed_and_refused_where_it_does_not_fit(rows: DataFrame) -> None:
    def learned(scheme: str, workers: int) -> Plan:
        return learn_placing(
            rows, identity(rows, "user"), grouping_for(scheme, workers), how="sample"
        ).plan

    splitting, whole = learned("wrap", 3), learned("distribution-aware", 3)
    assert splitting.n_split_keys > 0
    got = group_by(rows, "user", workers=3, plan=splitting).apply(
        SumAndCount(), "t bigint, n bigint"
    )
    assert multiset(got) == multiset(summed(rows, "user"))
    groups = group_by(rows, "user", workers=3, plan=whole).apply_in_arrow(spread, SPREAD)
    assert multiset(groups) == multiset(rows.groupBy("user").applyInArrow(spread, SPREAD))
    with pytest.raises(InvalidParameterError, match="keeps keys whole"):
        group_by(rows, "user", workers=3, plan=splitting).apply_in_arrow(spread, SPREAD)
    with pytest.raises(InvalidParameterError, match="4 workers"):
        group_by(rows, "user", workers=4, plan=whole)


def test_the_example_gives_what_plain_spark_gives(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    example: Any = importlib.import_module("spark_group_by")
    cloudpickle.register_pickle_by_value(example)
    df, results = example.sales(spark), example.main(spark)
    users = df.groupBy("user")
    counts = users.agg(sf.count("*"), sf.sum("price"))
    assert multiset(results["agg"].select("user", "n", "total")) == multiset(counts)
    prices = sf.slice(sf.sort_array(sf.collect_list(sf.col("price").cast("double")), False), 1, 3)
    assert multiset(results["apply"].select("user", "prices")) == multiset(users.agg(prices))
    plain = users.applyInArrow(example.dearest, "user string, item string")
    assert multiset(results["apply_in_arrow"]) == multiset(plain)
    by_key, by_plan = (example.loads_of(df, grouping).epoch for grouping in ("key", "wrap"))
    assert by_key.rows == by_plan.rows == df.count()
    assert by_key.imbalance > 100 > by_plan.imbalance
