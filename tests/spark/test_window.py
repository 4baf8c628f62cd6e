"""Windows over keys that are cut are Spark's own windows, row by row."""

import datetime as dt
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession, Window, WindowSpec
from tests.cheap_settings import INTERPRETED

import unskew.spark as us
from unskew.errors import InvalidParameterError
from unskew.spark.window import WindowedFrame
from unskew.spark.windows.ordering import check_order
from unskew.spark.windows.ranges import Ranges, learn_ranges

SCHEMA = (
    "id bigint, k string, n int, f double, t timestamp, s string, price decimal(10,2), ok boolean,"
    " x bigint, y double"
)
FIRST, LAST = Window.unboundedPreceding, Window.unboundedFollowing
EVERYTHING = (FIRST, LAST)


def table(spark: SparkSession, rows: int, seed: int = 0) -> DataFrame:
    """Return rows of which six in ten have one key; orders with ties, nulls and NaN."""
    rng = np.random.default_rng(seed)
    start = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)

    def some(value: Any, share: float = 0.1) -> Any:
        return None if rng.random() < share else value

    data = [
        (
            number,
            "hot" if rng.random() < 0.6 else some(f"k{rng.integers(5)}"),
            some(int(rng.integers(20))),
            some(float(rng.choice([*range(-5, 5), math.nan, math.inf, -0.0]))),
            some(start + dt.timedelta(minutes=int(rng.integers(500)))),
            some(f"ä{rng.integers(30)}"),
            some(Decimal(int(rng.integers(-500, 500))) / 100),
            some(bool(rng.integers(2))),
            some(int(rng.integers(-100, 100))),
            some(float(rng.integers(-100, 100))),
        )
        for number in rng.permutation(rows).tolist()
    ]
    return spark.createDataFrame(data, SCHEMA).repartition(3)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return table(spark, 240).localCheckpoint()


Pair = tuple[Callable[[WindowedFrame], Any], Callable[[WindowSpec], Column]]

PEERS: dict[str, Pair] = {
    "rank": (lambda w: w.rank(), lambda v: sf.rank().over(v)),
    "dense": (lambda w: w.dense_rank(), lambda v: sf.dense_rank().over(v)),
    "total": (lambda w: w.sum("x"), lambda v: sf.sum("x").over(v)),
    "cents": (lambda w: w.sum("price"), lambda v: sf.sum("price").over(v)),
    "mean": (lambda w: w.avg("x"), lambda v: sf.avg("x").over(v)),
    "mean_price": (lambda w: w.avg("price"), lambda v: sf.avg("price").over(v)),
    "counted": (lambda w: w.count("x"), lambda v: sf.count("x").over(v)),
    "least": (lambda w: w.min("f"), lambda v: sf.min("f").over(v)),
    "most": (lambda w: w.max("s"), lambda v: sf.max("s").over(v)),
    "size": (
        lambda w: w.count(rows=(None, None)),
        lambda v: sf.count("*").over(v.rowsBetween(*EVERYTHING)),
    ),
    "sum_of_all": (
        lambda w: w.sum("y", rows=(None, None)),
        lambda v: sf.sum("y").over(v.rowsBetween(*EVERYTHING)),
    ),
    "best": (
        lambda w: w.max("t", rows=(None, None)),
        lambda v: sf.max("t").over(v.rowsBetween(*EVERYTHING)),
    ),
}
"""What does not depend on which of two equal rows comes first."""

