"""Plan files are damaged under a running stream: rows go on being counted, plans being followed."""

import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import unskew.spark as us

pytestmark = pytest.mark.slow

WORKERS = 4
ROWS = 4000


class RunningStream:
    """A stream that counts rows by user, fed by hand; half of all rows are one user's."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.plans = folder / "plans"
        self.batches = 0
        self._write()
        stream = spark.readStream.schema("user long, id long").parquet(str(folder / "in"))
        grouped = us.group_by(stream, "user", workers=WORKERS, plan_path=self.plans)
        writer = grouped.agg(sf.count("*").alias("n"), sf.sum("id").alias("total")).writeStream
        writer = writer.format("memory").queryName("plan_files").outputMode("complete")
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        self.query: StreamingQuery = writer.start()
        self._finish()

    def feed(self) -> us.Epoch:
        """Run one more micro-batch and return what it did."""
        self._write()
        self._finish()
        return us.read_epochs(self.plans)[-1]

    def plan_files(self) -> list[Path]:
        """Return the two copies of the plan in force, the newer one last."""
        found = sorted(self.plans.glob("routing-?.*"), key=lambda path: path.stat().st_mtime_ns)
        assert len(found) == 2
        return found

    def is_exact(self) -> bool:
        rows = self.spark.read.schema("user long, id long").parquet(str(self.folder / "in"))
        plain = rows.groupBy("user").agg(sf.count("*").alias("n"), sf.sum("id").alias("total"))
        return sorted_rows(self.spark.table("plan_files")) == sorted_rows(plain)

    def _write(self) -> None:
        start = self.batches * ROWS
        user = sf.when(sf.col("id") % 2 == 0, sf.lit(7)).otherwise(sf.col("id") % 101)
        rows = self.spark.range(start, start + ROWS, numPartitions=1)
        rows.select(user.alias("user"), "id").write.mode("append").parquet(str(self.folder / "in"))
        self.batches += 1

    def _finish(self) -> None:
        self.query.processAllAvailable()
        wait_for(lambda: len(us.read_epochs(self.plans)) == self.batches)


def sorted_rows(df: DataFrame) -> list[str]:
    return sorted(map(repr, df.collect()))


def wait_for(found: Callable[[], bool]) -> None:
    """Wait for what the listener, a thread of its own, has to do."""
    deadline = time.monotonic() + 60
    while not found():
        assert time.monotonic() < deadline, "the plan loop did nothing for 60 s"
        time.sleep(0.05)


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Iterator[RunningStream]:
    running = RunningStream(spark, tmp_path)
    yield running
    running.query.stop()


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if how == "truncated" else bytes(range(256)) * 9)


@pytest.mark.parametrize("how", ["truncated", "garbage"])
def test_one_damaged_copy_leaves_the_plan_in_force_and_is_said_once(
    stream: RunningStream, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = stream.feed().version
    assert good
    assert good >= 1
    newer = stream.plan_files()[-1]
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        damage(newer, how)
        assert stream.feed().damaged == (newer.name,)
        after = stream.feed()
    assert [newer.name in record.getMessage() for record in caplog.records] == [True]
    assert (after.version, after.damaged) == (good, ())
    assert stream.is_exact()


def test_with_both_copies_damaged_rows_are_hashed_until_the_plan_is_back(
    stream: RunningStream, caplog: pytest.LogCaptureFixture
) -> None:
    good = stream.feed().version
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        for path in stream.plan_files():
            damage(path, "garbage")
        meanwhile, after = stream.feed(), stream.feed()
    assert (meanwhile.version, len(meanwhile.damaged)) == (-1, 2)
    assert after.version
    assert good
    assert after.version >= good >= 1
    assert len(caplog.records) == 2
    assert stream.is_exact()


@pytest.mark.parametrize("how", ["truncated", "garbage"])
def test_a_damaged_plan_that_somebody_puts_there_is_passed_over(
    stream: RunningStream, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    good = stream.feed().version
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        offered = stream.plans / "plan-000099.json"
        offered.write_bytes((stream.plans / f"plan-{good:06d}.json").read_bytes())
        damage(offered, how)
        epochs = [stream.feed(), stream.feed()]
    assert [epoch.version for epoch in epochs] == [good, good]
    assert [epoch.damaged for epoch in epochs] == [(offered.name,), ()]
    assert len(caplog.records) == 1
    assert stream.is_exact()
