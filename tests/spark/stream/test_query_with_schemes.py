"""Schemes that learn while a stream runs, and how rows of the keys that they split are spread."""

import logging
import shutil
from pathlib import Path

import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.stream_cases import (
    ROWS,
    SCHEMA,
    WORKERS,
    epochs_after,
    finish,
    rows_of,
    source,
    start,
    write_file,
)

import unskew.spark as us
from unskew.events import Epoch
from unskew.groupings.popularity import CountedPopularity
from unskew.groupings.wrap import Wrap
from unskew.spark.balance import balance_stream


def run(placed: DataFrame, folder: Path, name: str, shifts: list[int]) -> list[Epoch]:
    """Feed a file with the hot key of each shift, after what was made of the one before."""
    query = start(placed, folder, name)
    try:
        for number, shift in enumerate(shifts):
            write_file(folder / "in", number, shift=shift)
            query.processAllAvailable()
            epochs = epochs_after(folder / "plans", number + 1)
    finally:
        query.stop()
    return epochs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def test_counted_popularity_spreads_the_keys_that_are_hot_now(
    spark: SparkSession, folder: Path
) -> None:
    grouping = CountedPopularity(WORKERS, frequency=0.1)
    placed = balance_stream(
        source(spark, folder), "user", WORKERS, plan_path=folder / "plans", grouping=grouping
    )
    epochs = run(placed, folder, "popular", [0, 0, 1000, 1000])
    # Half of all rows are one key's, the others are hashed whole.
    assert epochs[0].imbalance >= 100
    assert epochs[0].next_version == 1
    assert epochs[1].version == 1
    assert epochs[1].imbalance < 25
    assert epochs[1].split_keys == 1
    assert epochs[2].imbalance > 50
    assert epochs[2].next_version == 2
    assert epochs[3].version == 2
    assert epochs[3].imbalance < 25
    assert epochs[3].split_keys == 1, "the key that was hot before is hashed again"
    # About 400 keys, one of them on all four workers.
    assert epochs[0].replication == 1.0
    assert epochs[1].replication == pytest.approx(1 + 3 / 400, rel=1e-3)


def test_group_by_takes_learning_schemes_as_objects_too(spark: SparkSession, folder: Path) -> None:
    write_file(folder / "in", 0)
    write_file(folder / "in", 1)
    stream = source(spark, folder)
    schemes = [Wrap(WORKERS, slots=256, decay=0.2), CountedPopularity(WORKERS)]
    plain = rows_of(spark.read.schema(SCHEMA).parquet(str(folder / "in")).groupBy("user").count())
    for number, grouping in enumerate(schemes):
        plans = folder / f"plans-{number}"
        grouped = us.group_by(stream, "user", workers=WORKERS, grouping=grouping, plan_path=plans)
        counted = grouped.agg(sf.count("*").alias("n"))
        assert rows_of(finish(counted, folder, f"object_{number}", "complete")) == plain
        assert epochs_after(plans, 2)[0].next_version == 1


def test_rows_without_other_columns_are_spread_by_chance(spark: SparkSession, folder: Path) -> None:
    stream = source(spark, folder).select("user")
    placed = balance_stream(stream, "user", WORKERS, plan_path=folder / "plans")
    epochs = run(placed, folder, "bare", [0, 0])
    assert epochs[1].version == 1
    assert epochs[1].imbalance < 12


def test_rows_that_are_all_alike_are_said_once_and_no_reason_for_another_plan(
    spark: SparkSession, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stream = source(spark, folder).withColumn("same", sf.lit("word"))
    placed = balance_stream(stream, "user", WORKERS, plan_path=folder / "plans", spread_by="same")
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        epochs = run(placed, folder, "alike", [0, 0, 0])
    assert epochs[1].imbalance > 50, "the hot key is on one worker after all"
    assert [epoch.next_version for epoch in epochs] == [1, None, None]
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert "spread_by" in messages[0]


def test_a_query_whose_folder_was_lost_starts_to_learn_anew(
    spark: SparkSession, folder: Path
) -> None:
    plans = folder / "plans"

    def once() -> DataFrame:
        placed = balance_stream(source(spark, folder), "user", WORKERS, plan_path=plans)
        return finish(placed.groupBy("user").count(), folder, "lost", "complete")

    for number in range(2):
        write_file(folder / "in", number)
    once()
    assert epochs_after(plans, 2)[0].next_version == 1
    shutil.rmtree(plans)
    write_file(folder / "in", 2)
    got = rows_of(once())
    assert got == rows_of(
        spark.read.schema(SCHEMA).parquet(str(folder / "in")).groupBy("user").count()
    )
    epoch = epochs_after(plans, 1)[0]
    assert (epoch.batch, epoch.rows, epoch.version, epoch.next_version) == (2, ROWS, 0, 1)
