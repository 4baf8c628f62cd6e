"""group_by gives what plain Spark gives, whatever the placement."""

import importlib
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from unskew.errors import InvalidParameterError, UnknownNameError
from unskew.groupings.distribution_aware import DistributionAware
from unskew.groupings.plan import Plan
from unskew.spark import aggregates as us
from unskew.spark.aggregator import Aggregator, State
from unskew.spark.example_aggregators import Mean, TopRows
from unskew.spark.grouped import GroupedFrame, group_by
from unskew.spark.keys import identity
from unskew.spark.learning import learn_plan
from unskew.spark.schemes import grouping_for

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

_SPLITTING = ["shuffle", "wrap", "popularity", "partial-key", "d-choices"]


class SumAndCount(Aggregator):
    """Exact in any order: whole numbers only."""

    state_schema = "total bigint, n bigint"

    def init(self) -> State:
        return (0, 0)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        total = pc.sum(batch["x"], min_count=0).as_py()
        return (state[0] + total, state[1] + batch.num_rows)

    def merge(self, a: State, b: State) -> State:
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, state: State) -> State:
        return state


def spread(table: pa.Table) -> pa.Table:
    """Two rows a group, so that a group called twice shows."""
    x = table["x"]
    low, high = pc.min(x).as_py(), pc.max(x).as_py()
    user = pa.array([table["user"][0].as_py()] * 2, pa.string())
    return pa.table(
        {
            "n": pa.array([table.num_rows] * 2, pa.int64()),
            "user": user,
            "x": pa.array([low, high], pa.int64()),
        }
    )


_SPREAD = "user string, x bigint, n bigint"


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """A hot null, a hot key, a tail; two key columns and whole numbers with nulls."""
    rng = np.random.default_rng(7)
    users = rng.zipf(1.5, 8_000).clip(max=300).tolist()
    table = pa.table(
        {
            "user": [None if user == 2 else f"u{user}" for user in users],
            "day": pa.array([None if i % 5 == 0 else i % 3 for i in range(len(users))], pa.int32()),
            "x": pa.array([None if i % 9 == 0 else i % 1_001 for i in range(len(users))]),
        }
    )
    df = spark.createDataFrame(table).repartition(3).cache()
    df.count()
    yield df
    df.unpersist()


def _multiset(df: DataFrame) -> Counter[Any]:
    return Counter(tuple(_spelled(value) for value in row) for row in df.collect())


def _spelled(value: object) -> object:
    return repr(value) if isinstance(value, float | list | dict | tuple) else value


def _plain(df: DataFrame, *by: str) -> DataFrame:
    total = sf.coalesce(sf.sum("x"), sf.lit(0))
    return df.groupBy(*by).agg(total.alias("total"), sf.count("*").alias("n"))


