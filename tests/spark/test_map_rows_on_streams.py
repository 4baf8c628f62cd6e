"""`map_rows` and `map_batches` on streams: a plain map's rows, scheduled by what was before."""

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext, cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.spark.stream_cases import epochs_after, rows_of

from unskew.errors import InvalidParameterError
from unskew.events import Epoch
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.spark.columns import identity
from unskew.spark.costs.streams import map_stream
from unskew.spark.loads import Loads
from unskew.spark.map_rows import map_batches, map_rows
from unskew.spark.worker.timed_functions import IdentifiedBatch, Listener, TimedStep

pytestmark = pytest.mark.slow

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WORKERS, ROWS, WINDOW = 4, 400, 20
GROUPING = f"proactive-shuffle:window={WINDOW}"
COSTS = pa.schema([("id", pa.int64()), ("kind", pa.string()), ("cost", pa.float64())])
FILES = ("costs-a.txt", "costs-b.txt")


def write_rows(folder: Path, number: int, *, rows: int = ROWS, slow: str = "slow") -> None:
    """Write a file in which every 20th row is of the kind ``slow`` and costs 25 times as much.

    Every 50th row has no kind. All slow rows would go to one worker if rows went round-robin.
    """
    (folder / "in").mkdir(parents=True, exist_ok=True)
    ids = range(number * ROWS, number * ROWS + rows)
    kinds = [
        "slow" if one % 20 == 0 else None if one % 50 == 7 else ("odd", "even")[one % 20 == 2]
        for one in ids
    ]
    costs = [0.025 if kind == slow else 0.001 for kind in kinds]
    table = pa.table([list(ids), kinds, costs], schema=COSTS)
    pq.write_table(table, folder / f".{number}.tmp")
    (folder / f".{number}.tmp").replace(folder / "in" / f"{number:03d}.parquet")


def stream_of(spark: SparkSession, folder: Path) -> DataFrame:
    reader = spark.readStream.schema("id long, kind string, cost double")
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))


def start(df: DataFrame, folder: Path) -> StreamingQuery:
    """Start a query into files; with the same folder it goes on where the last one stopped."""
    writer = df.writeStream.format("parquet").option("path", str(folder / "out"))
    return writer.option("checkpointLocation", str(folder / "checkpoint")).start()


def finish(df: DataFrame, folder: Path) -> DataFrame:
    """Run all that is there, one file a micro-batch, and return the sink."""
    query = start(df, folder)
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    return df.sparkSession.read.parquet(str(folder / "out"))


def label(row: Row) -> list[tuple[int, str]] | None:
    """Return no row, one or two."""
    return None if row.id % 10 == 3 else [(row.id, f"{row.kind}!")] * (1 + row.id % 2)


def where(row: Row) -> tuple[int, int]:
    """Return the number of the worker with the row."""
    task = TaskContext.get()
    assert task is not None
    return row.id, task.partitionId()


def label_all(batch: pa.RecordBatch) -> pa.Table:
    rows = [result for row in batch.to_pylist() for result in label(Row(**row)) or []]
    columns = {"id": [one for one, _ in rows], "label": [text for _, text in rows]}
    return pa.table(columns, schema=pa.schema([("id", pa.int64()), ("label", pa.string())]))


def labelled(stream: DataFrame, folder: Path, workers: int = WORKERS) -> DataFrame:
    return map_rows(
        stream,
        label,
        "id long, label string",
        cost_by="kind",
        workers=workers,
        grouping=GROUPING,
        plan_path=folder / "plans",
    )


def expected(spark: SparkSession, folder: Path) -> list[tuple[int, str]]:
    rows = spark.read.parquet(str(folder / "in")).collect()
    return sorted(result for row in rows for result in label(row) or [])


def found(sink: DataFrame) -> list[Any]:
    return sorted(map(tuple, sink.collect()))


async def labels_but_of_slow(row: Row) -> list[tuple[int, str]] | None:
    await asyncio.sleep(0)
    if row.kind == "slow":
        raise KeyError("price")
    return label(row)


