"""One body for both kinds of session: classic here, Spark Connect in ``test_connect``."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
import pyspark.sql.functions as sf
import pytest
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession, Window

import unskew.spark as us
from unskew.events import EVENTS_FILE, read_events
from unskew.spark.routing.schemes import runnable
from unskew.spark.versions import FREQUENT_ITEMS

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

NO_LOOP = tuple(map(int, pyspark.__version__.split(".")[:2])) < FREQUENT_ITEMS

WORKERS = 4
ROWS = 12_000


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Rows of which half have the key null."""
    key = sf.when(sf.col("id") % 2 == 1, sf.concat(sf.lit("k"), sf.col("id") % 101))
    amount = (sf.col("id") * 7919 % 1009).cast("double")
    numbers = spark.range(ROWS, numPartitions=3)
    return numbers.select(key.alias("user"), "id", amount.alias("amount"))


def plain(df: DataFrame) -> DataFrame:
    return df.groupBy("user").agg(sf.count("*").alias("n"), sf.sum("id").alias("total"))


@pytest.fixture(scope="module")
def expected(rows: DataFrame) -> list[str]:
    """Count and total by user, as plain Spark has them."""
    return content(plain(rows))


@pytest.fixture(scope="module")
def expected_means(rows: DataFrame) -> list[str]:
    # Whole numbers: the sum of doubles is exact in any order.
    return content(rows.groupBy("user").agg(sf.avg("amount").alias("mean")))


def totals() -> list[Column]:
    return [sf.count("*").alias("n"), sf.sum("id").alias("total")]


def content(df: DataFrame) -> list[str]:
    return sorted(map(repr, map(tuple, df.collect())))


def whole_group(table: pa.Table) -> pa.Table:
    total = pc.sum(table["id"])
    return pa.table({"user": table["user"][:1], "n": [table.num_rows], "total": [total.as_py()]})


@pytest.mark.matrix("session")
def test_the_session_is_of_the_kind_that_was_asked_for(session_kind: str) -> None:
    assert session_kind == os.environ.get("UNSKEW_TEST_SESSION", "classic")


@pytest.mark.matrix("balance, all schemes")
@pytest.mark.parametrize("grouping", [*runnable(), "auto"])
def test_balance_keeps_every_row_on_a_worker(rows: DataFrame, grouping: str) -> None:
    placed = us.balance(rows, "user", WORKERS, grouping=grouping)
    assert placed.schema == rows.schema
    workers = placed.select(sf.spark_partition_id().alias("worker"), "id")
    counted = workers.groupBy("worker").agg(sf.count("*").alias("n"), sf.sum("id").alias("total"))
    found = counted.collect()
    loads = {row["worker"]: row["n"] for row in found}
    assert set(loads) <= set(range(WORKERS))
    assert sum(loads.values()) == ROWS
    assert sum(row["total"] for row in found) == ROWS * (ROWS - 1) // 2
    if grouping in ("wrap", "shuffle", "auto"):
        assert max(loads.values()) < 1.1 * ROWS / WORKERS
    if grouping in ("key", "distribution-aware"):  # half of all rows have one key
        assert max(loads.values()) >= ROWS // 2


@pytest.mark.matrix("group_by(…).agg")
@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("grouping", ["wrap", "partial-key", "distribution-aware", "shuffle"])
def test_agg_is_the_plain_group_by(rows: DataFrame, expected: list[str], grouping: str) -> None:
    grouped = us.group_by(rows, "user", workers=WORKERS, grouping=grouping)
    assert content(grouped.agg(*totals())) == expected


@pytest.mark.matrix("group_by(…).apply")
@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("grouping", ["wrap", "partial-key"])
def test_apply_is_the_plain_group_by(
    rows: DataFrame, expected_means: list[str], grouping: str
) -> None:
    means = us.group_by(rows, "user", workers=WORKERS, grouping=grouping).apply(
        us.Mean("amount"), "mean double"
    )
    assert content(means) == expected_means


