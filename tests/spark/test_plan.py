"""`us.plan`: what a plan says, that it is kept, and that rows follow it as if they had learned."""

from pathlib import Path

import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew import Auto, Wrap

WORKERS = 4


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Half of the rows are one user's; ``id`` tells them apart."""
    user = sf.when(sf.col("id") % 2 == 0, sf.lit(0)).otherwise(sf.col("id") % 101)
    return spark.range(20_000).select(user.cast("bigint").alias("user"), "id").cache()


def placed(df: DataFrame) -> dict[int, int]:
    found = df.select("id", sf.spark_partition_id().alias("worker")).collect()
    return {row["id"]: row["worker"] for row in found}


def test_it_says_what_it_is_in_a_line_and_in_a_notebook(rows: DataFrame) -> None:
    plan = us.plan(rows, "user", WORKERS)
    assert isinstance(plan, us.Plan)
    assert repr(plan).startswith("Plan v1 for user: 4 workers, 1 key split, predicted imbalance")
    html = plan._repr_html_()
    assert repr(plan) in html
    assert html.count("<rect") == WORKERS
    assert "in place of" in html


@pytest.mark.parametrize("learn", ["sample", "pass"])
@pytest.mark.parametrize(
    "grouping", ["auto", "wrap", "distribution-aware", "popularity-counted", "key", "single"]
)
def test_rows_follow_it_as_if_they_had_learned_it(
    rows: DataFrame, grouping: str, learn: str
) -> None:
    plan = us.plan(rows, "user", WORKERS, grouping=grouping, learn=learn)
    followed = us.balance(rows, "user", WORKERS, plan=plan)
    learned = us.balance(rows, "user", WORKERS, grouping=grouping, learn=learn)
    assert placed(followed) == placed(learned)


def test_what_is_saved_places_rows_alike(rows: DataFrame, tmp_path: Path) -> None:
    plan = us.plan(rows, "user", WORKERS)
    plan.save(tmp_path / "plan.json")
    loaded = us.load_plan(tmp_path / "plan.json")
    assert (loaded.by, loaded.types, loaded.spread_by) == (("user",), ("bigint",), plan.spread_by)
    assert placed(us.balance(rows, "user", WORKERS, plan=loaded)) == placed(
        us.balance(rows, "user", WORKERS, plan=plan)
    )
    grouped = us.group_by(rows, "user", workers=WORKERS, plan=loaded)
    expected = sorted(map(tuple, rows.groupBy("user").agg(sf.sum("id")).collect()))
    assert sorted(map(tuple, grouped.agg(sf.sum("id")).collect())) == expected
    salted = us.salt(rows, "user", WORKERS, plan=loaded)
    assert salted.where("user = 0").select("salt").distinct().count() > 1


def test_columns_that_are_gone_need_not_be_there(rows: DataFrame) -> None:
    plan = us.plan(rows, "user", WORKERS)
    assert plan.spread_by == ("id",)
    other = rows.select("user", sf.col("id").alias("number"))
    assert us.balance(other, "user", WORKERS, plan=plan).count() == rows.count()


@pytest.mark.parametrize(
    "grouping",
    ["auto", "auto:work=merge", "auto:worthwhile=0.1", Auto(WORKERS), Wrap(WORKERS)],
    ids=str,
)
def test_auto_is_a_name_a_spec_or_an_object(rows: DataFrame, grouping: str | Auto) -> None:
    plan = us.plan(rows, "user", WORKERS, grouping=grouping)
    assert plan.n_split_keys == 1
    grouped = us.group_by(rows, "user", workers=WORKERS, grouping=grouping)
    assert grouped.agg(sf.count("*")).count() == rows.select("user").distinct().count()


def test_auto_splits_no_key_where_that_is_asked_for(rows: DataFrame) -> None:
    assert us.plan(rows, "user", WORKERS, grouping="auto:work=atomic").n_split_keys == 0


def test_hashing_is_worth_a_lot_to_one_who_says_so(rows: DataFrame) -> None:
    plan = us.plan(rows, "user", WORKERS, grouping="auto:worthwhile=0.9")
    assert plan.hot_ids.size == 0
    assert plan.why.startswith("key: hashing is even enough")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "nobody"}, "plan: by must be among the columns"),
        ({"workers": 0}, "plan: workers must be an int >= 1"),
        ({"grouping": "partial-key"}, "plan: grouping must be one that makes a plan"),
        ({"grouping": "optimal"}, "plan: grouping must be one of those that run on Spark"),
        ({"grouping": "auto:excess=0.5"}, "plan: excess must be 0.02 on Spark"),
        ({"grouping": Wrap(5)}, "plan: grouping must be one for 4 workers"),
        ({"learn": "guess"}, "plan: learn must be one of"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_name_the_verb(rows: DataFrame, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(us.InvalidParameterError, match=message):
        us.plan(rows, **{"by": "user", "workers": WORKERS, **arguments})  # type: ignore[call-overload] # wrong on purpose


def test_a_stream_is_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(us.InvalidParameterError, match="plan: df must be a batch DataFrame"):
        us.plan(stream, "value", WORKERS)
