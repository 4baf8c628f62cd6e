import contextlib
import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from tests.cheap_settings import INTERPRETED
from tests.spark.join_cases import (
    HOWS,
    WORKERS,
    grids,
    key_ids,
    plan_of,
    rows_of,
    small_keys,
    table,
)

import unskew.spark as us
from unskew.errors import InvalidParameterError
from unskew.spark.joins.learning import Side
from unskew.spark.joins.placing import Names, salted
from unskew.spark.plans.join_plan import JoinPlan

pytestmark = pytest.mark.spark

ROWS = 800


@pytest.fixture(scope="module")
def ids(spark: SparkSession) -> Any:
    return key_ids(spark)


@pytest.fixture(scope="module", autouse=True)
def _no_broadcasts(spark: SparkSession) -> Any:
    """Let Spark shuffle even small tables, so that there is something to plan; in cheap code."""
    wanted = {"spark.sql.autoBroadcastJoinThreshold": "-1", **INTERPRETED}
    before = {name: str(spark.conf.get(name)) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def left(spark: SparkSession) -> DataFrame:
    """Two hot keys, a twentieth of nulls, a tail; some keys that the right side has not."""
    rng = np.random.default_rng(3)
    keys = rng.choice([0, 1, *range(2, 60)], ROWS, p=[0.4, 0.2, *[0.4 / 58] * 58])
    listed = [None if i % 20 == 0 else f"k{key}" for i, key in enumerate(keys)]
    return spark.createDataFrame(pa.table({"x": range(ROWS), "k": listed})).cache()


@pytest.fixture(scope="module")
def right(spark: SparkSession) -> DataFrame:
    """Key 1 is hot here too, key 70 is hot here alone; nulls; most keys of the left side."""
    keys = [*np.repeat(["k1", "k70", "k0"], [15, 150, 3]), *(f"k{i}" for i in range(2, 50)), None]
    return spark.createDataFrame(
        pa.table({"k": pa.array(keys), "y": pa.array([i % 7 for i in range(len(keys))])})
    ).cache()


def check_any_plan(
    spark: SparkSession,
    ids: Any,
    how: str,
    keys: tuple[list[int | None], list[int | None]],
    cut: list[tuple[int, int, list[int]]],
) -> None:
    left, right = table(spark, keys[0], "x"), table(spark, keys[1], "y")
    joined = us.join(left, right, "k", how, WORKERS, plan=plan_of(ids, cut, "inner"))
    plain = left.join(right, "k", how)
    assert joined.schema == plain.schema
    assert rows_of(joined) == rows_of(plain)


both_sides = st.tuples(small_keys, small_keys)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(how=st.sampled_from(HOWS), keys=both_sides, cut=grids())
def test_any_plan_gives_the_plain_join(
    spark: SparkSession, ids: Any, how: str, keys: Any, cut: Any
) -> None:
    check_any_plan(spark, ids, how, keys, cut)


@pytest.mark.slow
@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(keys=both_sides, cut=grids())
def test_any_plan_gives_the_plain_join_adaptive_or_not(
    spark: SparkSession, ids: Any, how: str, keys: Any, cut: Any
) -> None:
    check_any_plan(spark, ids, how, keys, cut)


@pytest.mark.slow
@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("how", HOWS)
def test_a_learned_plan_gives_the_plain_join_evenly(
    left: DataFrame, right: DataFrame, how: str
) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, how=how, grouping="wrap", learn="pass")
    joined, plain = us.join(left, right, "k", how, plan=plan), left.join(right, "k", how)
    assert joined.schema == plain.schema
    assert rows_of(joined) == rows_of(plain)
    assert plan.predicted_imbalance < 10 < 40 < plan.hashed_imbalance