@pytest.mark.matrix("join")
@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
def test_join_is_the_plain_join(spark: SparkSession, rows: DataFrame, how: str) -> None:
    few = rows.where("id < 900").select("user", sf.col("id").alias("other"))
    user = sf.when(sf.col("id") % 3 == 0, "k1").otherwise(sf.col("user"))
    hot = rows.where("id % 13 < 3").withColumn("user", user)
    plan = us.plan(hot, "user", WORKERS, join=few, how=how, grouping="wrap")
    joined, plain = us.join(hot, few, "user", how, plan=plan), hot.join(few, "user", how)
    assert joined.schema == plain.schema
    assert content(joined) == content(plain)
    apart = us.join(hot, few, [("user", "user")], how, WORKERS, grouping="wrap", learn="pass")
    assert content(apart) == content(hot.join(few, hot["user"] == few["user"], how))
    found = us.diagnose(hot, "user", WORKERS, join=few, how=how)
    assert [way.name for way in found.ways] == ["plain", "AQE", "broadcast", "us.join"]
    left_alone = us.join(hot, few, "user", how, WORKERS)
    assert content(left_alone) == content(plain)


@pytest.mark.matrix("diagnose")
@pytest.mark.parametrize("learn", ["sample", "pass"])
def test_a_diagnosis_counts_every_key_and_recommends_what_auto_takes(
    rows: DataFrame, learn: str
) -> None:
    found = us.diagnose(rows, "user", WORKERS, learn=learn)
    assert found.profile.rows == ROWS
    assert found.profile.keys == 102
    assert found.profile.null_share == found.profile.p1 == 0.5
    assert found.recommendation.grouping == "wrap"


@pytest.mark.matrix("group_by(…).apply_in_arrow")
@pytest.mark.usefixtures("adaptive")
def test_apply_in_arrow_is_the_plain_group_by(rows: DataFrame, expected: list[str]) -> None:
    schema = "user string, n long, total long"
    wholes = us.group_by(rows, "user", workers=WORKERS).apply_in_arrow(whole_group, schema)
    assert content(wholes) == expected


@pytest.mark.matrix("weight='measured'")
def test_measured_work_gives_the_plain_group_by(rows: DataFrame) -> None:
    grouped = us.group_by(rows, "user", workers=WORKERS, weight="measured")
    means = grouped.apply(us.Mean("amount"), "mean double")
    assert content(means) == content(rows.groupBy("user").agg(sf.avg("amount").alias("mean")))


@pytest.mark.matrix("salt")
@pytest.mark.parametrize("grouping", ["wrap", "partial-key"])
def test_a_salt_keeps_every_row_and_merges_to_the_plain_group_by(
    rows: DataFrame, expected: list[str], grouping: str
) -> None:
    salted = us.salt(rows, "user", WORKERS, grouping=grouping)
    parts = salted.groupBy("user", "salt").agg(sf.count("*").alias("n"), sf.sum("id").alias("t"))
    merged = parts.groupBy("user").agg(sf.sum("n").alias("n"), sf.sum("t").alias("total"))
    assert content(merged) == expected
    per_user = salted.groupBy("user").agg(sf.count_distinct("salt").alias("salts"))
    hottest = per_user.where("user IS NULL").collect()[0]["salts"]
    assert 2 <= hottest <= WORKERS


@pytest.mark.matrix("window")
def test_a_window_over_a_cut_key_is_the_plain_window(rows: DataFrame) -> None:
    windowed = us.window(rows, "user", sf.desc("id"), workers=WORKERS)
    assert "1 key cut" in repr(windowed)
    found = windowed.with_columns(
        number=windowed.row_number(),
        total=windowed.sum("amount", rows=(None, 0)),
        before=windowed.lag("id"),
        last=windowed.last("id", rows=(None, None)),
    )
    window = Window.partitionBy("user").orderBy(sf.desc("id"))
    whole = window.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    plain_window = rows.withColumns(
        {
            "number": sf.row_number().over(window),
            "total": sf.sum("amount").over(window),  # whole numbers, and no two ids are equal
            "before": sf.lag("id").over(window),
            "last": sf.last("id").over(whole),
        }
    )
    assert content(found) == content(plain_window)