def test_rows_that_fail_are_kept_and_all_others_are_those_of_a_plain_map(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(3):
        write_rows(tmp_path, number)
    out = map_rows(
        stream_of(spark, tmp_path),
        labels_but_of_slow,
        "id long, label string",
        cost_by="kind",
        workers=WORKERS,
        grouping=GROUPING,
        plan_path=tmp_path / "plans",
        on_error="dead-letter",
        in_flight=4,
    )
    rows = finish(out, tmp_path).collect()
    slow = [number for number in range(3 * ROWS) if number % 20 == 0]
    failed = {row.id: row.dead_letter for row in rows if row.dead_letter}
    assert sorted(failed) == slow
    assert {letter.error for letter in failed.values()} == {"KeyError: 'price'"}
    assert [failed[number].row.id for number in slow] == slow
    answered = sorted((row.id, row.label) for row in rows if row.id not in failed)
    wanted = [result for result in expected(spark, tmp_path) if result[0] not in failed]
    assert answered == wanted


class ToldCosts(TimedStep):
    """Gives the rows out as they are, and says that each took what its column ``cost`` has."""

    def run(
        self, batches: Iterator[IdentifiedBatch], listener: Listener | None
    ) -> Iterator[pa.RecordBatch]:
        for batch, ids in batches:
            assert listener is not None
            listener.take_rows(ids, batch["cost"].to_numpy())
            yield batch.select(["id", "cost"])


def told(stream: DataFrame, folder: Path, window: int = WINDOW) -> DataFrame:
    keyed = stream.withColumn("identity", identity(stream, "kind"))
    schema = stream.select("id", "cost").schema
    return map_stream(
        "map_rows",
        keyed,
        ToldCosts(),
        schema,
        cost_by=("kind",),
        scheme=ProactiveShuffle(WORKERS, window=window),
        plan_path=folder / "plans",
    )


def run_told(
    spark: SparkSession,
    folder: Path,
    batches: int,
    *,
    first: int = 0,
    window: int = WINDOW,
    slow: str = "slow",
) -> list[Epoch]:
    """Let a query run over files one by one, the loop hearing of each before the next comes."""
    write_rows(folder, first, slow=slow)
    out = told(stream_of(spark, folder), folder, window)
    query = start(out, folder)
    try:
        for number in range(first, first + batches):
            write_rows(folder, number, slow=slow)
            query.processAllAvailable()
            epochs = epochs_after(folder / "plans", number + 1)
    finally:
        query.stop()
    return epochs


@pytest.mark.usefixtures("adaptive")
def test_a_stream_has_the_rows_of_a_plain_map_also_when_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(2):
        write_rows(tmp_path, number)
    got = finish(labelled(stream_of(spark, tmp_path), tmp_path), tmp_path)
    assert found(got) == expected(spark, tmp_path)
    epochs_after(tmp_path / "plans", 2)
    write_rows(tmp_path, 2)
    got = finish(labelled(stream_of(spark, tmp_path), tmp_path), tmp_path)
    assert found(got) == expected(spark, tmp_path)
    epochs = epochs_after(tmp_path / "plans", 3)
    assert [epoch.batch for epoch in epochs] == [0, 1, 2]
    # Two rounds have been learned from, and are not forgotten.
    assert epochs[2].version == 2


def test_rows_of_a_stream_go_round_robin(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(tmp_path, 0)
    out = map_rows(
        stream_of(spark, tmp_path),
        where,
        "id long, worker int",
        cost_by="kind",
        workers=WORKERS,
        grouping="shuffle",
    )
    ids, workers = zip(*found(finish(out, tmp_path)), strict=True)
    assert list(ids) == list(range(ROWS))
    assert Counter(workers) == dict.fromkeys(range(WORKERS), ROWS // WORKERS)


def test_batches_of_a_stream_have_the_rows_of_a_plain_map(
    spark: SparkSession, tmp_path: Path
) -> None:
    for number in range(3):
        write_rows(tmp_path, number)
    out = map_batches(
        stream_of(spark, tmp_path),
        label_all,
        "id long, label string",
        cost_by=["kind", "cost"],
        workers=WORKERS,
        batch_rows=17,
        grouping=GROUPING,
        plan_path=tmp_path / "plans",
    )
    assert found(finish(out, tmp_path)) == expected(spark, tmp_path)
    assert sum(epoch.rows for epoch in epochs_after(tmp_path / "plans", 3)) == 3 * ROWS


def test_the_schedule_goes_through_its_phases(spark: SparkSession, tmp_path: Path) -> None:
    # With the second micro-batch a worker has seen 128 rows, which are enough to begin with. No
    # window ends, so that nobody reports again.
    epochs = run_told(spark, tmp_path, 4, window=10_000)
    phases = ["ROUND_ROBIN", "ROUND_ROBIN", "SEND_ALL", "RUN"]
    assert [epoch.phase for epoch in epochs] == phases
    assert [epoch.messages for epoch in epochs] == [0, WORKERS, 2 * WORKERS, 0]
    in_turn, scheduled = epochs[0], epochs[3]
    # Round-robin, all 20 slow rows are one worker's.
    assert in_turn.busy_seconds == pytest.approx([0.58, 0.1, 0.1, 0.1])
    assert in_turn.estimated_seconds is None
    assert scheduled.busy_seconds is not None
    assert max(scheduled.busy_seconds) - min(scheduled.busy_seconds) <= 0.025 + 1e-9
    assert scheduled.estimated_seconds == pytest.approx(scheduled.busy_seconds, rel=0.02)


def test_a_change_of_costs_is_followed_also_by_a_query_started_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    run_told(spark, tmp_path, 2)
    epochs = run_told(spark, tmp_path, 2, first=2, slow="odd")
    wrong, right = epochs[2:]
    # The schedule of the first run, which its second micro-batch has confirmed, is followed and
    # shows to be wrong within a few windows.
    assert (wrong.phase, right.phase) == ("RUN", "SEND_ALL")
    assert wrong.estimated_seconds != pytest.approx(wrong.busy_seconds, rel=0.5)
    assert right.estimated_seconds == pytest.approx(right.busy_seconds, rel=0.02)
    assert right.busy_seconds is not None
    assert max(right.busy_seconds) - min(right.busy_seconds) <= 0.025 + 1e-9


def test_the_record_counts_messages_and_the_rows_that_carried_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    epochs = run_told(spark, tmp_path, 2)
    first, second = epochs
    assert first.stats_rows == second.stats_rows == WORKERS
    assert first.stats_bytes
    # Five windows a worker: a report each. The next micro-batch carries a request to each worker
    # and brings its reply, and reports again.
    assert (first.messages, second.messages) == (WORKERS, 3 * WORKERS)
    assert second.imbalance_of == "busy_seconds"
    shown = Loads(tmp_path / "plans").to_df(spark).where("batch = 1").collect()
    assert [row["worker"] for row in shown] == list(range(WORKERS))
    assert tuple(row["estimated_seconds"] for row in shown) == second.estimated_seconds
    assert {row["messages"] for row in shown} == {second.messages}
    assert {row["phase"] for row in shown} == {second.phase}


@pytest.mark.parametrize("damage", ["garbage", "gone", "one"])
def test_damaged_files_cost_a_schedule_and_never_a_row(
    spark: SparkSession, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    write_rows(tmp_path, 0)
    query = start(told(stream_of(spark, tmp_path), tmp_path), tmp_path)
    plans = tmp_path / "plans"
    try:
        query.processAllAvailable()
        epochs_after(plans, 1)
        for name in FILES[: 1 if damage == "one" else 2]:
            if damage == "gone":
                (plans / name).unlink()
            else:
                (plans / name).write_text("garbage")
        for number in (1, 2):
            write_rows(tmp_path, number)
            with caplog.at_level(logging.WARNING, "unskew.spark"):
                query.processAllAvailable()
                epochs = epochs_after(plans, number + 1)
    finally:
        query.stop()
    rows = spark.read.parquet(str(tmp_path / "in")).select("id", "cost")
    assert rows_of(spark.read.parquet(str(tmp_path / "out"))) == rows_of(rows)
    assert (epochs[1].version == -1) == (damage != "one")
    assert set(epochs[1].damaged) == set(FILES[: 1 if damage == "one" else 2])
    assert epochs[2].damaged == ()
    assert epochs[2].version == 2
    said = [record.getMessage() for record in caplog.records if record.name == "unskew.spark"]
    assert len(said) == len(epochs[1].damaged)
    assert all("was damaged" in line for line in said)


def test_more_workers_than_rows_will_do(spark: SparkSession, tmp_path: Path) -> None:
    for number in range(3):
        write_rows(tmp_path, number, rows=3)
    out = labelled(stream_of(spark, tmp_path), tmp_path, workers=8)
    assert found(finish(out, tmp_path)) == expected(spark, tmp_path)
    epochs = epochs_after(tmp_path / "plans", 3)
    assert [sum(epoch.loads) for epoch in epochs] == [3, 3, 3]
    assert all(len(epoch.loads) == 8 for epoch in epochs)


def fails(row: Row) -> tuple[int]:
    raise KeyError("price")


def test_a_function_that_raises_is_named_in_the_error_of_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_rows(tmp_path, 0, rows=1)
    out = map_rows(
        stream_of(spark, tmp_path),
        fails,
        "id long",
        cost_by="kind",
        workers=1,
        plan_path=tmp_path / "plans",
    )
    words = r"fails: the call failed on worker 0 at key kind='slow': KeyError: 'price'"
    with pytest.raises(StreamingQueryException, match=words):
        finish(out, tmp_path)


def test_a_folder_belongs_to_one_query(spark: SparkSession, tmp_path: Path) -> None:
    write_rows(tmp_path, 0)
    stream = stream_of(spark, tmp_path)
    labelled(stream, tmp_path)
    with pytest.raises(InvalidParameterError, match="plan_path must be the folder of a query with"):
        labelled(stream, tmp_path, workers=WORKERS + 1)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({}, "plan_path"),
        ({"plan_path": Path("s3://bucket/plans")}, "plan_path"),
        ({"plan_path": "plans", "grouping": "shuffle"}, "plan_path"),
        ({"plan_path": "plans", "learn_rows": 100}, "learn_rows"),
        ({"plan_path": "plans", "loads": Loads()}, "loads"),
    ],
    ids=["no folder", "a URI", "nothing to learn", "rows to learn from", "loads of a batch"],
)
def test_what_a_stream_cannot_use_is_refused(
    spark: SparkSession, tmp_path: Path, change: dict[str, Any], parameter: str
) -> None:
    write_rows(tmp_path, 0)
    given = {"cost_by": "kind", "workers": WORKERS, **change}
    with pytest.raises(InvalidParameterError) as caught:
        map_rows(stream_of(spark, tmp_path), label, "id long, label string", **given)
    assert (caught.value.owner, caught.value.parameter) == ("map_rows", parameter)
    assert not Path("plans").exists()
