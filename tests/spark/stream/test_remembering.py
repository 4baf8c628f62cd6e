"""``flow`` on a stream: plain rows, even micro-batches, and workers that keys keep."""

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.grouped_cases import SUMS, SumAndCount, multiset, summed
from tests.spark.stream_cases import (
    ROWS,
    WORKERS,
    epochs_after,
    rows_of,
    source,
    write_file,
)

import unskew.spark as us
from unskew.errors import InvalidParameterError
from unskew.groupings.flow.known_keys import KnownKeys
from unskew.groupings.plan import HASHED_MEMBER, hashing_plan
from unskew.spark.plans.saved import PlanStore
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE
from unskew.spark.stream.remembering import Known, MemoryLoop, known_from


def run(df: DataFrame, folder: Path, numbers: range) -> None:
    """Let a query run over files one by one, the loop hearing of each before the next comes."""
    writer = df.writeStream.format("parquet").option("path", str(folder / "out"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        for number in numbers:
            write_file(folder / "in", number)
            query.processAllAvailable()
            epochs_after(folder / "plan", number + 1)
    finally:
        query.stop()


def placed(df: DataFrame, folder: Path) -> DataFrame:
    by_flow = us.balance_stream(df, "user", WORKERS, plan_path=folder / "plan", grouping="flow")
    return by_flow.withColumn("worker", sf.spark_partition_id())


@pytest.mark.usefixtures("cheap_streams")
@pytest.mark.parametrize("damage", [None, "garbage"])
def test_a_stream_is_plain_and_even_and_goes_on_from_what_was_known(
    spark: SparkSession, tmp_path: Path, damage: str | None
) -> None:
    """Damaged files cost what was known, and no row."""
    (tmp_path / "in").mkdir()
    run(placed(source(spark, tmp_path), tmp_path), tmp_path, range(3))
    for path in (tmp_path / "plan").glob("memory-*.txt") if damage else ():
        path.write_text(damage or "")
    run(placed(source(spark, tmp_path), tmp_path), tmp_path, range(3, 4))
    found = spark.read.parquet(str(tmp_path / "out"))
    assert rows_of(found.drop("worker")) == rows_of(spark.read.parquet(str(tmp_path / "in")))
    epochs = epochs_after(tmp_path / "plan", 4)
    assert [epoch.version for epoch in epochs] == [0, 1, 2, 0 if damage else 3]
    assert all(epoch.imbalance < 1 and sum(epoch.loads) == ROWS for epoch in epochs)
    # Few more copies over all micro-batches than within one, though each task starts its counts.
    pairs, keys = (found.select(*columns).distinct() for columns in (["user", "worker"], ["user"]))
    assert pairs.count() < 1.05 * keys.count()
    assert pairs.where("user = 'user 0'").count() >= WORKERS - 1


@pytest.mark.usefixtures("cheap_streams")
def test_results_of_apply_are_those_of_plain_spark(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    spark.conf.set(STATE_STORE, ROCKSDB)
    for numbers in (range(2), range(2, 3)):  # started again, it goes on
        stream = source(spark, tmp_path).select("user", sf.col("amount").alias("x"))
        grouped = us.group_by(stream, "user", workers=WORKERS, plan_path=tmp_path / "plan")
        run(grouped.apply(SumAndCount(), SUMS), tmp_path, numbers)
    spark.conf.unset(STATE_STORE)
    epochs = epochs_after(tmp_path / "plan", 3)
    assert [epoch.version for epoch in epochs] == [0, 1, 2]
    assert max(epoch.imbalance for epoch in epochs) < 1
    assert all(epoch.busy_seconds for epoch in epochs)
    given_out = spark.read.parquet(str(tmp_path / "out")).groupBy("user")
    last = given_out.agg(sf.max_by(sf.struct("total", "n"), "n").alias("last"))
    rows = spark.read.parquet(str(tmp_path / "in")).withColumnRenamed("amount", "x")
    assert multiset(last.select("user", "last.*")) == multiset(summed(rows, "user"))


def test_apply_is_flow_by_default_and_agg_is_not(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    stream = source(spark, tmp_path)
    for path in (None, tmp_path / "plan"):
        grouped = us.group_by(stream, "user", workers=WORKERS, plan_path=path)
        assert "'flow'" in repr(grouped)
    us.group_by(stream, "user", workers=WORKERS, plan_path=tmp_path / "plan").agg(sf.count("*"))
    assert {path.name[:7] for path in (tmp_path / "plan").iterdir()} == {"routing"}


def test_a_query_that_has_followed_plans_goes_on_to(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    stream, plans = source(spark, tmp_path), PlanStore(tmp_path / "plan")
    plans.save(hashing_plan(WORKERS, HASHED_MEMBER, WORKERS), by=["user"], types=["string"])
    grouped = us.group_by(stream, "user", workers=WORKERS, plan_path=tmp_path / "plan")
    assert "'wrap'" in repr(grouped)
    with pytest.raises(InvalidParameterError, match="plan_path"):
        placed(stream, tmp_path)


def test_the_folder_of_other_keys_is_refused(tmp_path: Path) -> None:
    MemoryLoop("group_by", tmp_path, "these keys", WORKERS)
    with pytest.raises(InvalidParameterError, match="plan_path must be the folder of a query"):
        MemoryLoop("group_by", tmp_path, "other keys", WORKERS)


@pytest.mark.parametrize(
    "change",
    [
        {"workers": np.array([WORKERS])},
        {"workers": np.array([-1])},
        {"starts": np.array([0, 2])},
        {"starts": np.array([1, 1])},
        {"shares": np.empty(0)},
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_not_believed(change: dict[str, np.ndarray]) -> None:
    keys = KnownKeys(np.array([7], np.uint64), np.array([0.5]), np.array([0, 1]), np.array([2]))
    assert known_from([Known(1, keys).as_line()], WORKERS) is not None
    assert known_from([Known(1, keys._replace(**change)).as_line()], WORKERS) is None