@pytest.mark.parametrize("learn", ["sample", "pass"])
def test_the_plan_predicts_the_work_of_each_worker(
    left: DataFrame, right: DataFrame, learn: str
) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap", learn=learn)
    joined = us.join(left, right, "k", plan=plan, salt="s")
    rows = joined.groupBy(sf.hash("k", "s").alias("w")).count().collect()
    out = {row["w"]: row["count"] for row in rows}
    names = Names(*(f"_{name}" for name in Names._fields))
    came = 0
    work = Counter(out)
    for is_left, side in ((True, Side(left, ["k"])), (False, Side(right, ["k"]))):
        placed = salted(side, plan, names, left=is_left, keeps_unmatched=False)
        for row in placed.groupBy(sf.hash("k", names.salt).alias("w")).count().collect():
            work[row["w"]] += row["count"]
            came += row["count"]
    for worker, load in enumerate(plan.predicted_loads):
        assert work[worker] == pytest.approx(load, rel=0.02)
    matching = left.where("k is not null").count() + right.where("k is not null").count()
    assert came == matching + plan.copies
    assert sum(out.values()) == left.join(right, "k").count()
    assert {row[0] for row in joined.select(sf.spark_partition_id()).distinct().collect()} == set(
        range(WORKERS)
    )


def test_a_plan_of_one_join_serves_all_others(left: DataFrame, right: DataFrame) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap")
    for how in HOWS:
        joined = us.join(left, right, "k", how, plan=plan)
        assert rows_of(joined) == rows_of(left.join(right, "k", how)), how


@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_null_keys_are_spread_and_come_out_once(
    spark: SparkSession, left: DataFrame, right: DataFrame, how: str
) -> None:
    nulls = left.select(sf.when(sf.col("x") < 0, "k1").alias("k"), "x")
    plan = us.plan(nulls, "k", WORKERS, join=right, how=how, grouping="wrap")
    joined = us.join(nulls, right, "k", how, plan=plan)
    assert rows_of(joined) == rows_of(nulls.join(right, "k", how))
    loads = [row["count"] for row in joined.groupBy(sf.spark_partition_id()).count().collect()]
    assert len(loads) == WORKERS
    assert max(loads) < 1.1 * sum(loads) / WORKERS


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_keys_of_several_columns_and_of_other_names(
    spark: SparkSession, left: DataFrame, right: DataFrame, how: str
) -> None:
    one = left.select("k", (sf.col("x") % 3).cast("int").alias("d"), sf.col("x").alias("v"))
    other = right.select(
        sf.col("k").alias("K2"), (sf.col("y") % 3).alias("d"), sf.col("y").alias("v")
    )
    joined = us.join(one, other, [("k", "K2"), ("d", "d")], how, WORKERS, grouping="wrap")
    matches = (one["k"] == other["K2"]) & (one["d"] == other["d"])
    plain = one.join(other, matches, how)
    assert joined.schema == plain.schema
    assert rows_of(joined) == rows_of(plain)
    renamed = other.withColumnRenamed("K2", "k")
    joined = us.join(one, renamed, ["d", "k"], how, WORKERS, grouping="wrap")
    plain = one.join(renamed, ["d", "k"], how)
    assert joined.schema == plain.schema
    assert rows_of(joined) == rows_of(plain)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_a_further_condition_is_part_of_the_join(
    left: DataFrame, right: DataFrame, how: str
) -> None:
    condition = sf.col("x") % 7 == sf.col("y")
    joined = us.join(left, right, "k", how, WORKERS, condition=condition, grouping="wrap")
    plain = left.join(right, (left["k"] == right["k"]) & condition, how)
    assert joined.schema == plain.schema
    assert rows_of(joined) == rows_of(plain)