@pytest.mark.parametrize("grouping", ["shuffle", "wrap", "partial-key", "distribution-aware"])
def test_apply_gives_what_spark_sums_up(rows: DataFrame, grouping: str) -> None:
    got = group_by(rows, "user", 5, grouping=grouping).apply(
        SumAndCount(), "total bigint, n bigint"
    )
    assert got.columns == ["user", "total", "n"]
    assert _multiset(got) == _multiset(_plain(rows, "user"))


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_composite_keys_with_nulls_merge_with_adaptive_execution_on_and_off(
    spark: SparkSession, rows: DataFrame, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        placed = group_by(rows, ["user", "day"], 4)
        expected = _multiset(_plain(rows, "user", "day"))
        assert _multiset(placed.apply(SumAndCount(), "total bigint, n bigint")) == expected
        total = sf.coalesce(us.sum("x"), sf.lit(0))
        assert _multiset(placed.agg(total.alias("total"), us.count().alias("n"))) == expected
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize("grouping", [None, "key", "single"])
def test_apply_in_arrow_gives_what_spark_gives_group_by_group(
    rows: DataFrame, grouping: str | None
) -> None:
    got = group_by(rows, "user", 5, grouping=grouping).apply_in_arrow(spread, _SPREAD)
    plain = rows.groupBy("user").applyInArrow(spread, _SPREAD)
    assert got.columns == plain.columns
    assert _multiset(got) == _multiset(plain)


def test_apply_in_arrow_gives_groups_of_more_rows_than_an_arrow_batch_in_one_piece(
    spark: SparkSession, rows: DataFrame
) -> None:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100)
    try:
        got = group_by(rows, "user", 2).apply_in_arrow(spread, _SPREAD)
        assert _multiset(got) == _multiset(rows.groupBy("user").applyInArrow(spread, _SPREAD))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_apply_in_arrow_passes_the_key_to_a_function_of_two(rows: DataFrame) -> None:
    def named(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        user, day = (part.as_py() for part in key)
        return pa.table({"key": [f"{user}/{day}"], "n": [table.num_rows]})

    got = group_by(rows, ["user", "day"], 3).apply_in_arrow(named, "key string, n bigint")
    plain = rows.groupBy("user", "day").applyInArrow(named, "key string, n bigint")
    assert _multiset(got) == _multiset(plain)


def test_raw_rows_are_shuffled_once_for_whole_groups(rows: DataFrame) -> None:
    got = group_by(rows, "user", 5).apply_in_arrow(spread, _SPREAD)
    plan = _executed_plan(got)
    assert plan.count("Exchange shufflepartitionidpassthrough") == 1
    assert plan.count("Exchange ") == 1


def test_agg_runs_on_placed_rows_and_merges_by_key_without_python(rows: DataFrame) -> None:
    plan = _executed_plan(group_by(rows, "user", 5).agg(us.sum("x")))
    steps = [
        "HashAggregate(keys=[user",
        "Exchange hashpartitioning(user",
        "partial_sum(x",
        "Exchange shufflepartitionidpassthrough",
    ]
    places = [plan.index(step) for step in steps]
    assert places == sorted(places)
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

    expected = _multiset(_plain(df, "k").select(spelled, "total", "n"))
    merged = group_by(df, "k", 3, grouping="shuffle").apply(SumAndCount(), "total bigint, n bigint")
    assert _multiset(merged.select(spelled, "total", "n")) == expected
    whole = group_by(df, "k", 3, grouping="key").apply_in_arrow(count, "total bigint, n bigint")
    assert _multiset(whole) == _multiset(_plain(df, "k").select("total", "n"))


def test_no_rows_give_no_groups(rows: DataFrame) -> None:
    nothing = group_by(rows.where("x < 0"), "user", 4)
    assert nothing.agg(us.count()).collect() == []
    assert nothing.apply(SumAndCount(), "total bigint, n bigint").collect() == []
    assert nothing.apply_in_arrow(spread, _SPREAD).collect() == []


def test_one_key_alone_is_split_and_comes_out_whole(spark: SparkSession) -> None:
    df = spark.range(1_000).select(sf.lit("only").alias("user"), sf.col("id").alias("x"))
    for grouping in ("wrap", "shuffle", "partial-key"):
        got = group_by(df, "user", 4, grouping=grouping).apply(SumAndCount(), "t bigint, n bigint")
        assert [tuple(row) for row in got.collect()] == [("only", 499_500, 1_000)]


def test_python_aggregators_give_what_spark_gives(rows: DataFrame) -> None:
    placed = group_by(rows, "user", 4)
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
    placed = group_by(df, "a.`b", 2, grouping="shuffle")
    assert sorted(map(tuple, placed.agg(us.sum("x")).collect())) == [(0, 20), (1, 25)]
    applied = placed.apply(SumAndCount(), "t bigint, n bigint")
    assert sorted(map(tuple, applied.collect())) == [(0, 20, 5), (1, 25, 5)]


@pytest.mark.parametrize("grouping", ["key", "partial-key"])
def test_agg_on_a_stream_gives_what_the_batch_gives(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, grouping: str
) -> None:
    rows.repartition(2).write.parquet(str(tmp_path / "in"))
    stream = (
        spark.readStream.schema(rows.schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
    )
    name = f"counted_{grouping.replace('-', '_')}"
    query = (
        group_by(stream, "user", 3, grouping=grouping)
        .agg(us.count().alias("n"), us.sum("x").alias("total"))
        .writeStream.format("memory")
        .queryName(name)
        .outputMode("complete")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    plain = rows.groupBy("user").agg(sf.count("*"), sf.sum("x"))
    assert len([one for one in query.recentProgress if one["numInputRows"]]) == 2
    assert _multiset(spark.table(name)) == _multiset(plain)


def test_what_a_stream_cannot_do_is_refused_when_the_query_is_built(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("value", "user")
    placed = group_by(stream, "user", 2)
    with pytest.raises(InvalidParameterError, match=r"key, universal, single.* on a stream"):
        placed.agg(us.count())
    with pytest.raises(InvalidParameterError, match=r"apply: df must be a batch"):
        placed.apply(SumAndCount(), "total bigint, n bigint")
    with pytest.raises(InvalidParameterError, match=r"apply_in_arrow: df must be a batch"):
        placed.apply_in_arrow(spread, _SPREAD)


def test_a_plan_is_followed_and_refused_where_it_does_not_fit(rows: DataFrame) -> None:
    def learned(scheme: str, workers: int) -> Plan:
        return learn_plan(rows, identity(rows, "user"), grouping_for(scheme, workers), how="sample")

    splitting, whole = learned("wrap", 3), learned("distribution-aware", 3)
    assert splitting.n_split_keys > 0
    got = group_by(rows, "user", 3, plan=splitting).apply(SumAndCount(), "t bigint, n bigint")
    assert _multiset(got) == _multiset(_plain(rows, "user"))
    groups = group_by(rows, "user", 3, plan=whole).apply_in_arrow(spread, _SPREAD)
    assert _multiset(groups) == _multiset(rows.groupBy("user").applyInArrow(spread, _SPREAD))
    with pytest.raises(InvalidParameterError, match="keeps keys whole"):
        group_by(rows, "user", 3, plan=splitting).apply_in_arrow(spread, _SPREAD)
    with pytest.raises(InvalidParameterError, match="4 workers"):
        group_by(rows, "user", 4, plan=whole)


class _FailsAtHot(SumAndCount):
    def __init__(self, step: str) -> None:
        self.step = step

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        if self.step == "update" and batch["user"][0].as_py() == "u1":
            raise ZeroDivisionError("too hot")
        return super().update(state, batch)

    def merge(self, a: State, b: State) -> State:
        if self.step == "merge":
            raise ZeroDivisionError("too hot")
        return super().merge(a, b)

    def finish(self, state: State) -> State:
        if self.step == "finish":
            raise ZeroDivisionError("too hot")
        return super().finish(state)


@pytest.mark.parametrize(
    ("step", "place"),
    [("update", r"worker [0-2] at key user='u1'"), ("merge", "merging"), ("finish", "merging")],
)
def test_a_failing_aggregator_is_named_with_its_worker_and_key(
    rows: DataFrame, step: str, place: str
) -> None:
    placed = group_by(rows, "user", 3, grouping="shuffle")
    failing = placed.apply(_FailsAtHot(step), "total bigint, n bigint")
    message = rf"_FailsAtHot: {step} failed on {place}.*ZeroDivisionError: too hot"
    with pytest.raises(PySparkException, match=message):
        failing.collect()


def test_a_failing_function_is_named_with_its_worker_and_key(rows: DataFrame) -> None:
    def breaks(table: pa.Table) -> pa.Table:
        raise ZeroDivisionError("too hot")

    message = r"breaks: the function failed on worker [0-2] at key user=.*ZeroDivisionError"
    with pytest.raises(PySparkException, match=message):
        group_by(rows, "user", 3).apply_in_arrow(breaks, _SPREAD).collect()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("user string, x bigint", "user string, x int64; got n int64, user string, x"),
        ("user string, x bigint, n double", "user string, x int64, n double; got n int64"),
    ],
)
def test_a_result_unlike_the_schema_is_refused_with_both(
    rows: DataFrame, schema: str, expected: str
) -> None:
    with pytest.raises(
        PySparkException, match=f"spread: the result must have the columns {expected}"
    ):
        group_by(rows, "user", 3).apply_in_arrow(spread, schema).collect()


@pytest.mark.parametrize("grouping", [*_SPLITTING, DistributionAware(3, split_heavy=True)])
def test_whole_groups_refuse_every_scheme_that_splits_keys(rows: DataFrame, grouping: Any) -> None:
    placed = group_by(rows, "user", 3, grouping=grouping)
    with pytest.raises(InvalidParameterError, match=r"distribution-aware\b.*see apply") as refused:
        placed.apply_in_arrow(spread, _SPREAD)
    assert refused.value.parameter == "grouping"


@pytest.mark.parametrize(
    ("by", "workers", "grouping", "error"),
    [
        ("usr", 2, None, InvalidParameterError),
        ([], 2, None, InvalidParameterError),
        ("user", 0, None, InvalidParameterError),
        ("user", 2, "wrapp", UnknownNameError),
        ("user", 2, "optimal", InvalidParameterError),
        ("user", 2, DistributionAware(3), InvalidParameterError),
    ],
)
def test_what_cannot_run_is_refused_when_the_query_is_built(
    rows: DataFrame, by: Any, workers: int, grouping: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        group_by(rows, by, workers, grouping=grouping)


def test_a_map_is_no_key(spark: SparkSession) -> None:
    df = spark.range(1).select(sf.create_map(sf.lit(1), sf.lit(2)).alias("m"))
    with pytest.raises(InvalidParameterError, match="m"):
        group_by(df, "m", 2)


@pytest.mark.parametrize(
    ("build", "parameter"),
    [
        (lambda placed: placed.agg(), "aggregates"),
        (lambda placed: placed.apply(Mean, "mean double"), "aggregator"),
        (lambda placed: placed.apply(Mean("x"), "user double"), "schema"),
        (lambda placed: placed.apply(Mean("x"), pa.schema([])), "schema"),
        (lambda placed: placed.apply_in_arrow("spread", _SPREAD), "function"),
        (lambda placed: placed.apply_in_arrow(lambda a, b, c: a + b + c, _SPREAD), "function"),
    ],
)
def test_bad_arguments_are_refused_when_the_query_is_built(
    rows: DataFrame, build: Any, parameter: str
) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        build(group_by(rows, "user", 2, grouping="key"))
    assert refused.value.parameter == parameter


def test_repr_says_what_will_be_done(rows: DataFrame) -> None:
    default: GroupedFrame = group_by(rows, ["user", "day"], 8)
    for word in ("user, day", "8 workers", "wrap", "distribution-aware", "merged by key"):
        assert word in repr(default)
    assert "distribution-aware" not in repr(group_by(rows, "user", 8, grouping="partial-key"))


def test_the_example_gives_what_plain_spark_gives(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    example: Any = importlib.import_module("spark_group_by")
    cloudpickle.register_pickle_by_value(example)  # type: ignore[no-untyped-call]
    df, results = example.sales(spark), example.main(spark)
    users = df.groupBy("user")
    counts = users.agg(sf.count("*"), sf.sum("price"))
    assert _multiset(results["agg"].select("user", "n", "total")) == _multiset(counts)
    prices = sf.slice(sf.sort_array(sf.collect_list(sf.col("price").cast("double")), False), 1, 3)
    assert _multiset(results["apply"].select("user", "prices")) == _multiset(users.agg(prices))
    plain = users.applyInArrow(example.dearest, "user string, item string")
    assert _multiset(results["apply_in_arrow"]) == _multiset(plain)
