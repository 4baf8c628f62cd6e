"""``weight="measured"``: workers are busy for as long as each other, and results stay the same."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
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
from tests.spark.stream_cases import epochs_after

from unskew.errors import InvalidParameterError
from unskew.groupings.registry import GROUPINGS
from unskew.groupings.wrap import Wrap
from unskew.hashing import identities
from unskew.metrics import imbalance_percent
from unskew.spark.aggregators import State
from unskew.spark.columns import identity
from unskew.spark.costs.sampling import measured_costs
from unskew.spark.group_by import group_by
from unskew.spark.loads import Loads
from unskew.spark.routing.placing import route
from unskew.spark.routing.schemes import runnable
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE
from unskew.spark.worker.row_costs import RowCosts, RowWeights

pytestmark = pytest.mark.slow

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WORKERS = 4
KEYS, SLOW, TIMES = 400, 8, 20
ROWS_A_KEY = 30


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(skewed_rows())


@pytest.fixture(scope="module")
def costly(spark: SparkSession) -> DataFrame:
    """As many rows of every key; those of the first few keys cost twenty times as much."""
    keys = np.random.default_rng(3).permutation(np.repeat(np.arange(KEYS), ROWS_A_KEY))
    cost = np.where(keys < SLOW, TIMES, 1)
    users = [f"u{key}" for key in keys.tolist()]
    df = spark.createDataFrame(pa.table({"user": users, "x": np.arange(keys.size), "cost": cost}))
    return df.cache()


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(STATE_STORE, ROCKSDB)
    yield
    spark.conf.unset(STATE_STORE)


def known_costs(df: DataFrame) -> RowWeights:
    table = df.groupBy(identity(df, "user").alias("id")).agg(
        sf.count("*").alias("rows"), sf.sum("cost").cast("double").alias("seconds")
    )
    found = table.toArrow()
    rows, seconds = found["rows"].to_numpy(), found["seconds"].to_numpy()
    return RowCosts.measured(identities(found["id"]), rows, seconds).row_weights()


def imbalance_of_work(
    df: DataFrame, grouping: str, costs: RowWeights | None, how: str = "sample"
) -> float:
    routed = route(
        df,
        "user",
        WORKERS,
        owner="test",
        grouping=grouping,
        plan=None,
        learn=how,
        seed=0,
        costs=costs,
    )
    placed = routed.placed(WORKERS).groupBy(sf.spark_partition_id().alias("w"))
    loads = {row["w"]: row["work"] for row in placed.agg(sf.sum("cost").alias("work")).collect()}
    return imbalance_percent([loads.get(worker, 0) for worker in range(WORKERS)])


# In percent. Popularity hashes all but the slow keys: some 98 fast ones a worker, of a work of 138,
# with a deviation of 8.6; two of these and a half.
MOST = {
    "wrap": 3,
    "distribution-aware:threshold=0.02": 3,
    "partial-key": 3,
    "popularity-counted": 16,
}


@pytest.mark.parametrize(
    ("grouping", "how"),
    [
        *((grouping, "sample") for grouping in MOST),
        ("wrap", "pass"),
        ("popularity-counted", "pass"),
    ],
)
def test_known_costs_even_out_work_where_rows_are_even_already(
    costly: DataFrame, grouping: str, how: str
) -> None:
    by_rows = imbalance_of_work(costly, grouping, None, how)
    by_work = imbalance_of_work(costly, grouping, known_costs(costly), how)
    assert by_work <= MOST[grouping]
    assert by_rows > 2 * by_work


class Sleeping(SumAndCount):
    """Rows of the slow keys take twenty times as long."""

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        time.sleep(batch.num_rows * batch["cost"][0].as_py() * 2e-4)
        return super().update(state, batch)


def work_asleep(table: pa.Table) -> pa.Table:
    time.sleep(table.num_rows * table["cost"][0].as_py() * 2e-4)
    return spread(table)


def imbalance_of_time(loads: Loads) -> float:
    seconds = loads.epoch.busy_seconds
    assert seconds is not None
    return imbalance_percent(seconds)


def few_keys(spark: SparkSession, *, slow: int) -> DataFrame:
    """4,000 rows of 8 keys; a row of a slow key sleeps for 4 ms, any other for 0.2 ms."""
    key = sf.expr("cast(id % 8 as int)")
    cost = sf.when(key < slow, TIMES).otherwise(1)
    user = sf.concat(sf.lit("u"), key)
    return spark.range(4000).select(user.alias("user"), sf.col("id").alias("x"), cost.alias("cost"))


def test_sleeping_work_is_even_in_time_only_if_it_is_measured(spark: SparkSession) -> None:
    rows = few_keys(spark, slow=1)  # its key has 20 of 27 parts of the work
    found = {}
    for weight in (None, "measured"):
        loads = Loads()
        grouped = group_by(rows, "user", workers=2, grouping="wrap", loads=loads, weight=weight)
        assert multiset(grouped.apply(Sleeping(), SUMS)) == multiset(summed(rows, "user"))
        found[weight] = imbalance_of_time(loads)
        assert loads.epoch.imbalance_of == ("busy_seconds" if weight else "rows")
    assert loads.epoch.imbalance == pytest.approx(found["measured"])
    assert found["measured"] < 20
    assert found[None] > 35


def test_sleeping_work_on_whole_groups_is_even_in_time_if_it_is_measured(
    spark: SparkSession,
) -> None:
    rows = few_keys(spark, slow=2)  # one for each worker
    loads = Loads()
    grouped = group_by(rows, "user", workers=2, loads=loads, weight="measured")
    got = grouped.apply_in_arrow(work_asleep, SPREAD)
    assert multiset(got) == multiset(rows.groupBy("user").applyInArrow(spread, SPREAD))
    assert imbalance_of_time(loads) < 20


@pytest.mark.parametrize("grouping", [name for name in runnable() if GROUPINGS[name].takes_weights])
def test_results_are_those_of_plain_spark(rows: DataFrame, grouping: str) -> None:
    for by in (["user"], ["user", "day"]):
        got = group_by(rows, by, workers=3, grouping=grouping, weight="measured")
        assert multiset(got.apply(SumAndCount(), SUMS)) == multiset(summed(rows, *by))


def test_whole_groups_are_those_of_plain_spark(rows: DataFrame) -> None:
    got = group_by(rows, "user", workers=3, weight="measured").apply_in_arrow(spread, SPREAD)
    assert multiset(got) == multiset(rows.groupBy("user").applyInArrow(spread, SPREAD))


def test_few_rows_are_not_measured(rows: DataFrame) -> None:
    few = rows.limit(100)

    def refuse(table: pa.Table) -> None:
        raise AssertionError("called")

    assert measured_costs(few, ["user"], 3, refuse, seed=0) is None
    got = group_by(few, "user", workers=3, weight="measured").apply(SumAndCount(), SUMS)
    assert sum(row["n"] for row in got.collect()) == 100


@pytest.mark.parametrize("grouping", ["wrap", "popularity-counted", "partial-key"])
def test_a_stream_that_measures_gives_what_plain_spark_gives(
    spark: SparkSession, rows: DataFrame, rocksdb: None, tmp_path: Path, grouping: str
) -> None:
    stream = file_stream(spark, rows, tmp_path / "in", files=2)
    grouped = group_by(
        stream,
        "user",
        workers=3,
        grouping=grouping,
        plan_path=tmp_path / "plans",
        weight="measured",
    )
    name = f"measured_{grouping.replace('-', '_')}"
    run_to_end(grouped.apply(SumAndCount(), SUMS), name, "update", tmp_path)
    last = spark.table(name).groupBy("user").agg(sf.max_by(sf.struct("total", "n"), "n").alias("s"))
    assert multiset(last.select("user", "s.*")) == multiset(summed(rows, "user"))
    for epoch in epochs_after(tmp_path / "plans", 2):
        assert epoch.imbalance_of == "busy_seconds"
        assert sum(epoch.loads) == epoch.rows


def test_whole_groups_of_a_stream_that_measures_see_no_other_columns(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    def columns(table: pa.Table) -> pa.Table:
        names = ",".join(table.schema.names)
        return pa.table({"names": [names], "n": pa.array([table.num_rows], pa.int64())})

    stream = file_stream(spark, rows, tmp_path / "in", files=2)
    got = group_by(stream, "user", workers=3, plan_path=tmp_path / "plans", weight="measured")
    result = got.apply_in_arrow(columns, "names string, n bigint")
    run_to_end(result, "measured_groups", "append", tmp_path)
    found = spark.table("measured_groups").groupBy("names").agg(sf.sum("n")).collect()
    assert [tuple(row) for row in found] == [("user,day,x", rows.count())]
    assert epochs_after(tmp_path / "plans", 2)[1].imbalance_of == "busy_seconds"


def test_agg_has_no_work_to_measure(rows: DataFrame) -> None:
    with pytest.raises(InvalidParameterError, match="apply_in_arrow") as refused:
        group_by(rows, "user", workers=3, weight="measured").agg(sf.count("*").alias("count"))
    assert refused.value.parameter == "weight"


@pytest.mark.parametrize("given", ["bytes", 3, ""])
def test_an_unknown_weight_is_refused(rows: DataFrame, given: str) -> None:
    with pytest.raises(InvalidParameterError, match="measured") as refused:
        group_by(rows, "user", workers=3, weight=given)
    assert refused.value.parameter == "weight"


@pytest.mark.parametrize(
    "grouping", ["key", "shuffle", "d-choices", "popularity", Wrap(3, slots=64).build()]
)
def test_a_scheme_that_cannot_weigh_is_refused(rows: DataFrame, grouping: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        group_by(rows, "user", workers=3, grouping=grouping, weight="measured")
    assert refused.value.parameter == "weight"


def test_a_stream_needs_a_place_for_what_it_learns(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InvalidParameterError, match="plan_path") as refused:
        group_by(stream, "value", workers=3, grouping="partial-key", weight="measured")
    assert refused.value.parameter == "weight"