def test_columns_are_found_by_alias_and_by_table_as_after_a_plain_join(
    spark: SparkSession, left: DataFrame
) -> None:
    one, other = left.alias("one"), left.where("x < 300").alias("other")
    condition = sf.col("one.x") <= sf.col("other.x")
    joined = us.join(one, other, "k", "left", WORKERS, condition=condition, grouping="wrap")
    plain = one.join(other, (sf.col("one.k") == sf.col("other.k")) & condition, "left")
    chosen = [sf.col("one.x"), sf.col("other.x"), sf.col("other.k")]
    assert rows_of(joined.select(*chosen)) == rows_of(plain.select(*chosen))
    renamed = left.where("x < 300").select("k", (sf.col("x") + 1).alias("x"))
    joined = us.join(left, renamed, "k", workers=WORKERS, grouping="wrap")
    expected = left.join(renamed, "k").select(left["x"], renamed["x"])
    assert rows_of(joined.select(left["x"], renamed["x"])) == rows_of(expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("int", "bigint"),
        ("bigint", "decimal(20,0)"),
        ("float", "double"),
        ("date", "timestamp"),
        ("int", "double"),
    ],
)
def test_keys_of_unlike_types_that_compare(
    spark: SparkSession, one: str, other: str, left: DataFrame, right: DataFrame
) -> None:
    def typed(df: DataFrame, kind: str, value: str) -> DataFrame:
        number = sf.substring("k", 2, 9).cast("int")
        date = sf.date_add(sf.lit("2026-01-01"), number)
        return df.select(
            (date if kind in ("date", "timestamp") else number).cast(kind).alias("k"), value
        )

    for how in ("inner", "right", "full"):
        sides = typed(left, one, "x"), typed(right, other, "y")
        joined = us.join(*sides, "k", how, WORKERS, grouping="wrap")
        plain = sides[0].join(sides[1], "k", how)
        assert joined.schema == plain.schema
        assert rows_of(joined) == rows_of(plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        "cast(x % 3 as boolean)",
        "cast(x % 3 as double)",
        "if(x % 3 = 0, double('NaN'), if(x % 3 = 1, -0.0D, 0.0D))",
        "cast(x % 3 as decimal(9, 2))",
        "binary(string(x % 3))",
        "date_add(date'2026-01-01', cast(x % 3 as int))",
        "array(x % 3, null)",
        "struct(x % 3 as a, 'b' as b)",
        "if(x % 3 = 0, null, x % 3)",
    ],
)
def test_keys_of_all_types_that_spark_hashes(spark: SparkSession, key: str) -> None:
    numbers = spark.range(90).withColumnRenamed("id", "x")
    left = numbers.select(sf.expr(key).alias("k"), "x")
    right = numbers.where("x < 8").select(sf.expr(key).alias("k"), (sf.col("x") * 2).alias("y"))
    for how in ("inner", "full"):
        joined = us.join(left, right, "k", how, WORKERS, grouping="wrap", learn="pass")
        counts = rows_of(joined.groupBy("x", "y").count())
        assert counts == rows_of(left.join(right, "k", how).groupBy("x", "y").count())


@pytest.mark.slow
def test_names_that_a_side_has_twice_and_a_table_joined_with_itself(left: DataFrame) -> None:
    few = left.where("x < 60")
    twice = few.select("x", "k", sf.col("x").alias("x"))
    for how in ("inner", "full", "semi"):
        joined = us.join(twice, left, "k", how, WORKERS, grouping="wrap")
        plain = twice.join(left, "k", how)
        assert joined.schema == plain.schema
        assert rows_of(joined) == rows_of(plain)
        itself = us.join(few, few, [("k", "k")], how, WORKERS, grouping="wrap")
        one, other = few.alias("one"), few.alias("other")
        plain = one.join(other, sf.col("one.k") == sf.col("other.k"), how)
        assert rows_of(itself) == rows_of(plain)


@pytest.mark.slow
def test_empty_sides_and_a_single_key(spark: SparkSession, left: DataFrame) -> None:
    none, one_key = left.where("false"), left.select(sf.lit("only").alias("k"), "x")
    few = one_key.where("x < 5")
    for how in HOWS:
        for sides in ((left, none), (none, left), (one_key, few), (few, one_key), (none, none)):
            joined = us.join(*sides, "k", how, WORKERS, grouping="wrap")
            assert rows_of(joined) == rows_of(sides[0].join(sides[1], "k", how)), how
    plan = us.plan(one_key, "k", WORKERS, join=few, grouping="wrap")
    assert plan.n_split_keys == 1
    assert plan.predicted_imbalance < 1


