"""Partitioned writes: what is written is what the plan has predicted."""

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew.errors import InvalidParameterError

ROWS, COUNTRIES = 40_000, 60


@pytest.fixture(scope="module")
def sales(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Countries by Zipf's law, with exponent 1.1; null is one of them."""
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, COUNTRIES + 1) ** 1.1
    drawn = rng.choice(COUNTRIES, ROWS, p=shares / shares.sum())
    names = pa.array([*(f"c{number}" for number in range(COUNTRIES - 1)), None])
    table = pa.table(
        {
            "country": names.take(pa.array(drawn)),
            "day": pa.array(drawn % 3),
            "id": np.arange(ROWS),
            "amount": rng.random(ROWS),
        }
    )
    folder = tmp_path_factory.mktemp("sales")
    for part in range(4):
        pq.write_table(table.slice(part * ROWS // 4, ROWS // 4), folder / f"{part}.parquet")
    return spark.read.parquet(str(folder))


class Written:
    """The files of a write: rows of each, rows of each task."""

    def __init__(self, folder: Path) -> None:
        self.paths = list(folder.rglob("*.parquet"))
        self.rows = [pq.ParquetFile(path).metadata.num_rows for path in self.paths]
        self.bytes = [path.stat().st_size for path in self.paths]
        tasks: dict[str, int] = defaultdict(int)
        for path, rows in zip(self.paths, self.rows, strict=True):
            tasks[path.name.split("-")[1]] += rows
        self.tasks = list(tasks.values())


def write(df: DataFrame, folder: Path, *columns: str) -> Written:
    df.write.partitionBy(*columns).parquet(str(folder))
    return Written(folder)


@pytest.mark.usefixtures("adaptive")
def test_even_tasks_write_as_many_files_as_predicted_and_every_row(
    spark: SparkSession, sales: DataFrame, tmp_path: Path
) -> None:
    plan = us.write_plan(sales, "country", workers=8)
    written = write(us.for_write(sales, "country", plan=plan), tmp_path / "out", "country")
    assert len(written.paths) == plan.files <= COUNTRIES + 8 - 1
    assert plan.partitions == COUNTRIES
    assert len(written.tasks) == plan.tasks == 8
    assert max(written.tasks) <= 1.05 * ROWS / 8
    assert sorted(written.rows, reverse=True) == pytest.approx(plan.file_rows, rel=0.1, abs=1)
    back = spark.read.parquet(str(tmp_path / "out")).select(sales.columns)
    assert back.exceptAll(sales).count() == sales.exceptAll(back).count() == 0


def test_files_have_the_wanted_rows_and_partitions_that_fit_one_are_not_cut(
    sales: DataFrame, tmp_path: Path
) -> None:
    plan = us.write_plan(sales, "country", rows_per_file=1_000)
    placed = us.for_write(sales, "country", rows_per_file=1_000)
    written = write(placed, tmp_path / "out", "country")
    assert len(written.paths) == plan.files
    assert len(written.tasks) == plan.tasks
    assert max(written.rows) <= 1.15 * 1_000
    per_country = [row["count"] for row in sales.groupBy("country").count().collect()]
    fewest = sum(-(-rows // 1_100) for rows in per_country)
    most = sum(-(-rows // 1_000) for rows in per_country)
    assert fewest <= len(written.paths) <= most


@pytest.mark.slow
def test_files_have_about_the_wanted_bytes(sales: DataFrame, tmp_path: Path) -> None:
    plan = us.write_plan(sales, "country", bytes_per_file=30_000)
    written = write(us.for_write(sales, "country", plan=plan), tmp_path / "out", "country")
    assert len(written.paths) == plan.files
    assert plan.file_bytes is not None
    large = np.sort(written.bytes)[::-1][:5]
    assert large == pytest.approx(plan.file_bytes[:5], rel=0.25)
    assert large.max() <= 1.25 * 30_000


@pytest.mark.slow
def test_several_partition_columns(sales: DataFrame, tmp_path: Path) -> None:
    plan = us.write_plan(sales, ["day", "country"], workers=5)
    placed = us.for_write(sales, ["day", "country"], workers=5)
    written = write(placed, tmp_path / "out", "day", "country")
    assert len(written.paths) == plan.files <= plan.partitions + 4
    assert max(written.tasks) <= 1.05 * ROWS / 5


def test_a_task_writes_its_partitions_one_after_the_other(sales: DataFrame) -> None:
    placed = us.for_write(sales, "day", workers=4).select("day", sf.spark_partition_id())
    by_task: dict[int, list[int]] = defaultdict(list)
    for day, task in placed.collect():
        by_task[task].append(day)
    assert all(days == sorted(days) for days in by_task.values())


def test_buckets_are_even_tasks_and_few_files(spark: SparkSession, sales: DataFrame) -> None:
    bucket = sf.pmod(sf.hash("country"), sf.lit(8))
    placed = us.for_write(sales.withColumn("bucket", bucket), "bucket", workers=4)
    placed.drop("bucket").write.bucketBy(8, "country").mode("overwrite").saveAsTable("bucketed")
    files = spark.table("bucketed").inputFiles()
    assert len(files) <= 8 + 4 - 1
    assert spark.table("bucketed").count() == ROWS
    spark.sql("DROP TABLE bucketed")


def test_no_rows_and_fewer_rows_than_workers(sales: DataFrame, tmp_path: Path) -> None:
    none, few = sales.where("id < 0"), sales.where("id < 3")
    assert us.write_plan(none, "country", workers=4).files == 0
    assert us.for_write(none, "country", rows_per_file=10).count() == 0
    assert (
        sum(write(us.for_write(few, "country", workers=9), tmp_path / "few", "country").rows) == 3
    )


@pytest.mark.slow
def test_a_saved_plan_places_another_day(sales: DataFrame, tmp_path: Path) -> None:
    us.write_plan(sales, "country", workers=4).plan.save(tmp_path / "plan.json")
    today = sales.where("id % 2 = 0")
    placed = us.for_write(today, "country", plan=us.load_plan(tmp_path / "plan.json"))
    written = write(placed, tmp_path / "out", "country")
    assert sum(written.rows) == ROWS // 2
    assert len(written.paths) <= COUNTRIES + 3


def test_it_says_what_it_will_do(sales: DataFrame) -> None:
    plan = us.write_plan(sales, "country", workers=8)
    text = f"8 tasks write {plan.files} files of {COUNTRIES} partitions, busiest task 1.0"
    assert text in repr(plan)
    assert "<svg" in plan._repr_html_()


@pytest.mark.parametrize(
    ("wanted", "parameter"),
    [
        ({}, "workers"),
        ({"workers": 4, "rows_per_file": 10}, "workers"),
        ({"workers": 0}, "workers"),
        ({"rows_per_file": 0.5}, "rows_per_file"),
        ({"bytes_per_file": -1}, "bytes_per_file"),
    ],
)
def test_exactly_one_size_is_taken(
    sales: DataFrame, wanted: dict[str, Any], parameter: str
) -> None:
    for verb in (us.for_write, us.write_plan):
        with pytest.raises(InvalidParameterError) as raised:
            verb(sales, "country", **wanted)
        assert (raised.value.owner, raised.value.parameter) == (verb.__name__, parameter)


def test_bad_input_is_refused_when_called(
    spark: SparkSession, sales: DataFrame, tmp_path: Path
) -> None:
    plan = us.write_plan(sales, "country", workers=4)
    stream = spark.readStream.schema(sales.schema).parquet(str(tmp_path))
    calls: dict[str, Callable[[], object]] = {
        "partition_by": lambda: us.for_write(sales, "land", workers=4),
        "plan": lambda: us.for_write(sales, "country", plan=plan, workers=4),
        "plan_path": lambda: us.for_write(sales, "country", workers=4, plan_path=tmp_path),
        "df": lambda: us.write_plan(stream, "country", workers=4),
        "workers": lambda: us.for_write(stream, "country", plan_path=tmp_path),
        "rows_per_file or bytes_per_file": lambda: us.for_write(
            stream, "country", rows_per_file=10, plan_path=tmp_path
        ),
    }
    for parameter, call in calls.items():
        with pytest.raises(InvalidParameterError) as raised:
            call()
        assert raised.value.parameter == parameter
    with pytest.raises(InvalidParameterError, match="plan_path must be given for a stream"):
        us.for_write(stream, "country", workers=4)
    with pytest.raises(InvalidParameterError, match="one for the key columns day"):
        us.for_write(sales, "day", plan=plan)


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_streams")
@pytest.mark.parametrize("planned", ["while it runs", "before"])
def test_a_stream_writes_few_files_per_micro_batch_and_every_row(
    spark: SparkSession, sales: DataFrame, tmp_path: Path, planned: str
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    reader = spark.readStream.schema(sales.schema).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(source))
    if planned == "before":
        plan = us.write_plan(sales, "country", workers=4)
        placed = us.for_write(stream, "country", plan=plan)
    else:
        placed = us.for_write(stream, "country", workers=4, plan_path=tmp_path / "plans")
    writer = placed.writeStream.partitionBy("country").format("parquet")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.start(str(tmp_path / "out"))
    seen: set[Path] = set()
    try:
        for batch in range(3):
            third = sales.where(sf.col("id") % 3 == batch).toArrow()
            pq.write_table(third, source / f"{batch}.parquet")
            query.processAllAvailable()
            if planned != "before":
                wait_for_epochs(tmp_path / "plans", batch + 1)
            files = set((tmp_path / "out").rglob("*.parquet"))
            tasks: dict[str, int] = defaultdict(int)
            for path in files - seen:
                tasks[path.name.split("-")[1]] += pq.ParquetFile(path).metadata.num_rows
            assert len(files - seen) <= COUNTRIES + 4 - 1
            if planned == "before" or batch:  # the first one is hashed
                assert max(tasks.values()) <= 1.1 * ROWS / 3 / 4
            seen = files
    finally:
        query.stop()
    back = spark.read.parquet(str(tmp_path / "out"))
    assert back.select("id").distinct().count() == back.count() == ROWS


def wait_for_epochs(folder: Path, count: int) -> None:
    until = time.monotonic() + 60
    while len(us.read_epochs(folder)) < count:
        assert time.monotonic() < until
        time.sleep(0.05)
