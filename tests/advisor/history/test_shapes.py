"""Logs of other versions, cut off, damaged, none at all: a sensible answer or a clear message."""

import gzip
import json
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest
from tests.advisor.history.log_cases import completed, executor, job, started, task, write

from unskew.advisor.history import read_history
from unskew.advisor.history.tasks import Spread
from unskew.errors import EventLogError, InvalidParameterError

# Four tasks on four slots, one of 9 seconds: 9 - (1 + 1 + 1 + 9) / 4 = 6 are lost.
SKEWED = [
    started(),
    executor(4),
    *job(500),
    task(3, 1000, 2000, 10),
    task(3, 1000, 2000, 10),
    task(3, 1000, 2000, 10),
    task(3, 1000, 10_000, 90),
    completed(3),
    {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": 12_500},
]


def test_a_skewed_stage_is_found_with_what_it_lost(tmp_path: Path) -> None:
    history = read_history(write(tmp_path / "app-1", SKEWED))
    (stage,) = history.stages
    assert (stage.stage, stage.tasks, stage.slots, stage.finished) == (3, 4, 4, True)
    assert stage.lost_seconds == pytest.approx(6.0)
    assert stage.share_of_job_time == pytest.approx(6 / 12)
    assert stage.task_seconds == Spread(9.0, 1.0)
    assert stage.records == Spread(90, 10)
    assert stage.advice.cause == "rows"


def test_the_oldest_shape_without_executors_jobs_records_or_names_still_gives_times(
    tmp_path: Path,
) -> None:
    bare = [task(0, 1000, 2000), task(0, 1000, 5000), {"Event": "SparkListenerStageCompleted"}]
    history = read_history(write(tmp_path / "app-1", bare))
    (stage,) = history.stages
    assert stage.slots == 2  # as many as ran at once
    assert stage.lost_seconds == pytest.approx(4 - 2.5)
    assert (stage.advice.cause, stage.records.max, stage.keys) == ("unknown", 0, ())
    assert history.applications[0].job_seconds == pytest.approx(4)
    assert history.applications[0].spark_version == "unknown"


def test_events_and_fields_of_a_future_version_are_passed_over(tmp_path: Path) -> None:
    future = [{"Event": "org.apache.spark.next.SparkListenerWonder", "x": [1]}, *SKEWED]
    future.append({"Event": "SparkListenerTaskEnd", "Task Info": None, "Task Metrics": None})
    history = read_history(write(tmp_path / "app-1", future))
    assert history.stages[0].lost_seconds == pytest.approx(6.0)
    assert history.applications[0].notes == []


def test_failed_and_killed_tasks_do_not_count(tmp_path: Path) -> None:
    failed = {**task(3, 1000, 90_000), "Task End Reason": {"Reason": "ExceptionFailure"}}
    killed = task(3, 1000, 90_000)
    killed = {**killed, "Task Info": {**killed["Task Info"], "Killed": True}}
    events = [*SKEWED[:3], failed, killed, *SKEWED[3:]]
    assert read_history(write(tmp_path / "app-1", events)).stages[0].tasks == 4


def test_a_log_cut_within_its_last_line_gives_all_before_it(tmp_path: Path) -> None:
    text = write(tmp_path / "app-1", SKEWED).read_text()
    for cut in (text.rindex('"Stage Info"'), text.rindex('{"Event"') - 20):
        path = tmp_path / "app-cut.inprogress"
        path.write_text(text[:cut])
        history = read_history(path)
        (stage,) = history.stages
        assert not stage.finished
        assert stage.lost_seconds == pytest.approx(6.0)
        assert any("cut off" in note for note in history.applications[0].notes)
        assert any("still ran" in note for note in history.applications[0].notes)


def test_a_damaged_line_in_the_middle_is_left_out_and_told(tmp_path: Path) -> None:
    lines = write(tmp_path / "app-1", SKEWED).read_text().splitlines()
    lines.insert(5, '{"Event":"SparkListenerTaskEnd","Stage')
    path = tmp_path / "app-2"
    path.write_text("\n".join(lines))
    history = read_history(path)
    assert history.stages[0].tasks == 4
    assert history.applications[0].notes == ["1 lines could not be read and were left out"]


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_a_compressed_log_reads_the_same_under_any_name(tmp_path: Path, codec: str) -> None:
    path = write(tmp_path / "app-1", SKEWED)
    packed = tmp_path / "packed"
    with pa.CompressedOutputStream(str(packed), codec) as out:
        out.write(path.read_bytes())
    assert read_history(packed).stages == read_history(path).stages


def test_a_compressed_log_that_is_cut_off_gives_what_was_written(tmp_path: Path) -> None:
    many = [*SKEWED, *(task(9, 1000, 1000 + n) for n in range(1, 3000))]
    text = write(tmp_path / "app-1", many).read_bytes()
    packed = tmp_path / "app-1.gz"
    packed.write_bytes(gzip.compress(text)[:-3000])
    history = read_history(packed)
    assert history.stages[0].lost_seconds == pytest.approx(6.0)
    assert any("cut off" in note for note in history.applications[0].notes)


def test_parts_of_a_rolling_log_are_read_in_order_of_their_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    for number, events in ((2, SKEWED[4:6]), (10, SKEWED[6:]), (1, SKEWED[:4])):
        write(folder / f"events_{number}_app", events)
    (folder / "appstatus_app").touch()
    for path in (folder, tmp_path):
        history = read_history(path)
        assert history.stages[0].lost_seconds == pytest.approx(6.0)
        assert history.stages[0].finished


def test_a_compacted_part_stands_for_all_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    write(folder / "events_1_app", SKEWED[:5])
    write(folder / "events_2_app", SKEWED[:6])
    write(folder / "events_2_app.compact", SKEWED[:6])
    write(folder / "events_3_app", SKEWED[6:])
    (folder / "appstatus_app.inprogress").touch()
    history = read_history(folder)
    assert history.stages[0].tasks == 4
    assert any("still ran" in note for note in history.applications[0].notes)


def test_a_folder_of_many_applications_gives_the_worst_stages_of_all(tmp_path: Path) -> None:
    for n in range(1, 4):
        slow = [task(0, 0, 1000, 5), task(0, 0, 1000 + 1000 * n, 5), completed(0)]
        write(tmp_path / f"app-{n}", [started(str(n)), executor(2), *slow])
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / ".app-1.crc").write_bytes(b"crc")
    history = read_history(tmp_path, top=2)
    assert [stage.application for stage in history.stages] == ["app-3", "app-2"]
    assert len(history.applications) == 3
    assert len(history.skipped) == 1
    assert "notes.txt" in history.skipped[0]