def test_auto_leaves_even_joins_and_broadcasts_to_spark(
    spark: SparkSession, left: DataFrame, right: DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "unskew.spark")
    even = spark.range(5_000).withColumnRenamed("id", "k")
    assert "Exchange hashpartitioning(k" in plan_text(us.join(even, even, "k", workers=WORKERS))
    assert "hashing is even enough" in caplog.text
    assert "REPARTITION_BY_NUM" in plan_text(us.join(left, right, "k", workers=WORKERS))
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB")
    try:
        assert "Broadcast" in plan_text(us.join(left, right, "k", workers=WORKERS))
        assert "Spark broadcasts a side" in caplog.text
        # Spark does not know how few rows a filter leaves; the count does.
        many = spark.range(300_000).select((sf.col("id") % 9).alias("k"), sf.rand(1).alias("y"))
        few = many.where("y < 0.001")
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "20KB")
        assert "BroadcastHashJoin" in plan_text(us.join(even, few, "k", workers=WORKERS))
        assert "fits a broadcast" in caplog.text
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")


def plan_text(df: DataFrame) -> str:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        df.explain()
    return shown.getvalue()


def test_a_group_by_with_the_salt_and_a_second_join_need_no_further_shuffle(
    left: DataFrame, right: DataFrame
) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap")
    first = us.join(left, right, "k", plan=plan, salt="s")
    grouped = first.groupBy("k", "s").agg(sf.count("*").alias("n"))
    assert plan_text(grouped).count("Exchange") == 2  # one per side of the join
    merged = grouped.groupBy("k").agg(sf.sum("n"))
    assert rows_of(merged) == rows_of(left.join(right, "k").groupBy("k").agg(sf.count("*")))

    third = right.where("y < 2").select("k", sf.col("y").alias("z"))
    for how in ("inner", "left", "semi", "anti"):
        second = us.join(first, third, "k", how, plan=plan, salt="s").drop("s")
        assert plan_text(second).count("Exchange hashpartitioning") == 3  # and one for the third
        plain = left.join(right, "k").join(third, "k", how)
        assert second.columns == plain.columns
        by = plain.columns
        assert rows_of(second.groupBy(*by).count()) == rows_of(plain.groupBy(*by).count())


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_a_second_join_finds_rows_in_every_cell_of_a_grid(
    spark: SparkSession, ids: Any, how: str
) -> None:
    cut = [(2, 2, [3, 1, 0, 2]), (1, 3, [1, 2, 0]), (3, 1, [0, 3, 1]), (1, 1, [2]), (1, 2, [2, 1])]
    plan = plan_of(ids, cut, "inner")
    keys = [0, 0, 0, 0, 1, 1, 2, 2, 2, 3, None]
    one, other = table(spark, keys, "x"), table(spark, [*keys, 4], "y")
    third = table(spark, [0, 0, 1, 2, 4, None], "z")
    first = us.join(one, other, "k", "left", plan=plan, salt="s")
    second = us.join(first, third, "k", how, plan=plan, salt="s").drop("s")
    assert rows_of(second) == rows_of(one.join(other, "k", "left").join(third, "k", how))
    again = us.join(first, third, [("k", "k")], how, plan=plan, salt="s").drop("s")
    assert sum(rows_of(again).values()) == sum(rows_of(second).values())


def test_a_group_by_the_key_alone_shuffles_partial_results(
    left: DataFrame, right: DataFrame
) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap")
    counted = us.join(left, right, "k", plan=plan).groupBy("k").count()
    steps = [
        line for line in plan_text(counted).splitlines() if "Exchange" in line or "partial_" in line
    ]
    assert "ENSURE_REQUIREMENTS" in steps[0]
    assert "partial_count" in steps[1]


