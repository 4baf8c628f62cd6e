"""``grouping="auto"``: what it takes for which keys and which work, and that results are exact."""

import logging
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from tests.spark.grouped_cases import SumAndCount

import unskew.spark as us
from unskew.groupings.auto import Auto
from unskew.groupings.plan import HASHED_MEMBER, Plan, places_of, slots_of
from unskew.hashing import identities
from unskew.metrics import imbalance_percent
from unskew.spark.columns import identity
from unskew.spark.routing.choosing import choose_plan
from unskew.spark.worker.row_costs import RowWeights

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WORKERS = 4
ROWS = 20_000


def table_of(spark: SparkSession, keys: list[int | None]) -> DataFrame:
    x = list(range(len(keys)))
    return spark.createDataFrame(pa.table({"user": pa.array(keys, pa.int64()), "x": x}))


@pytest.fixture(scope="module")
def even(spark: SparkSession) -> DataFrame:
    """As many rows of each of 20,000 keys: hashing is even."""
    return table_of(spark, list(range(ROWS)))


@pytest.fixture(scope="module")
def hot(spark: SparkSession) -> DataFrame:
    """Null has half of the rows, 500 keys share the others."""
    return table_of(spark, [None if n % 2 else n % 1000 for n in range(ROWS)])


@pytest.fixture(scope="module")
def warm(spark: SparkSession) -> DataFrame:
    """Forty keys of different heat, none hotter than a worker's share: whole keys can be even."""
    return table_of(spark, [n % 40 if n % 3 else n % 7 for n in range(ROWS)])


def chosen(df: DataFrame, work: str, how: str = "sample") -> Plan:
    whole_keys = work == "atomic"
    return choose_plan(df, identity(df, "user"), Auto(WORKERS), how=how, whole_keys=whole_keys).plan


def hashed_imbalance(df: DataFrame) -> float:
    """Return what plain hashing makes of the rows, by the identities that Spark computes."""
    ids = identities(df.select(identity(df, "user").alias("id")).toArrow()["id"])
    return imbalance_percent(np.bincount(slots_of(ids, HASHED_MEMBER, WORKERS)))


@pytest.mark.parametrize("how", ["sample", "pass"])
def test_where_hashing_is_even_enough_it_is_taken(even: DataFrame, how: str) -> None:
    assert hashed_imbalance(even) < 5
    for work in Auto.candidates_for:
        plan = chosen(even, work, how)
        assert plan.hot_ids.size == 0
        assert plan.slot_workers.tolist() == list(range(WORKERS))
        assert plan.why.startswith("key")
        assert plan.predicted_imbalance == pytest.approx(hashed_imbalance(even), abs=1e-6)


@pytest.mark.parametrize("how", ["sample", "pass"])
def test_a_hot_key_is_split_where_results_can_be_merged(hot: DataFrame, how: str) -> None:
    plan = chosen(hot, "merge", how)
    assert plan.n_split_keys >= 1
    assert plan.predicted_imbalance < 2
    assert plan.why.startswith("wrap")
    assert f"{hashed_imbalance(hot):.1f} %" in plan.why


@pytest.mark.parametrize("how", ["sample", "pass"])
def test_whole_keys_are_placed_more_evenly_than_by_hash_where_that_can_be(
    warm: DataFrame, how: str
) -> None:
    plan = chosen(warm, "atomic", how)
    assert plan.n_split_keys == 0
    assert 100 + plan.predicted_imbalance < 0.95 * (100 + hashed_imbalance(warm))
    assert plan.why.startswith(Auto.candidates_for["atomic"])


