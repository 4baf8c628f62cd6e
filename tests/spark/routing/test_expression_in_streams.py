from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.groupings.spreading import positions_of, spread_planned

from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.groupings.planned import PlannedGrouping
from unskew.hashing import Ids, identities
from unskew.scheduling import Pieces
from unskew.spark.routing.expression import TABLES_TYPE, live_tables, with_planned_worker
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.stream.counters import hot_counts, place_column, place_counts, read_counts

WORKERS = 6


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """30,000 rows; key k has about 1/k of them."""
    numbers = spark.range(30_000, numPartitions=2)
    key = sf.floor(sf.pow(sf.lit(2000.0), sf.rand(3)))
    found = numbers.select(key.alias("key"), "id").withColumn("h", sf.xxhash64("key")).cache()
    yield found
    found.unpersist()


def learned(ids: Ids, name: str) -> Plan:
    grouping = grouping_for(name, WORKERS)
    assert isinstance(grouping, PlannedGrouping)
    return grouping.learn(ids).build().plan


def routed(spark: SparkSession, rows: DataFrame, plan: Plan) -> tuple[Ids, np.ndarray, np.ndarray]:
    """Return identity, row number and worker of all rows, by the plan's tables."""
    type_of_tables = spark.createDataFrame([], f"t {TABLES_TYPE}").schema["t"].dataType
    tables = spark.createDataFrame([(live_tables(plan),)], f"t {TABLES_TYPE}")
    assert tables.schema["t"].dataType == type_of_tables
    table = rows.select("id", "h").toArrow()
    positions = positions_of(table["id"].to_numpy())
    given = spark.createDataFrame(table.append_column("p", [positions]))
    joined = given.crossJoin(tables)
    found = with_planned_worker(joined, "w", tables="t", identity="h", position=sf.col("p"))
    got = found.select("id", "h", "w").toArrow()
    return identities(got["h"]), got["id"].to_numpy(), got["w"].to_numpy()


@pytest.mark.parametrize(
    "name", ["wrap", "distribution-aware", "distribution-aware:threshold=0.02"]
)
def test_tables_say_what_the_plan_says(spark: SparkSession, rows: DataFrame, name: str) -> None:
    plan = learned(identities(rows.select("h").toArrow()["h"]), name)
    ids, numbers, workers = routed(spark, rows, plan)
    np.testing.assert_array_equal(workers, spread_planned(ids, positions_of(numbers), plan))


def test_of_more_hot_keys_in_a_slot_than_fit_the_lightest_go_with_the_slot(
    spark: SparkSession, rows: DataFrame
) -> None:
    # Neighbouring identities: no refinement of the slots tells them apart.
    hot = np.arange(7, dtype=np.uint64) + np.uint64(1 << 60)
    loads = np.array([1.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0])
    pieces = Pieces(np.arange(8), np.full(7, 3, np.int32), loads)
    plan = replace(hashing_plan(WORKERS, HASHED_MEMBER, 8), hot_ids=hot, pieces=pieces)
    kept = set(live_tables(plan)["hot"])
    assert kept == {int(key) for key in hot[1:5]}


def test_counts_of_places_are_exact_and_hot_keys_come_first(
    spark: SparkSession, rows: DataFrame
) -> None:
    n_slots = 256
    placed = rows.withColumn("w", sf.pmod("h", sf.lit(WORKERS)).cast("int"))
    placed = placed.withColumn("place", place_column(sf.col("w"), sf.col("h"), n_slots))
    found = placed.agg(
        place_counts("place", WORKERS, 8 * n_slots).alias("p"), hot_counts("h", 64).alias("h")
    ).collect()[0]
    counts = read_counts(found["p"], found["h"], 0, workers=WORKERS, n_slots=n_slots)
    table = placed.toArrow()
    workers, ids = table["w"].to_numpy(), identities(table["h"])
    np.testing.assert_array_equal(counts.loads, np.bincount(workers, minlength=WORKERS))
    slots = (ids >> np.uint64(56)).astype(np.int64)
    np.testing.assert_array_equal(counts.slot_loads, np.bincount(slots, minlength=n_slots))
    distinct, true = np.unique(ids, return_counts=True)
    exact = dict(zip(distinct.tolist(), true.tolist(), strict=True))
    assert [exact[key] for key in counts.hot_ids.tolist()] == counts.hot_loads.tolist()
    assert counts.hot_loads[0] == true.max()
