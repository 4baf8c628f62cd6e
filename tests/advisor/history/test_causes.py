"""Causes beside uneven rows: idle slots, slow machines, garbage, starts of Python."""

from pathlib import Path
from typing import Any

import pytest
from tests.advisor.history.log_cases import completed, executor, job, started, task, write

from unskew.advisor.history import StageReport, read_history


def only_stage(path: Path, cores: int, *tasks: Any) -> StageReport:
    events = [started(), executor(cores), *job(0), *tasks, completed(3)]
    (stage,) = read_history(write(path / "app", events)).stages
    return stage


def with_start(event: Any, start: int, first_row: int) -> Any:
    names = ("time to start Python workers", "time to initialize Python workers")
    counted = [
        {"Name": name, "Update": str(update)}
        for name, update in zip(names, (start, first_row), strict=True)
        if update
    ]
    return {**event, "Task Info": {**event["Task Info"], "Accumulables": counted}}


def test_one_task_on_eight_slots_lets_seven_of_them_wait(tmp_path: Path) -> None:
    stage = only_stage(tmp_path, 8, task(3, 0, 27_500, 100))
    assert stage.lost_seconds == pytest.approx(27.5 * 7 / 8)
    assert stage.advice.cause == "slots"
    assert stage.advice.code == "df.repartition(8)"


def test_a_short_task_is_not_worth_dividing(tmp_path: Path) -> None:
    stage = only_stage(tmp_path, 8, task(3, 0, 400, 100))
    assert stage.lost_seconds == 0
    assert stage.advice.cause == "even"


def test_slots_that_another_stage_holds_are_not_idle(tmp_path: Path) -> None:
    submitted = [
        {"Event": "SparkListenerStageSubmitted", "Stage Info": {"Stage ID": stage}}
        for stage in (3, 4)
    ]
    tasks = [task(stage, 0, 8000, 100) for stage in (3, 4) for _ in range(2)]
    events = [started(), executor(4), *job(0), *submitted, *tasks, completed(3), completed(4)]
    for stage in read_history(write(tmp_path / "app", events)).stages:
        assert stage.lost_seconds == pytest.approx(0)


def test_the_wait_of_a_worker_that_is_used_again_is_no_start(tmp_path: Path) -> None:
    """Time strictly proportional to rows, and a metric longer than the tasks themselves."""
    tasks = [with_start(task(3, 0, 10 * rows, rows), 0, 30_000) for rows in (600, 133, 133, 134)]
    assert only_stage(tmp_path, 4, *tasks).advice.cause == "rows"


def test_the_start_of_a_worker_is(tmp_path: Path) -> None:
    tasks = [task(3, 0, 1000, 100) for _ in range(3)]
    late = with_start(task(3, 0, 9000, 100), 500, 7500)
    stage = only_stage(tmp_path, 4, *tasks, late)
    assert stage.advice.cause == "start"
    assert stage.advice.hint.startswith("Do nothing")


def test_all_tasks_of_one_executor_are_told_from_some_slow_tasks(tmp_path: Path) -> None:
    def placed(where: str, end: int) -> Any:
        event = task(3, 0, end, 100)
        return {**event, "Task Info": {**event["Task Info"], "Executor ID": where}}

    slow = [placed("1", 8000), placed("1", 8500), placed("2", 2000), placed("2", 2100)]
    assert only_stage(tmp_path, 4, *slow).advice.cause == "machine"
    mixed = [placed("1", 8000), placed("1", 2000), placed("2", 2000), placed("2", 2100)]
    assert only_stage(tmp_path, 4, *mixed).advice.cause == "costs"


def test_garbage_and_spilling_are_named_where_tasks_are_even(tmp_path: Path) -> None:
    def measured(metric: str, value: int) -> list[Any]:
        event = task(3, 0, 4000, 100)
        return [{**event, "Task Metrics": {**event["Task Metrics"], metric: value}}] * 4

    collecting = only_stage(tmp_path, 4, *measured("JVM GC Time", 2000))
    assert collecting.advice.cause == "gc"
    assert collecting.lost_seconds == pytest.approx(2.0)
    assert only_stage(tmp_path, 4, *measured("JVM GC Time", 200)).advice.cause == "even"
    spilling = only_stage(tmp_path, 4, *measured("Disk Bytes Spilled", 1 << 20))
    assert spilling.advice.cause == "spill"
    assert "4.0 MB" in spilling.advice.hint
