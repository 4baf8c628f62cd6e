"""``partial-key`` on a stream with ``weight="measured"``: plain results, and work that is even."""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.grouped_cases import SPREAD, SUMS, SumAndCount, multiset, spread, summed
from tests.spark.measured_cases import Clock, times_of
from tests.spark.stream_cases import epochs_after

from unskew.errors import InvalidParameterError
from unskew.groupings.partial_key import PartialKey
from unskew.hashing import identities
from unskew.spark.aggregators import State
from unskew.spark.columns import identity
from unskew.spark.group_by import GroupedFrame, group_by
from unskew.spark.plans.live_file import LiveFile
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE
from unskew.spark.stream import weighing
from unskew.spark.stream.weighing import WeighingLoop, version_and_worker
from unskew.spark.worker.key_times import KeyTimes
from unskew.spark.worker.row_costs import N_SLOTS, RowCosts, as_line

# Spark's Python workers cannot import these files.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
cloudpickle.register_pickle_by_value(sys.modules[Clock.__module__])

WORKERS, KEYS, ROWS = 4, 100, 2000
SLOW, TIMES = 8, 20
SCHEMA = "user string, x long, cost long"


class ToldTiming:
    """Times calls by a clock that they move."""

    def __init__(self, clock: Clock, column: str, n_slots: int, n_keys: int) -> None:
        self.clock, self.column, self.sizes = clock, column, (n_slots, n_keys)

    def start(self) -> KeyTimes:
        return KeyTimes(*self.sizes, clock=self.clock)


class CostlySum(SumAndCount):
    """Moves the clock by what the rows cost."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        assert batch.schema.names == ["user", "x", "cost"]
        self.clock.now += batch.num_rows * batch["cost"][0].as_py()
        return super().update(state, batch)


def write_file(folder: Path, number: int) -> None:
    """Write as many rows of every key; those of the first few cost twenty times as much."""
    (folder / "in").mkdir(exist_ok=True)
    keys = np.random.default_rng(number).permutation(np.arange(ROWS) % KEYS)
    users = [None if key == 9 else f"u{key}" for key in keys.tolist()]
    costs = np.where(keys < SLOW, TIMES, 1)
    table = pa.table({"user": users, "x": np.arange(ROWS), "cost": costs})
    pq.write_table(table, folder / f".{number}.tmp")
    (folder / f".{number}.tmp").replace(folder / "in" / f"{number:03d}.parquet")


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder / "in"))


def run(df: DataFrame, folder: Path, numbers: range) -> None:
    """Let a query run over files one by one, the loop hearing of each before the next comes."""
    writer = df.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        for number in numbers:
            write_file(folder, number)
            query.processAllAvailable()
            epochs_after(folder / "plans", number + 1)
    finally:
        query.stop()


@pytest.mark.usefixtures("cheap_streams")
def test_work_is_even_after_a_micro_batch_and_results_are_those_of_plain_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(weighing, "Timing", partial(ToldTiming, clock))
    spark.conf.set(STATE_STORE, ROCKSDB)
    write_file(tmp_path, 0)
    for numbers in (range(2), range(2, 3)):  # started again, it goes on
        stream = stream_of(spark, tmp_path)
        grouped = measured(stream, tmp_path / "plans")
        run(grouped.apply(CostlySum(clock), SUMS), tmp_path, numbers)
    spark.conf.unset(STATE_STORE)
    epochs = epochs_after(tmp_path / "plans", 3)
    assert [(epoch.batch, epoch.version) for epoch in epochs] == [(0, 0), (1, 1), (2, 2)]
    assert [sum(epoch.loads) for epoch in epochs] == [epoch.rows for epoch in epochs] == [ROWS] * 3
    # In percent: one slow row is 2 % of what a worker has to do.
    assert max(epoch.imbalance for epoch in epochs[1:]) <= 4 < epochs[0].imbalance / 2
    given_out = spark.read.parquet(str(tmp_path / "out")).groupBy("user")
    last = given_out.agg(sf.max_by(sf.struct("total", "n"), "n").alias("last"))
    rows = spark.read.parquet(str(tmp_path / "in"))
    assert multiset(last.select("user", "last.*")) == multiset(summed(rows, "user"))


def measured(stream: DataFrame, plans: Path, **change: Any) -> GroupedFrame:
    given: dict[str, Any] = {"grouping": "partial-key", "weight": "measured", **change}
    return group_by(stream, "user", workers=WORKERS, plan_path=plans, **given)


def test_a_task_weighs_rows_by_what_it_finds_when_it_starts(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_file(tmp_path, 0)
    rows = spark.read.schema(SCHEMA).parquet(str(tmp_path / "in")).coalesce(1)
    table = rows.select(identity(rows, "user").alias("id"), "cost")
    found = table.toArrow()
    ids, costs = identities(found["id"]), found["cost"].to_numpy().astype(float)
    folder = tmp_path / "plans"
    source = WeighingLoop("group_by", folder, "these keys", WORKERS).source
    file = LiveFile(folder, "costs", "these keys")
    codes = table.select(
        version_and_worker(sf.col("id"), PartialKey(WORKERS), source).alias("code")
    )
    known = RowCosts.nothing(N_SLOTS).after([times_of(ids, costs, n_slots=N_SLOTS, n_keys=9)])
    file.write([as_line(known)])
    by_cost = PartialKey(WORKERS).route_many(ids, weights=known.row_weights().weights(ids))
    by_rows = PartialKey(WORKERS).route_many(ids)
    assert (by_cost != by_rows).any()
    # Versions are counted from -1, where there are no costs.
    np.testing.assert_array_equal(codes.toArrow()["code"].to_numpy(), by_cost + 2 * WORKERS)
    for path in file.pair.paths:
        path.write_text("garbage")
    np.testing.assert_array_equal(codes.toArrow()["code"].to_numpy(), by_rows)


def test_what_cannot_be_weighed_is_refused_when_the_query_is_made(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_file(tmp_path, 0)
    stream, plans = stream_of(spark, tmp_path), tmp_path / "plans"
    with pytest.raises(InvalidParameterError, match="keeps keys whole"):
        measured(stream, plans).apply_in_arrow(spread, SPREAD)
    with pytest.raises(InvalidParameterError, match="no call is there to be timed"):
        measured(stream, plans).agg(sf.count("*"))
    with pytest.raises(InvalidParameterError, match="it with d-choices"):
        measured(stream, plans, grouping="d-choices")
    with pytest.raises(InvalidParameterError, match="a scheme that learns a plan"):
        measured(stream, plans, weight=None).agg(sf.count("*"))
    assert not plans.exists()


@pytest.mark.usefixtures("cheap_streams")
def test_a_folder_belongs_to_one_query(spark: SparkSession, tmp_path: Path) -> None:
    write_file(tmp_path, 0)
    stream, plans = stream_of(spark, tmp_path), tmp_path / "plans"
    spark.conf.set(STATE_STORE, ROCKSDB)
    measured(stream, plans).apply(SumAndCount(), SUMS)
    numbers = stream.withColumn("user", sf.xxhash64("user"))
    other = group_by(
        stream, "user", workers=3, grouping="partial-key", weight="measured", plan_path=plans
    )
    for refused in (measured(numbers, plans), other):
        with pytest.raises(InvalidParameterError, match="the folder of a query with") as caught:
            refused.apply(SumAndCount(), SUMS)
        assert (caught.value.owner, caught.value.parameter) == ("group_by", "plan_path")
    spark.conf.unset(STATE_STORE)