@pytest.mark.matrix("sessions")
def test_sessions_over_a_cut_key_are_numbered_through(rows: DataFrame) -> None:
    found = us.sessions(rows.where("user is null"), "user", "id", 1, workers=WORKERS)
    assert [row["session"] for row in found.orderBy("id").take(5)] == [1, 2, 3, 4, 5]
    found = us.sessions(rows.where("user is null"), "user", "id", 2, workers=WORKERS)
    assert found.agg(sf.max("session")).collect()[0][0] == 1


@pytest.mark.matrix("for_write")
def test_a_partitioned_write_makes_the_files_that_were_predicted(
    rows: DataFrame, tmp_path: Path
) -> None:
    plan = us.write_plan(rows, "user", workers=WORKERS)
    us.for_write(rows, "user", plan=plan).write.partitionBy("user").parquet(str(tmp_path / "out"))
    assert len(list((tmp_path / "out").rglob("*.parquet"))) == plan.files <= 102 + WORKERS - 1


@pytest.mark.matrix("plan, load_plan")
def test_a_saved_plan_is_used_again(rows: DataFrame, expected: list[str], tmp_path: Path) -> None:
    us.plan(rows, "user", WORKERS, grouping="wrap").save(tmp_path / "plan.json")
    saved = us.load_plan(tmp_path / "plan.json")
    assert saved.n_split_keys >= 1
    grouped = us.group_by(rows, "user", workers=WORKERS, plan=saved)
    assert content(grouped.agg(*totals())) == expected


@pytest.mark.matrix("streams that plan again (plan_path)")
@pytest.mark.skipif(NO_LOOP, reason="approx_top_k: Spark 4.1")
def test_a_stream_learns_its_plan_and_is_the_plain_query(
    spark: SparkSession, rows: DataFrame, expected: list[str], tmp_path: Path
) -> None:
    for part in range(3):
        rows.where(sf.col("id") % 3 == part).coalesce(1).write.mode("append").parquet(
            str(tmp_path / "in")
        )
    reader = spark.readStream.schema(rows.schema).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(tmp_path / "in"))
    plans = tmp_path / "plans"
    counted = us.group_by(stream, "user", workers=WORKERS, plan_path=plans).agg(*totals())
    writer = counted.writeStream.format("memory").queryName("both_sessions").outputMode("complete")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        query.processAllAvailable()
        wait_for(lambda: len(us.read_epochs(plans)) >= 3)
    finally:
        query.stop()
    assert content(spark.table("both_sessions")) == expected
    epochs = us.read_epochs(plans)
    assert [epoch.batch for epoch in epochs] == [0, 1, 2]
    assert (epochs[0].next_version, sum(epoch.rows for epoch in epochs)) == (1, ROWS)


def wait_for(found: Callable[[], bool]) -> None:
    """Wait for what the listener, a thread of its own, has to do."""
    deadline = time.monotonic() + 60
    while not found():
        assert time.monotonic() < deadline, "the plan loop did nothing for 60 s"
        time.sleep(0.05)


@pytest.mark.matrix("watch")
@pytest.mark.skipif(NO_LOOP, reason="approx_top_k: Spark 4.1")
def test_a_running_query_is_watched_and_its_page_closes_with_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    numbers = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    keyed = numbers.select((sf.col("value") % 5).alias("user"), "value")
    placed = us.balance_stream(keyed, "user", WORKERS, plan_path=tmp_path / "plans")
    query = placed.writeStream.format("noop").queryName("watched_in_both").start()
    with us.watch(query, folder=tmp_path / "run", port=0) as watched:
        until = time.monotonic() + 60
        while not (tmp_path / "run" / EVENTS_FILE).exists():
            assert time.monotonic() < until
            time.sleep(0.1)
        query.stop()
        assert watched.wait(30)
    for event in read_events(tmp_path / "run"):
        assert event.grouping == "watched_in_both"
        assert sum(event.loads) == event.rows > 0
        assert sum(key.share for key in event.hot_keys) == pytest.approx(1.0)