ROWS: dict[str, Pair] = {
    "number": (lambda w: w.row_number(), lambda v: sf.row_number().over(v)),
    "before": (lambda w: w.lag("s", 3), lambda v: sf.lag("s", 3).over(v)),
    "before_or": (lambda w: w.lag("x", 2, -7), lambda v: sf.lag("x", 2, -7).over(v)),
    "next": (lambda w: w.lead("price"), lambda v: sf.lead("price").over(v)),
    "running": (
        lambda w: w.sum("x", rows=(None, 0)),
        lambda v: sf.sum("x").over(v.rowsBetween(FIRST, 0)),
    ),
    "coming": (
        lambda w: w.avg("y", rows=(0, None)),
        lambda v: sf.avg("y").over(v.rowsBetween(0, LAST)),
    ),
    "rest": (
        lambda w: w.min("x", rows=(0, None)),
        lambda v: sf.min("x").over(v.rowsBetween(0, LAST)),
    ),
    "opened": (lambda w: w.first("x"), lambda v: sf.first("x").over(v)),
    "known": (
        lambda w: w.last("x", ignore_nulls=True, rows=(None, 0)),
        lambda v: sf.last("x", True).over(v.rowsBetween(FIRST, 0)),
    ),
    "first_known": (
        lambda w: w.first("x", ignore_nulls=True, rows=(None, 0)),
        lambda v: sf.first("x", True).over(v.rowsBetween(FIRST, 0)),
    ),
    "next_known": (
        lambda w: w.first("s", ignore_nulls=True, rows=(0, None)),
        lambda v: sf.first("s", True).over(v.rowsBetween(0, LAST)),
    ),
    "closed": (
        lambda w: w.last("price", rows=(None, None)),
        lambda v: sf.last("price").over(v.rowsBetween(*EVERYTHING)),
    ),
    "last_to_come": (
        lambda w: w.last("x", rows=(0, None)),
        lambda v: sf.last("x").over(v.rowsBetween(0, LAST)),
    ),
    "five": (
        lambda w: w.sum("y", rows=(-2, 2)),
        lambda v: sf.sum("y").over(v.rowsBetween(-2, 2)),
    ),
    "mean_of_three": (
        lambda w: w.avg("price", rows=(-3, -1)),
        lambda v: sf.avg("price").over(v.rowsBetween(-3, -1)),
    ),
    "ahead": (
        lambda w: w.last("t", rows=(1, 4)),
        lambda v: sf.last("t").over(v.rowsBetween(1, 4)),
    ),
    "among_nine": (
        lambda w: w.count(rows=(-8, 0)),
        lambda v: sf.count("*").over(v.rowsBetween(-8, 0)),
    ),
}
"""What needs an order without ties."""


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Do not compile: for a few rows that takes longer than all the rest."""
    before = {name: str(spark.conf.get(name)) for name in INTERPRETED}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def content(df: DataFrame) -> list[str]:
    return sorted(map(repr, map(tuple, df.collect())))


def check(
    df: DataFrame, by: Any, order: list[Any], workers: int, pairs: dict[str, Pair]
) -> WindowedFrame:
    """Compare all functions with Spark's, rows and schema, and return the windowed frame."""
    windowed = us.window(df, by, order, workers=workers)
    plain = Window.partitionBy(by).orderBy(*order)
    found = windowed.with_columns(**{name: pair[0](windowed) for name, pair in pairs.items()})
    expected = df.withColumns({name: pair[1](plain) for name, pair in pairs.items()})
    types = [(one.name, one.dataType) for one in expected.schema.fields]
    assert [(one.name, one.dataType) for one in found.schema.fields] == types
    assert content(found) == content(expected)
    return windowed


def orders(name: str) -> list[Any]:
    known: dict[str, list[Any]] = {
        "one column": ["id"],
        "descending": [sf.desc("id")],
        "nulls last": [sf.col("n").asc_nulls_last(), "id"],
        "nulls first, descending": [sf.col("s").desc_nulls_first(), sf.col("id").desc()],
        "floats with NaN": ["f", sf.desc("id")],
        "times and truths": [sf.desc("t"), sf.col("ok").asc_nulls_last(), "id"],
        "decimals": [sf.col("price").desc_nulls_last(), "id"],
    }
    return known[name]


@pytest.mark.usefixtures("interpreted")
def test_every_function_is_sparks_own(rows: DataFrame) -> None:
    windowed = check(rows, "k", orders("nulls last"), 7, PEERS | ROWS)
    assert windowed._ranges.cut_keys


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        "one column",
        "descending",
        "nulls last",
        "nulls first, descending",
        "floats with NaN",
        "times and truths",
        "decimals",
    ],
)
def test_compiled_functions_are_sparks_own_in_any_order(rows: DataFrame, order: str) -> None:
    windowed = check(rows, "k", orders(order), 7, PEERS | ROWS)
    assert windowed._ranges.cut_keys


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("order", ["n", pytest.param("f", marks=pytest.mark.slow)])
def test_rows_that_are_equal_in_the_order_stay_together(rows: DataFrame, order: str) -> None:
    windowed = check(rows, "k", [sf.desc(order)], 7, PEERS)
    assert windowed._ranges.cut_keys


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("names", [["rank"], ["number", "total"], ["before"], ["opened", "dense"]])
@pytest.mark.slow
def test_functions_by_themselves(rows: DataFrame, names: list[str]) -> None:
    check(rows, "k", ["n", "id"], 5, {name: (PEERS | ROWS)[name] for name in names})


