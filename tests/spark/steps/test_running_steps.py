"""Every worker's stats row reaches the driver, and nothing of it reaches the result."""

import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from unskew.spark.balance import balance
from unskew.spark.steps.running import STATS_FIELD, WorkerStats, map_with_stats, read_stats
from unskew.spark.worker.stats_rows import with_stats

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

_WORKERS = 8
_KILOBYTES = 64
_DOUBLED = StructType(
    [StructField("id", LongType(), False), StructField("word", StringType(), True)]
)


def doubled(batches: Iterator[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, bytes]:
    """Double a number, leave a word; the payload tells who made it and is large."""
    from pyspark import TaskContext

    context = TaskContext.get()
    for batch in batches:
        yield pa.RecordBatch.from_arrays(
            [pc.multiply(batch.column(0), 2), batch.column(1)], names=["id", "word"]
        )
    return payload_of(context.partitionId() if context else -1)


def payload_of(worker: int) -> bytes:
    return bytes([worker, 0, 255, 10]) * (_KILOBYTES * 256)


def _rows(df: DataFrame) -> DataFrame:
    return df.selectExpr("id", "if(id % 3 = 0, null, concat('w', id)) AS word")


def _check(stats: list[WorkerStats], rows: int) -> None:
    assert [one.worker for one in stats] == list(range(_WORKERS))
    assert sum(one.rows for one in stats) == rows
    assert all(one.seconds > 0 for one in stats)
    assert [one.payload for one in stats] == [payload_of(worker) for worker in range(_WORKERS)]


def _stats(row: Any) -> list[WorkerStats]:
    # Through Connect a query's own list of progress has the values without their names.
    return read_stats(row[STATS_FIELD] if STATS_FIELD in row else row["values"][0], _WORKERS)


def test_stats_of_a_batch_arrive_and_the_result_is_as_promised(spark: SparkSession) -> None:
    report = Observation()
    placed = balance(_rows(spark.range(1000)), "id", _WORKERS, grouping="shuffle")
    got = map_with_stats(placed, doubled, _DOUBLED, report)
    assert got.schema == _DOUBLED
    plain = _rows(spark.range(1000)).selectExpr("id * 2 AS id", "word")
    assert sorted(got.collect()) == sorted(plain.collect())
    _check(_stats(report.get), 1000)


def test_stats_of_a_stream_arrive_with_its_progress(spark: SparkSession, tmp_path: Path) -> None:
    for begin in (0, 500):
        numbers = spark.range(begin, begin + 500, numPartitions=1)
        numbers.write.mode("append").parquet(str(tmp_path / "in"))
    reader = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
    placed = balance(
        _rows(reader.parquet(str(tmp_path / "in"))), "id", _WORKERS, grouping="shuffle"
    )
    got = map_with_stats(placed, doubled, _DOUBLED, "work")
    assert got.schema == _DOUBLED
    query = got.writeStream.format("memory").queryName("doubled").outputMode("append")
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    plain = _rows(spark.range(1000)).selectExpr("id * 2 AS id", "word")
    assert sorted(spark.table("doubled").collect()) == sorted(plain.collect())
    batches = [one for one in running.recentProgress if one.numInputRows]
    assert len(batches) == 2
    for progress in batches:
        _check(_stats(progress.observedMetrics["work"]), 500)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_worker_without_rows_says_so(spark: SparkSession, adaptive: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        report = Observation()
        placed = balance(_rows(spark.range(100)), "id", _WORKERS, grouping="single")
        assert map_with_stats(placed, doubled, _DOUBLED, report).count() == 100
        stats = _stats(report.get)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert sorted(one.rows for one in stats) == [0] * (_WORKERS - 1) + [100]


_NEVER_NULL = pa.schema(
    [
        pa.field(f"c{number}", kind, nullable=False)
        for number, kind in enumerate(
            [
                pa.bool_(),
                pa.int8(),
                pa.float64(),
                pa.string(),
                pa.large_string(),
                pa.binary(),
                pa.date32(),
                pa.timestamp("us", "UTC"),
                pa.timestamp("us"),
                pa.duration("us"),
                pa.decimal128(38, 3),
                pa.list_(pa.field("element", pa.int64(), nullable=False)),
                pa.map_(pa.string(), pa.int64()),
                pa.struct([pa.field("a", pa.struct([pa.field("b", pa.string(), nullable=False)]))]),
            ]
        )
    ]
)


def test_a_column_of_any_type_that_has_no_nulls_gets_none() -> None:
    (last,) = with_stats(lambda batches: batches, _NEVER_NULL, "stats")(iter([]))
    last.validate(full=True)
    assert last.num_rows == 1
    assert [column.null_count for column in last.columns] == [0] * (len(_NEVER_NULL) + 1)


def test_only_the_time_inside_the_step_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("unskew.spark.worker.stats_rows.perf_counter", lambda: now)

    def pass_time(seconds: float) -> None:
        nonlocal now
        now += seconds

    def rows() -> Iterator[pa.RecordBatch]:
        for _ in range(3):
            pass_time(100.0)  # waited for
            yield pa.record_batch({"n": [1, 2]})

    def step(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pass_time(1.0)
        for batch in batches:
            pass_time(2.0)
            yield batch
            pass_time(4.0)
        pass_time(8.0)

    schema = pa.schema([("n", pa.int64())])
    for batch in with_stats(step, schema, "stats")(rows()):
        pass_time(1000.0)  # whoever takes the results
        stats = batch["stats"][0].as_py()
    assert stats["seconds"] == 1.0 + 3 * (2.0 + 4.0) + 8.0
    assert stats["rows"] == 6
