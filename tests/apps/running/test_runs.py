"""A run: the same micro-batches for all groupings, exact results, a record, and a clean end."""

import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.apps.running.run_cases import BATCH_ROWS, WORKERS, asked, last_counts, words

from unskew.errors import UnskewError
from unskew.events import read_events
from unskew.reports.grouping_run import MeasuredBatch

pytestmark = pytest.mark.slow


def test_groupings_get_the_same_micro_batches_and_count_alike(
    spark: SparkSession, tmp_path: Path
) -> None:
    runs = asked(tmp_path, "key", "partial-key", "wrap", max_batches=3).run(spark)
    assert [run.label for run in runs] == ["key", "partial-key", "wrap"]
    for run in runs:
        assert [batch.epoch.rows for batch in run.batches] == [BATCH_ROWS] * 3
        assert [sum(batch.epoch.loads) for batch in run.batches] == [BATCH_ROWS] * 3
        assert {len(batch.epoch.loads) for batch in run.batches} == {WORKERS}
        assert last_counts(spark, run.label) == words(3 * BATCH_ROWS)
        assert run.rows == 2 * BATCH_ROWS, "the first one warms up"
    events = read_events(tmp_path)
    assert events == [batch.epoch for run in runs for batch in run.batches]
    assert {event.hot_keys[0].key for event in events} == {"the"}
    for event in events:
        for hot in event.hot_keys:
            # Whole keys are on one worker, which has at least their rows; split ones on several.
            assert len(hot.workers) == 1 or event.grouping != "key"
            held = sum(event.loads[worker] for worker in hot.workers)
            assert held >= round(hot.share * event.rows) or event.grouping == "partial-key"
    of_wrap = [event for event in events if event.grouping == "wrap"]
    assert [event.version for event in of_wrap][:2] == [0, 1], "a plan rules the next micro-batch"


def test_a_run_that_is_stopped_goes_on_from_its_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    stop = threading.Event()

    def stop_it(batch: MeasuredBatch) -> None:
        stop.set()

    out, place = tmp_path / "out", tmp_path / "checkpoint"

    def run() -> list[int]:
        again = asked(tmp_path / "record", "wrap", sink=f"parquet:{out}", checkpoint=place, limit=3)
        (done,) = again.run(spark, asked_to_stop=stop, on_batch=stop_it)
        return [batch.epoch.batch for batch in done.batches]

    assert run() == [0], "asked in the first micro-batch, it ends after it"
    stop.clear()
    assert run() == [1]
    table = pq.read_table(out / "wrap")
    latest: dict[str, int] = {}
    for word, count in zip(table["word"].to_pylist(), table["count"].to_pylist(), strict=True):
        latest[word] = max(count, latest.get(word, 0))
    assert latest == words(2 * BATCH_ROWS)
    with pytest.raises(UnskewError, match="is of application 'wordcount'"):
        asked(tmp_path / "record", "wrap", app="vwap", checkpoint=place)


def test_made_up_rows_are_the_same_for_every_grouping(spark: SparkSession, tmp_path: Path) -> None:
    run = asked(
        tmp_path, "key", "shuffle", source="rate:5000", batch_rows=None, trigger=0.2, max_batches=2
    )
    runs = run.run(spark)
    assert [[batch.epoch.rows for batch in run.batches] for run in runs] == [[1000] * 2] * 2
    assert last_counts(spark, "key") == last_counts(spark, "shuffle")
    waits = runs[0].batches[1].waits
    assert waits.most - waits.least == pytest.approx(0.2), "rows came during 0.2 seconds"


def test_auto_counts_as_any_grouping_does_and_learns_a_plan(
    spark: SparkSession, tmp_path: Path
) -> None:
    (run,) = asked(tmp_path, "auto", max_batches=3).run(spark)
    assert last_counts(spark, "auto") == words(3 * BATCH_ROWS)
    assert [batch.epoch.version for batch in run.batches][:2] == [0, 1]
    assert {batch.epoch.grouping for batch in run.batches} == {"auto"}


@pytest.mark.parametrize("app", ["field-grid", "enrich"])
def test_auto_suits_keys_that_stay_whole_and_rows_without_keys(
    spark: SparkSession, tmp_path: Path, app: str
) -> None:
    (run,) = asked(tmp_path, "auto", app=app, sink="none", max_batches=2).run(spark)
    assert [batch.epoch.rows for batch in run.batches] == [BATCH_ROWS] * 2
