"""One running query: its plan changes, its result does not."""

import logging
import shutil
import time
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
    wait_for,
    write_file,
)

import unskew.spark as us
from unskew._stores import StoreError
from unskew.errors import InvalidParameterError
from unskew.groupings.plan import HASHED_MEMBER, hashing_plan
from unskew.spark.balance import balance_stream
from unskew.spark.plans.saved import DamagedPlanWarning, PlanStore, key_types


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files: as many micro-batches."""
    for number in range(3):
        write_file(tmp_path / "in", number)
    return tmp_path


def totals(df: DataFrame) -> DataFrame:
    return df.groupBy("user").agg(sf.count("*").alias("n"), sf.sum("amount").alias("total"))


def in_windows(df: DataFrame) -> DataFrame:
    late = df.withWatermark("at", "10 seconds")
    return late.groupBy(sf.window("at", "50 seconds"), "user").agg(sf.count("*").alias("n"))


@pytest.mark.parametrize(
    "grouping", ["wrap", "distribution-aware:threshold=0.05", "popularity-counted"]
)
def test_a_placed_stream_has_the_rows_of_the_stream(
    spark: SparkSession, folder: Path, grouping: str
) -> None:
    stream = source(spark, folder)
    placed = balance_stream(stream, "user", WORKERS, plan_path=folder / "plans", grouping=grouping)
    assert placed.schema == stream.schema
    got = finish(placed, folder, "placed_rows")
    assert rows_of(got) == rows_of(spark.read.schema(SCHEMA).parquet(str(folder / "in")))


@pytest.mark.parametrize("mode", ["complete", "update", "append"])
def test_every_output_mode_gives_what_the_plain_query_gives(
    spark: SparkSession, folder: Path, mode: str
) -> None:
    query = in_windows if mode == "append" else totals
    stream = source(spark, folder)
    placed = balance_stream(stream, "user", WORKERS, plan_path=folder / "plans")
    got = rows_of(finish(query(placed), folder, f"{mode}_placed", mode))
    assert got == rows_of(finish(query(stream), folder, f"{mode}_plain", mode))
    assert got


def test_group_by_with_a_plan_path_is_the_plain_query(spark: SparkSession, folder: Path) -> None:
    stream = source(spark, folder)
    plans = folder / "plans"
    grouped = us.group_by(stream, "user", workers=WORKERS, grouping="wrap", plan_path=plans)
    counted = grouped.agg(sf.count("*").alias("n"), sf.sum("amount").alias("total"))
    got = rows_of(finish(counted, folder, "grouped_placed", "complete"))
    assert got == rows_of(finish(totals(stream), folder, "grouped_plain", "complete"))
    assert epochs_after(plans, 3)


def test_a_plan_path_without_a_stream_is_refused(spark: SparkSession, folder: Path) -> None:
    batch = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    with pytest.raises(InvalidParameterError, match="plan_path must be left out for a batch"):
        us.group_by(batch, "user", workers=WORKERS, plan_path=folder / "plans")


def test_a_new_plan_is_followed_in_the_same_running_query(
    spark: SparkSession, folder: Path
) -> None:
    plans = folder / "plans"
    placed = balance_stream(source(spark, folder), "user", WORKERS, plan_path=plans)
    seen = placed.select("user", "at", sf.spark_partition_id().alias("worker"))
    query = start(seen, folder, "followed")
    try:
        query.processAllAvailable()
        epochs_after(plans, 3)
        for number in (3, 4):
            write_file(folder / "in", number)
            query.processAllAvailable()
            epochs = epochs_after(plans, number + 1)
    finally:
        query.stop()
    assert (epochs[0].version, epochs[0].next_version, epochs[0].why) == (0, 1, "the first plan")
    last = epochs[-1]
    assert last.version
    assert last.version >= 1
    assert last.rows == ROWS
    # Half of all rows are one key's: no placement of whole keys is below 100 %.
    assert epochs[0].imbalance >= 100
    assert last.imbalance < 12
    assert last.split_keys
    rows = spark.table("followed").where(sf.unix_timestamp("at") >= 400)
    counted = {row["worker"]: row["count"] for row in rows.groupBy("worker").count().collect()}
    assert tuple(counted[worker] for worker in range(WORKERS)) == last.loads


def test_the_first_micro_batch_follows_the_plan_to_start_with(
    spark: SparkSession, folder: Path
) -> None:
    history = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    plan = us.plan(history, "user", WORKERS, grouping="wrap")
    stream = source(spark, folder)
    placed = balance_stream(stream, "user", WORKERS, plan_path=folder / "plans", plan=plan)
    got = rows_of(finish(placed, folder, "started_with"))
    assert got == rows_of(history)
    first = epochs_after(folder / "plans", 3)[0]
    assert first.version == 1
    assert first.imbalance < 12  # by hash it is above 100, see above
    other = folder / "other"
    grouped = us.group_by(stream, "user", workers=WORKERS, plan_path=other, plan=plan)
    counted = grouped.agg(sf.count("*").alias("n"), sf.sum("amount").alias("total"))
    got = rows_of(finish(counted, folder, "grouped_started_with", "complete"))
    assert got == rows_of(finish(totals(stream), folder, "grouped_plainly", "complete"))
    assert epochs_after(other, 3)[0].version == 1


def test_a_plan_to_start_with_that_does_not_fit_is_refused(
    spark: SparkSession, folder: Path
) -> None:
    history = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    stream, plans = source(spark, folder), folder / "plans"
    other_slots = us.plan(history, "user", WORKERS, grouping="wrap:slots=77")
    with pytest.raises(InvalidParameterError, match="plan must be one with the 256 slots"):
        balance_stream(stream, "user", WORKERS, plan_path=plans, plan=other_slots)
    of_three = us.plan(history, "user", 3, grouping="wrap")
    with pytest.raises(InvalidParameterError, match="plan must be one for 4 workers"):
        balance_stream(stream, "user", WORKERS, plan_path=plans, plan=of_three)
    plan = us.plan(history, "user", WORKERS, grouping="wrap")
    grouped = us.group_by(
        stream, "user", workers=WORKERS, grouping="flow", plan_path=plans, plan=plan
    )
    with pytest.raises(InvalidParameterError, match="plan must be left out with flow"):
        grouped.agg(sf.count("*"))


def test_when_the_hot_key_changes_the_plan_does(spark: SparkSession, folder: Path) -> None:
    plans = folder / "plans"
    placed = balance_stream(source(spark, folder), "user", WORKERS, plan_path=plans)
    query = start(placed, folder, "drift")
    try:
        query.processAllAvailable()
        steady = epochs_after(plans, 3)
        for number in (3, 4):
            write_file(folder / "in", number, shift=1000)
            query.processAllAvailable()
            epochs = epochs_after(plans, number + 1)
    finally:
        query.stop()
    assert {epoch.next_version for epoch in steady} <= {None, 1}, "chance alone is no reason"
    assert epochs[3].imbalance > 50
    assert epochs[3].next_version == 2
    assert epochs[4].version == 2
    assert epochs[4].imbalance < 12


def test_a_restarted_query_goes_on_with_the_last_plan_and_the_exact_result(
    spark: SparkSession, folder: Path
) -> None:
    plans = folder / "plans"

    def run() -> DataFrame:
        stream = source(spark, folder)
        placed = balance_stream(stream, "user", WORKERS, plan_path=plans)
        return finish(totals(placed), folder, "restarted", "complete")

    run()
    version = PlanStore(plans).versions()[-1]
    epochs_after(plans, 3)
    write_file(folder / "in", 3)
    # The driver was killed when a plan was written and micro-batch 2 not yet committed.
    PlanStore(plans).save(hashing_plan(WORKERS, HASHED_MEMBER, 256), by="user", why="a test")
    for name in ("2", ".2.crc"):
        (folder / "checkpoint-restarted" / "commits" / name).unlink()
    got = rows_of(run())
    assert got == rows_of(totals(spark.read.schema(SCHEMA).parquet(str(folder / "in"))))
    again = epochs_after(plans, 5)[3:]
    assert [epoch.batch for epoch in again] == [2, 3]
    assert again[0].version == version + 1


@pytest.mark.parametrize("content", [b"", b"0123456789abcdef\n0000", bytes(range(256))])
def test_a_damaged_plan_file_is_passed_over_and_said_once(
    spark: SparkSession, folder: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    plans = folder / "plans"
    placed = balance_stream(source(spark, folder), "user", WORKERS, plan_path=plans)
    query = start(placed, folder, "damaged")
    try:
        query.processAllAvailable()
        epochs_after(plans, 3)
        with caplog.at_level(logging.WARNING, "unskew.spark"):
            (plans / newest_routing(plans)).write_bytes(content)
            (plans / "plan-000099.json").write_bytes(content)
            for number in (3, 4):
                write_file(folder / "in", number)
                query.processAllAvailable()
                epochs = epochs_after(plans, number + 1)
    finally:
        query.stop()
    messages = [record.getMessage() for record in caplog.records if "goes on" in record.message]
    assert len(messages) == 2, messages
    assert len(epochs[3].damaged) == 2
    assert epochs[4].damaged == ()
    assert (epochs[4].version or 0) >= 1
    assert spark.table("damaged").count() == 5 * ROWS


def test_without_any_plan_file_rows_are_placed_by_hash(spark: SparkSession, folder: Path) -> None:
    plans = folder / "plans"
    placed = balance_stream(source(spark, folder), "user", WORKERS, plan_path=plans)
    for path in plans.glob("routing-*.txt"):
        path.unlink()
    got = finish(placed, folder, "no_files")
    assert got.count() == 3 * ROWS
    assert epochs_after(plans, 3)[0].version == -1


def test_a_damaged_last_plan_is_reported_when_the_query_is_made(
    spark: SparkSession, folder: Path
) -> None:
    store = PlanStore(folder / "plans")
    store.save(hashing_plan(WORKERS, HASHED_MEMBER, 256), by="user")
    (folder / "plans" / "plan-000002.json").write_text("{")
    with pytest.warns(DamagedPlanWarning, match="plan-000002"):
        balance_stream(source(spark, folder), "user", WORKERS, plan_path=folder / "plans")


def test_queries_of_one_session_do_not_touch_each_other(spark: SparkSession, folder: Path) -> None:
    for name in ("one", "two"):
        placed = balance_stream(source(spark, folder), "user", WORKERS, plan_path=folder / name)
        finish(placed, folder, f"apart_{name}")
    records = [epochs_after(folder / name, 3) for name in ("one", "two")]
    assert [len(epochs) for epochs in records] == [3, 3]
    assert records[0][0].query != records[1][0].query
    shutil.rmtree(folder / "one")
    finish(
        balance_stream(source(spark, folder), "user", 2, plan_path=folder / "three"), folder, "x"
    )
    epochs_after(folder / "three", 3)
    assert not (folder / "one").exists()


def test_a_loop_that_fails_is_said_once_and_leaves_the_query_alone(
    spark: SparkSession, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plans = folder / "plans"
    placed = balance_stream(source(spark, folder), "user", WORKERS, plan_path=plans)
    (plans / "epochs.jsonl").mkdir()
    with caplog.at_level(logging.ERROR, "unskew.spark"):
        assert finish(placed, folder, "failing").count() == 3 * ROWS
        wait_for(lambda: bool(caplog.records))
        time.sleep(0.5)
    assert len(caplog.records) == 1


def newest_routing(plans: Path) -> str:
    def revision(path: Path) -> int:
        return int(path.read_text().splitlines()[1])

    return max(plans.glob("routing-*.txt"), key=revision).name


def test_what_cannot_be_is_refused_when_the_query_is_made(
    spark: SparkSession, folder: Path
) -> None:
    stream, plans = source(spark, folder), folder / "plans"
    batch = spark.read.schema(SCHEMA).parquet(str(folder / "in"))
    with pytest.raises(InvalidParameterError, match="a stream"):
        balance_stream(batch, "user", WORKERS, plan_path=plans)
    able = "distribution-aware, kip, popularity-counted, prompt, wrap"
    with pytest.raises(InvalidParameterError, match=able):
        balance_stream(stream, "user", WORKERS, plan_path=plans, grouping="partial-key")
    with pytest.raises(InvalidParameterError, match="at most 65536 slots"):
        balance_stream(stream, "user", WORKERS, plan_path=plans, grouping="wrap:slots=100000")
    with pytest.raises(InvalidParameterError, match="among the columns"):
        balance_stream(stream, "nobody", WORKERS, plan_path=plans)
    PlanStore(plans).save(hashing_plan(3, HASHED_MEMBER, 192), by="user")
    with pytest.raises(InvalidParameterError, match="4 workers"):
        balance_stream(stream, "user", WORKERS, plan_path=plans)
    with pytest.raises(InvalidParameterError, match="key columns amount"):
        balance_stream(stream, "amount", 3, plan_path=plans)
    with pytest.raises(InvalidParameterError, match="spread_by must be among the columns"):
        balance_stream(stream, "user", 3, plan_path=plans, spread_by="nothing")


def test_a_plan_for_keys_of_another_type_is_refused_when_the_query_is_made(
    spark: SparkSession, folder: Path
) -> None:
    stream, plans = source(spark, folder), folder / "plans"
    texts = stream.withColumn("amount", sf.col("amount").cast("string"))
    PlanStore(plans).save(
        hashing_plan(WORKERS, HASHED_MEMBER, 256), by="amount", types=key_types(stream, "amount")
    )
    balance_stream(stream, "amount", WORKERS, plan_path=plans)
    with pytest.raises(InvalidParameterError, match="keys of type string, got 'bigint'"):
        balance_stream(texts, "amount", WORKERS, plan_path=plans)


@pytest.mark.parametrize(
    ("path", "error", "words"),
    [
        ("unknown://bucket/plans", StoreError, "unknown://bucket/plans: .*Hint: Spark needs"),
        (Path("hdfs://node/plans"), InvalidParameterError, "plan_path must be text where"),
    ],
)
def test_a_plan_path_that_spark_cannot_reach_is_refused(
    spark: SparkSession,
    folder: Path,
    path: str | Path,
    error: type[Exception],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(error, match=words):
        balance_stream(source(spark, folder), "user", WORKERS, plan_path=path)
    assert [item.name for item in folder.iterdir()] == ["in"]
