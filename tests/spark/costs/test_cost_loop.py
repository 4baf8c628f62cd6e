"""The driver's loop of a stream by costs, without Spark: what is told, kept, and told again."""

import base64
import json
import logging
from pathlib import Path

import numpy as np
import pytest

from unskew.errors import InvalidParameterError
from unskew.events import read_epochs
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.spark.costs.scheduler import CostControl
from unskew.spark.costs.streams import CostLoop, control_target
from unskew.spark.stream.loop import Report
from unskew.spark.worker.cost_machine import CostMachine
from unskew.spark.worker.cost_messages import (
    Control,
    ControlFolder,
    DamagedMessageError,
    Matrices,
    matrices_of,
)
from unskew.spark.worker.live_files import LivePair

WORKERS = 2
MATRICES = matrices_of(ProactiveShuffle(WORKERS, window=4))


def loop_in(folder: Path, matrices: Matrices = MATRICES, workers: int = WORKERS) -> CostLoop:
    target = control_target(("kind",), ("string",), workers, matrices)
    return CostLoop("map_rows", folder, target, workers, matrices)


def round_of(control: Control | None, batch: int, *, slow: float = 0.025) -> Report:
    """Return what two workers say who got nine slow and nine fast rows each."""
    said = []
    for worker in range(WORKERS):
        machine = CostMachine(worker, MATRICES, control)
        machine.take_rows(np.array([7, 8] * 9, np.uint64), np.array([slow, 0.001] * 9))
        payload = base64.b64encode(machine.finish().to_bytes()).decode()
        said.append({"worker": worker, "rows": 18, "seconds": 1.0, "payload": payload})
    return Report("query", "run", batch, stats=json.dumps(said))


def as_bytes(control: Control | None) -> bytes:
    assert control is not None
    return control.to_bytes()


def test_a_loop_that_is_started_again_knows_what_the_last_one_knew(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    for batch in range(3):
        loop.take(round_of(loop.source.read(), batch))
    before = loop.source.read()
    again = loop_in(tmp_path)
    assert as_bytes(again.source.read()) == as_bytes(before)
    # It does not only say the same: it goes on as the first would have.
    report = round_of(before, 3)
    loop.take(report)
    expected = as_bytes(loop.source.read())
    again.take(report)
    assert as_bytes(again.source.read()) == expected


def test_a_micro_batch_that_reports_again_does_no_harm(tmp_path: Path) -> None:
    once, twice = loop_in(tmp_path / "once"), loop_in(tmp_path / "twice")
    old = round_of(None, 0, slow=9.0)
    for batch in range(4):
        for loop in (once, twice):
            report = round_of(loop.source.read(), batch)
            loop.take(old if batch == 0 else report)
    twice.take(old)
    told_once, told_twice = once.source.read(), twice.source.read()
    assert told_once is not None
    assert told_twice is not None
    np.testing.assert_array_equal(told_twice.schedule.pooled, told_once.schedule.pooled)
    for mine, other in zip(told_twice.machines, told_once.machines, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_round_that_began_before_the_schedule_does_not_end_its_epoch(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    early = loop.source.read()
    loop.take(round_of(early, 0))
    late = loop.take(round_of(early, 1))
    assert late is not None
    assert (late.version, late.phase) == (0, "ROUND_ROBIN")
    in_time = loop.take(round_of(loop.source.read(), 2))
    assert in_time is not None
    assert (in_time.version, in_time.phase) == (2, "SEND_ALL")


def test_lines_that_make_no_sense_and_empty_micro_batches_are_passed_over(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    before = as_bytes(loop.source.read())
    nonsense = json.dumps([{"worker": 0, "rows": 1, "seconds": 1.0, "payload": "aGk="}])
    for stats in ("[]", nonsense):
        assert loop.take(Report("query", "run", 0, stats=stats)) is None
    assert as_bytes(loop.source.read()) == before
    assert read_epochs(tmp_path) == []


def test_it_is_said_once_that_tasks_do_not_see_the_folder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loop = loop_in(tmp_path)
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        for batch in range(3):
            loop.take(round_of(None, batch))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "Rows went round-robin"
    ]
    assert [epoch.version for epoch in read_epochs(tmp_path)] == [-1, -1, -1]


def test_damaged_files_are_named_and_written_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loop = loop_in(tmp_path)
    loop.take(round_of(loop.source.read(), 0))
    names = ["costs-a.txt", "costs-b.txt"]
    for name in names:
        (tmp_path / name).write_text("garbage")
    assert loop.source.read() is None
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        again = loop_in(tmp_path)
    assert [record.getMessage().split()[0] for record in caplog.records] == names
    control = again.source.read()
    assert control is not None
    assert control.schedule.round_number == 0


@pytest.mark.parametrize(
    ("workers", "matrices"),
    [
        (WORKERS + 1, MATRICES),
        (WORKERS, matrices_of(ProactiveShuffle(WORKERS, epsilon=0.01))),
        (WORKERS, matrices_of(ProactiveShuffle(WORKERS, seed=1))),
    ],
    ids=["other workers", "other matrices", "other hash functions"],
)
def test_what_another_query_has_learned_is_refused(
    tmp_path: Path, workers: int, matrices: Matrices
) -> None:
    loop_in(tmp_path)
    paths = [tmp_path / "costs-a.txt", tmp_path / "costs-b.txt"]
    other = LivePair(paths, control_target(("kind",), ("string",), workers, matrices))
    assert ControlFolder(other).read() is None
    with pytest.raises(InvalidParameterError) as caught:
        loop_in(tmp_path, matrices, workers)
    assert (caught.value.owner, caught.value.parameter) == ("map_rows", "plan_path")


def test_only_what_a_control_has_written_can_be_restored() -> None:
    control = CostControl(WORKERS, MATRICES)
    assert CostControl.restored(WORKERS, MATRICES, control.to_bytes()).phase == control.phase
    for data in (b"", control.control().to_bytes(), control.to_bytes()[:-3]):
        with pytest.raises(DamagedMessageError):
            CostControl.restored(WORKERS, MATRICES, data)