@pytest.mark.usefixtures("interpreted")
@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    ["no rows", "one row", "one key", "more workers than rows", "one worker", "several keys"],
)
def test_tables_of_any_shape(rows: DataFrame, case: str) -> None:
    few = PEERS | ROWS
    by: Any = "k"
    df, workers = rows, 6
    if case == "no rows":
        df = rows.where("id < 0")
    elif case == "one row":
        df = rows.where("id = 7")
    elif case == "one key":
        df = rows.withColumn("k", sf.lit("hot"))
    elif case == "more workers than rows":
        df, workers = rows.where("id < 9"), 30
    elif case == "one worker":
        workers = 1
    else:
        by = ["k", "ok"]
    check(df, by, ["id"], workers, few)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(
        st.tuples(
            st.sampled_from(["a", "a", "a", "b", None]),
            st.one_of(st.none(), st.integers(-3, 3)),
            st.one_of(st.none(), st.integers(-(2**40), 2**40)),
        ),
        max_size=30,
    ),
    workers=st.integers(1, 9),
    descending=st.booleans(),
    nulls_last=st.booleans(),
)
def test_small_tables_of_any_content(
    spark: SparkSession,
    data: list[tuple[Any, Any, Any]],
    workers: int,
    descending: bool,
    nulls_last: bool,
) -> None:
    named = [(number, *row) for number, row in enumerate(data)]
    df = spark.createDataFrame(named, "id bigint, k string, n int, x bigint")
    column = sf.col("n")
    if descending:
        order = column.desc_nulls_last() if nulls_last else column.desc_nulls_first()
    else:
        order = column.asc_nulls_last() if nulls_last else column.asc_nulls_first()
    peers = {name: PEERS[name] for name in ("rank", "dense", "total", "mean", "size")}
    check(df, "k", [order], workers, peers)
    ordered = ("number", "before_or", "running", "rest", "known", "last_to_come", "among_nine")
    check(df, "k", [order, "id"], workers, {name: ROWS[name] for name in ordered})


def test_sums_of_doubles_differ_by_rounding_alone(spark: SparkSession) -> None:
    numbers = (
        spark.range(2_000, numPartitions=3).withColumn("v", sf.rand(3) - 0.5).localCheckpoint()
    )
    windowed = us.window(numbers.withColumn("k", sf.lit(1)), "k", "id", workers=6)
    found = windowed.with_columns(total=windowed.sum("v"), mean=windowed.avg("v")).orderBy("id")
    window = Window.partitionBy("k").orderBy("id")
    plain = numbers.withColumn("k", sf.lit(1)).withColumns(
        {"total": sf.sum("v").over(window), "mean": sf.avg("v").over(window)}
    )
    size = np.cumsum(np.abs(numbers.orderBy("id").toArrow()["v"].to_numpy()))
    for name in ("total", "mean"):
        ours, theirs = (each.orderBy("id").toArrow()[name].to_numpy() for each in (found, plain))
        assert np.all(np.abs(ours - theirs) <= 2_000 * np.finfo(float).eps * size)


def executed(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan().toString())


@pytest.mark.usefixtures("adaptive")
def test_there_is_one_shuffle_one_sort_and_no_python(rows: DataFrame) -> None:
    windowed = us.window(rows, "k", ["n", "id"], workers=5)
    found = windowed.with_columns(
        **{name: pair[0](windowed) for name, pair in (PEERS | ROWS).items()}
    )
    plan = executed(found)
    assert len(re.findall(r"[^a-z]Exchange ", plan)) == 1
    assert "Exchange hashpartitioning(_unskew_steer" in plan
    assert len(re.findall(r"[- ]Sort \[", plan)) == 1
    assert "BroadcastHashJoin" in plan
    assert not re.search("Python|Arrow", plan)