def test_a_salt_that_does_not_belong_to_the_key_is_an_error(
    left: DataFrame, right: DataFrame
) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap")
    first = us.join(left, right, "k", plan=plan, salt="s")
    changed = first.withColumn("k", sf.concat("k", sf.lit("!")))
    with pytest.raises(Exception, match="is not that of an earlier join"):
        us.join(changed, right, "k", plan=plan, salt="s").collect()


def test_loads_tell_rows_of_the_result(left: DataFrame, right: DataFrame) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap")
    loads = us.Loads()
    rows = us.join(left, right, "k", plan=plan, loads=loads).count()
    assert loads.epoch.rows == rows
    assert loads.epoch.imbalance < 10
    assert loads.epoch.split_keys == plan.n_split_keys > 0


def test_a_plan_is_kept_in_a_file(left: DataFrame, right: DataFrame, tmp_path: Path) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, how="left", grouping="wrap")
    plan.save(tmp_path / "join.json")
    found = us.load_plan(tmp_path / "join.json")
    assert isinstance(found, JoinPlan)
    assert repr(found) == repr(plan)
    assert found.own_fields() == plan.own_fields()
    joined = us.join(left, right, "k", "left", plan=found)
    assert rows_of(joined) == rows_of(left.join(right, "k", "left"))
    broken = (
        (tmp_path / "join.json").read_text().replace('"grid_columns": [', '"grid_columns": [9,')
    )
    (tmp_path / "join.json").write_text(broken)
    with pytest.raises(us.PlanFileError, match="grid_columns must be"):
        us.load_plan(tmp_path / "join.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on": "nope"}, "on must be among the columns 'x', 'k', got 'nope'"),
        ({"on": [("k", "nope")]}, "on must be among the columns 'k', 'y'"),
        ({"on": []}, "on must be a column name, a list of them, or a list of pairs"),
        ({"on": ("k", "k")}, "on must be a column name"),
        (
            {"on": [("x", "k")]},
            "columns of types that compare without loss, got 'x: bigint, k: string'",
        ),
        ({"how": "cross"}, r"how must be one of inner, left.*Hint: .*crossJoin"),
        ({"how": "sideways"}, "how must be one of"),
        ({"workers": 0}, "workers must be an int >= 1"),
        ({"learn": "guess"}, "learn must be one of"),
        ({"grouping": "partial-key"}, "grouping must be one of 'auto', 'wrap'"),
        ({"right": 7}, "right must be a DataFrame"),
        ({"how": "full", "salt": "s"}, "salt must be left out for a full join"),
        ({"salt": "y"}, "salt must be a name that no column of the right side has"),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(
    left: DataFrame, right: DataFrame, arguments: dict[str, Any], message: str
) -> None:
    given = {"left": left, "right": right, "on": "k", "workers": WORKERS, **arguments}
    with pytest.raises(InvalidParameterError, match=message):
        us.join(**given)


def test_a_plan_for_something_else_is_refused(
    spark: SparkSession, left: DataFrame, right: DataFrame
) -> None:
    plan = us.plan(left, "k", WORKERS, join=right, grouping="wrap")
    with pytest.raises(InvalidParameterError, match="one for 3 workers"):
        us.join(left, right, "k", workers=3, plan=plan)
    with pytest.raises(InvalidParameterError, match="one for the key columns x"):
        us.join(left, right.withColumnRenamed("y", "x"), "x", plan=plan)
    with pytest.raises(InvalidParameterError, match="of the right side"):
        us.join(left, right.withColumnRenamed("k", "K2"), [("k", "K2")], plan=plan)
    with pytest.raises(InvalidParameterError, match="a JoinPlan, as us"):
        us.join(left, right, "k", workers=WORKERS, plan=us.plan(left, "k", WORKERS))
    with pytest.raises(InvalidParameterError, match="given for a stream"):
        us.join(spark.readStream.format("rate").load(), left, [("value", "x")])