@pytest.fixture(scope="module")
def grouped(spark: SparkSession) -> DataFrame:
    """One key has two thirds of the rows, 5,000 keys share the others."""
    return table_of(spark, [-1 if n % 3 else n // 3 % 5000 for n in range(ROWS)])


def groups_per_worker(df: DataFrame, plan: Plan) -> list[int]:
    ids = identities(df.select(identity(df, "user").alias("id")).distinct().toArrow()["id"])
    places = np.array([min(places_of(plan, each)) for each in ids])
    return list(np.bincount(places, minlength=WORKERS))


def test_whole_groups_are_not_crowded_for_the_sake_of_rows_unless_that_is_known_to_pay(
    grouped: DataFrame,
) -> None:
    plan = chosen(grouped, "atomic")
    # Rows alone would give the hot key a worker of its own, and the others a third of all groups.
    by_rows = min(
        groups_per_worker(grouped, chosen_by(grouped, spec))
        for spec in Auto.candidates_for["atomic"]
    )
    assert min(by_rows) < 10
    assert max(groups_per_worker(grouped, plan)) < 1.2 * 5001 / WORKERS
    assert plan.why.startswith("key: ")
    assert "if groups take the time" in plan.why
    assert 'weight="measured"' in plan.why


def chosen_by(df: DataFrame, spec: str) -> Plan:
    return us.plan(df, "user", WORKERS, grouping=spec)


def test_a_group_weighs_what_was_measured_beside_its_rows(grouped: DataFrame) -> None:
    nothing = np.zeros(0)
    costs = RowWeights(np.zeros(0, np.uint64), nothing, np.ones(1), per_group=1000.0)
    for how in ("sample", "pass"):
        plan = choose_plan(
            grouped, identity(grouped, "user"), Auto(WORKERS), how=how, costs=costs, whole_keys=True
        ).plan
        assert max(groups_per_worker(grouped, plan)) < 1.1 * 5001 / WORKERS


def test_the_choice_is_logged_and_told_with_the_loads(
    hot: DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    loads = us.Loads()
    with caplog.at_level(logging.INFO, logger="unskew.spark"):
        placed = us.balance(hot, "user", WORKERS, loads=loads)
    placed.collect()
    assert loads.epoch.imbalance < 5
    assert str(loads.epoch.why).startswith("wrap")
    assert any(str(loads.epoch.why) in message for message in caplog.messages)


def test_choosing_runs_no_job_that_learning_does_not(
    spark: SparkSession, hot: DataFrame, session_kind: str
) -> None:
    if session_kind == "connect":
        pytest.skip("jobs are counted by the classic session's tracker")

    def jobs(grouping: str) -> int:
        spark.sparkContext.setJobGroup(grouping, grouping)
        us.balance(hot, "user", WORKERS, grouping=grouping)
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(grouping))

    assert jobs("auto") == jobs("wrap") > 0


CASES: dict[str, list[int | None]] = {
    "even": list(range(600)),
    "hot null": [None if n % 2 else n % 50 for n in range(600)],
    "one key": [7] * 600,
    "all null": [None] * 600,
    "fewer keys than workers": [n % 2 for n in range(600)],
    "no rows": [],
}


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_plain_spark(spark: SparkSession, case: str) -> None:
    df = table_of(spark, CASES[case])
    plain = sorted_rows(df.groupBy("user").agg(sf.sum("x").alias("total"), sf.count("*")))
    grouped = us.group_by(df, "user", workers=WORKERS)
    assert (
        sorted_rows(grouped.agg(sf.sum("x").alias("total"), sf.count("*").alias("count"))) == plain
    )
    assert sorted_rows(grouped.apply(SumAndCount(), "total bigint, n bigint")) == plain
    whole = grouped.apply_in_arrow(sum_of_group, "user bigint, total bigint, n bigint")
    assert sorted_rows(whole) == plain
    assert sorted_rows(us.balance(df, "user", WORKERS)) == sorted_rows(df)


def sum_of_group(table: pa.Table) -> pa.Table:
    total = pc.sum(table["x"]).as_py()
    return pa.table({"user": table["user"][:1], "total": [total], "n": [table.num_rows]})


def sorted_rows(df: DataFrame) -> list[str]:
    return sorted(repr(tuple(row)) for row in df.collect())