@pytest.mark.usefixtures("adaptive")
def test_workers_get_about_the_same(spark: SparkSession) -> None:
    key = sf.when(sf.col("id") % 5 < 2, 0).otherwise(sf.col("id") % 997)
    df = spark.range(40_000, numPartitions=4).withColumn("k", key)
    windowed = us.window(df, "k", sf.desc("id"), workers=8)
    found = windowed.with_columns(n=windowed.row_number())
    loads = found.where("n > 0").groupBy(sf.spark_partition_id()).count().collect()
    assert len(loads) == 8
    assert max(row["count"] for row in loads) <= 1.1 * 40_000 / 8


def test_no_key_is_cut_where_all_fit(spark: SparkSession) -> None:
    df = spark.range(5_000).withColumn("k", sf.col("id") % 97)
    windowed = us.window(df, "k", "id", workers=4)
    assert "0 keys cut" in repr(windowed)
    found = windowed.with_columns(n=windowed.row_number(), a=windowed.lag("id"))
    assert "Join" not in executed(found)
    assert found.where("n = 1 and a is not null or n > 1 and a != id - 97").count() == 0


@pytest.mark.usefixtures("interpreted")
def test_keys_with_one_identity_are_cut_alike_and_stay_apart(rows: DataFrame) -> None:
    # As if all keys had the identity of the one that is cut: correctness may not rest on it.
    order = check_order(rows, "id", owner="window")
    one = rows.withColumn("k", sf.lit("hot"))
    ranges = learn_ranges(one, ["k"], order, 5, 0)
    (cut,) = ranges.cut_keys

    class Colliding(Ranges):
        def is_cut(self, df: DataFrame) -> Column:
            return sf.lit(True)

    def same_identity(_df: DataFrame, _by: object) -> Column:
        return sf.lit(cut.id).cast("bigint")

    colliding = Colliding(["k"], order, ranges.plan, ranges.cut_keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unskew.spark.windows.ranges.identity", same_identity)
        windowed = WindowedFrame(rows, colliding)
        found = windowed.with_columns(
            **{name: pair[0](windowed) for name, pair in (PEERS | ROWS).items()}
        )
        plain = Window.partitionBy("k").orderBy("id")
        expected = rows.withColumns({name: pair[1](plain) for name, pair in (PEERS | ROWS).items()})
        assert content(found) == content(expected)


def test_bad_input_is_refused_with_a_reason(spark: SparkSession, rows: DataFrame) -> None:
    w = us.window(rows, "k", "id", workers=2)
    stream = spark.readStream.format("rate").load()
    calls: dict[str, Callable[[], object]] = {
        "window: partition_by": lambda: us.window(rows, "key", "id", workers=2),
        "window: order_by must be among": lambda: us.window(rows, "k", "at", workers=2),
        "window: order_by must be column names": lambda: us.window(
            rows,
            "k",
            5,  # type: ignore[arg-type]
            workers=2,
        ),
        "window: order_by must be among .*, got '.*id, 1": lambda: us.window(
            rows, "k", sf.col("id") + 1, workers=2
        ),
        "window: order_by must be columns of numbers": lambda: us.window(
            rows.withColumn("a", sf.array("id")), "k", "a", workers=2
        ),
        "window: workers": lambda: us.window(rows, "k", "id", workers=0),
        "window: df": lambda: us.window(stream, "value", "timestamp", workers=2),
        "sum: rows .* such a frame ends within": lambda: w.sum("x", rows=(None, -1)),
        "sum: rows must be first <= last": lambda: w.sum("x", rows=(1, 0)),
        "sum: rows must be within": lambda: w.sum("x", rows=(-20_000, 0)),
        "sum: rows must be \\(first": lambda: w.sum("x", rows=5),  # type: ignore[arg-type]
        "sum: column must be a column of numbers": lambda: w.sum("s"),
        "lag: column must be one of": lambda: w.lag("z"),
        "lag: offset": lambda: w.lag("x", -1),
        "function must be one that can be carried over a cut": lambda: w.ntile(4),
        "with_columns: columns must be a name that no": lambda: w.with_columns(x=w.rank()),
        "with_columns: n must be made by": lambda: w.with_columns(n=sf.rank()),  # type: ignore[arg-type]
        "with_columns: columns must be at least one": lambda: w.with_columns(),
    }
    for message, call in calls.items():
        with pytest.raises(InvalidParameterError, match=message):
            call()
    with pytest.raises(AttributeError, match="no function 'median'"):
        w.median  # noqa: B018