def test_stages_alike_are_one_row_with_the_sum_of_what_they_lost(tmp_path: Path) -> None:
    batches = [
        event
        for n in range(5)
        for event in (task(n, 0, 1000, 5), task(n, 0, 3000, 5), completed(n, "stream at s.py:1"))
    ]
    (stage,) = read_history(write(tmp_path / "app", [executor(2), *batches])).stages
    assert stage.alike == 5
    assert stage.lost_seconds == pytest.approx(5 * 1.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hello\nworld\n", "no Spark event log"),
        (b"", "not one event"),
        (b'{"a": 1}\n', "no Spark event log"),
        (b"\x00\xff" * 1000, "no Spark event log"),
        (b"ZV\x01\x00\x00", "lzf"),
        (b"LZ4Block%\xff\xff\xff\xff" + b"\xff" * 20, "cannot be read"),
        (b"\x28\xb5\x2f\xfd1234", "cannot be read"),
    ],
    ids=["text", "empty", "other json", "binary", "lzf", "damaged lz4", "damaged zstd"],
)
def test_what_is_no_readable_log_is_refused_by_name(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(EventLogError, match=message) as refused:
        read_history(path)
    assert str(path) in str(refused.value)


def test_no_path_no_logs_and_no_stages_to_show_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EventLogError, match="no such file"):
        read_history(tmp_path / "missing")
    with pytest.raises(EventLogError, match="without event logs"):
        read_history(tmp_path)
    with pytest.raises(InvalidParameterError, match="top"):
        read_history(tmp_path, top=0)


def test_the_json_has_plain_numbers_and_stable_names(tmp_path: Path) -> None:
    found = read_history(write(tmp_path / "app-1", SKEWED)).to_json()
    (stage,) = json.loads(json.dumps(found, allow_nan=False))["stages"]
    assert stage["task_seconds"] == {"max": 9.0, "median": 1.0}
    assert {"application", "stage", "name", "lost_seconds", "share_of_job_time", "keys", "cause",
            "hint", "code"} <= set(stage)  # fmt: skip


def test_memory_does_not_grow_with_the_stages_of_a_log(tmp_path: Path) -> None:
    def peak(stages: int) -> int:
        batch = (
            event
            for stage in range(stages)
            for event in (*(task(stage, 1, 2 + n, n) for n in range(20)), completed(stage))
        )
        path = write(tmp_path / f"app-{stages}", batch)
        tracemalloc.start()
        read_history(path)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(3000)  # what is loaded once, and small objects that Python keeps to use again
    assert peak(1000) < 2 * peak(50)
