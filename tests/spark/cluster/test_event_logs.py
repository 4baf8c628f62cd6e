"""Event logs that Spark wrote, of jobs whose skew is known by construction."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unskew.advisor.history import History, StageReport, read_history
from unskew.errors import EventLogError

Event = dict[str, Any]


@pytest.fixture(scope="module")
def written(
    tmp_path_factory: pytest.TempPathFactory, run_driver: Callable[..., Any]
) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("logs")
    return folder, run_driver("event_logs", folder)


@pytest.fixture
def log(written: tuple[Path, dict[str, Any]]) -> Path:
    (path,) = (each for each in (written[0] / "plain").iterdir() if each.name[0] != ".")
    return path


@pytest.fixture
def known(written: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    facts: dict[str, Any] = written[1]["known"]
    facts["seconds"] = {int(task): seconds for task, seconds in facts["seconds"].items()}
    return facts


def events_of(log: Path) -> list[Event]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def stage_named(history: History, name: str, operator: str) -> StageReport:
    (found,) = (s for s in history.stages if s.name == name and operator in s.operators)
    return found


def tasks_of(events: list[Event], stage: int) -> list[Event]:
    ends = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    return [event for event in ends if event["Stage ID"] == stage]


def retimed(events: list[Event], stage: int, seconds: dict[int, float]) -> None:
    """Let the tasks of a stage take exactly what they slept, on two slots, in order of number."""
    free = [1_000_000, 1_000_000]
    for event in sorted(tasks_of(events, stage), key=lambda end: end["Task Info"]["Index"]):
        info, slot = event["Task Info"], free.index(min(free))
        info["Launch Time"] = free[slot]
        free[slot] += round(1000 * seconds[info["Index"]])
        info["Finish Time"] = free[slot]
        kept = [each for each in info["Accumulables"] if "Python workers" not in each["Name"]]
        info["Accumulables"] = kept


def test_a_hot_key_is_found_with_its_column_and_never_less_time_than_it_slept(
    log: Path, known: dict[str, Any]
) -> None:
    history = read_history(log, top=100)
    hot = stage_named(history, "hot key", "FlatMapGroupsInArrow")
    assert history.applications[0].id == known["application"]
    assert (hot.keys, hot.tasks, hot.slots, hot.finished) == (("user",), 4, 2, True)
    assert hot.records.max == max(known["seconds"].values()) / 0.01
    assert hot.task_seconds.max >= max(known["seconds"].values())
    # What the tasks did beside sleeping, and what they waited for one another, is all that what
    # was lost can differ by from what the sleeping alone would have lost.
    ends = [end["Task Info"] for end in tasks_of(events_of(log), hot.stage)]
    took = sum(end["Finish Time"] - end["Launch Time"] for end in ends) / 1000
    other = took - sum(known["seconds"].values())
    span = max(end["Finish Time"] for end in ends) - min(end["Launch Time"] for end in ends)
    assert hot.wall_seconds == pytest.approx(span / 1000)
    assert hot.lost_seconds == pytest.approx(lost_by_hand(known["seconds"]), abs=other + 0.1)


def lost_by_hand(seconds: dict[int, float]) -> float:
    """Run four tasks on two slots by hand, and take off two waves of the mean task."""
    slots = [0.0, 0.0]
    for task in range(4):
        slots[slots.index(min(slots))] += seconds[task]
    return max(slots) - 2 * sum(seconds.values()) / 4


def test_with_only_the_known_times_the_loss_the_cause_and_the_code_are_exact(
    log: Path, known: dict[str, Any], tmp_path: Path
) -> None:
    events = events_of(log)
    place = stage_named(read_history(log, top=100), "hot key", "FlatMapGroupsInArrow").stage
    retimed(events, place, known["seconds"])
    path = tmp_path / "retimed"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    hot = stage_named(read_history(path, top=100), "hot key", "FlatMapGroupsInArrow")
    assert hot.lost_seconds == pytest.approx(lost_by_hand(known["seconds"]), abs=0.003)
    assert hot.task_seconds.max == pytest.approx(max(known["seconds"].values()), abs=0.001)
    assert hot.advice.cause == "rows"


def test_a_slow_task_with_as_many_rows_as_the_others_is_a_matter_of_costs(
    log: Path, known: dict[str, Any], tmp_path: Path
) -> None:
    events = events_of(log)
    place = stage_named(read_history(log, top=100), "slow task", "MapInArrow").stage
    retimed(events, place, {0: 0.1, 1: known["slow"], 2: 0.1, 3: 0.1})
    path = tmp_path / "retimed"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    slow = stage_named(read_history(path, top=100), "slow task", "MapInArrow")
    assert slow.records.max == slow.records.median == 40
    # One slot is busy with the slow task for a second, the other one is idle after 0.3.
    assert slow.lost_seconds == pytest.approx(known["slow"] - 2 * (known["slow"] + 0.3) / 4)
    assert slow.advice.cause == "costs"


def test_stages_that_count_are_told_from_those_that_feed_them(log: Path) -> None:
    history = read_history(log, top=100)
    counted = [stage for stage in history.stages if stage.name == "counted"]
    assert sorted(stage.keys for stage in counted) == [(), ("user",)]
    assert all("HashAggregate" in stage.operators for stage in counted)


@pytest.mark.parametrize("codec", ["lz4", "snappy", "zstd"])
def test_what_spark_compressed_reads_the_same(
    written: tuple[Path, dict[str, Any]], log: Path, codec: str
) -> None:
    packed = written[0] / "codecs" / f"{log.name}.{codec}"
    assert read_history(packed).stages == read_history(log).stages


@pytest.mark.parametrize("codec", ["lz4", "snappy", "zstd"])
def test_what_spark_compressed_and_did_not_end_gives_a_part(
    written: tuple[Path, dict[str, Any]], log: Path, codec: str, tmp_path: Path
) -> None:
    packed = (written[0] / "codecs" / f"{log.name}.{codec}").read_bytes()
    cut = tmp_path / f"{log.name}.{codec}.inprogress"
    cut.write_bytes(packed[: len(packed) * 9 // 10])
    history = read_history(cut, top=100)
    assert any("cut off" in note for note in history.applications[0].notes)
    assert 0 < history.applications[0].stages <= read_history(log).applications[0].stages


def test_the_codec_that_python_lacks_is_named(
    written: tuple[Path, dict[str, Any]], log: Path
) -> None:
    with pytest.raises(EventLogError, match="lzf"):
        read_history(written[0] / "codecs" / f"{log.name}.lzf")


def test_a_rolling_log_is_read_while_its_application_runs_and_after(
    written: tuple[Path, dict[str, Any]],
) -> None:
    running, ended = (read_history(written[0] / name) for name in ("running", "rolling"))
    assert any("still ran" in note for note in running.applications[0].notes)
    assert ended.applications[0].notes == []
    assert ended.applications[0].id == written[1]["rolling"]["application"]
    assert [stage.keys for stage in ended.stages if stage.tasks == 4] == [("id",)]


def test_a_log_without_plans_and_metrics_still_tells_what_was_lost(
    log: Path, tmp_path: Path
) -> None:
    """What versions of Spark before SQL and its metrics wrote."""
    events = events_of(log)
    for (
        event
    ) in events:  # how long garbage was collected, which may count as lost, only metrics tell
        event.get("Task Metrics", {}).update({"JVM GC Time": 0})
    new = _history(tmp_path / "new", events)
    events = [event for event in events if "SQL" not in event["Event"]]
    for event in events:
        for name in ("Task Metrics", "Stage Attempt ID", "Task Executor Metrics", "Properties"):
            event.pop(name, None)
        event.get("Task Info", {}).pop("Accumulables", None)
    old = _history(tmp_path / "old", events)
    assert old.applications[0].lost_seconds == pytest.approx(new.applications[0].lost_seconds)
    assert all(stage.keys == () for stage in old.stages)


def _history(path: Path, events: list[dict[str, Any]]) -> History:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return read_history(path, top=100)
