import json
from dataclasses import asdict
from pathlib import Path

import pytest

from unskew.events import Epoch, append_epoch, read_epochs
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.stream.loop import PlanLoop, Report
from unskew.spark.stream.planner import Planner

EPOCH = Epoch(
    query="q",
    run="r",
    batch=3,
    version=1,
    rows=30,
    loads=(10, 20),
    imbalance=33.3,
    predicted_imbalance=None,
    split_keys=1,
    next_version=None,
    why=None,
    seconds=0.01,
    damaged=("plan-000002.json",),
    replication=1.5,
    busy_seconds=(0.25, 0.5),
)


def test_what_is_put_on_record_is_read(tmp_path: Path) -> None:
    append_epoch(tmp_path, EPOCH)
    append_epoch(tmp_path, EPOCH)
    assert read_epochs(tmp_path) == [EPOCH, EPOCH]


def test_lines_of_earlier_versions_are_read(tmp_path: Path) -> None:
    fields = asdict(EPOCH)
    del fields["replication"], fields["busy_seconds"], fields["damaged"]
    (tmp_path / "epochs.jsonl").write_text(json.dumps(fields) + "\n")
    (epoch,) = read_epochs(tmp_path)
    assert (epoch.replication, epoch.busy_seconds, epoch.damaged) == (None, None, ())
    assert epoch.loads == (10, 20)


@pytest.mark.parametrize("line", ["", "{", "[]", "7", '{"query": "q"}', '{"unknown": 1}'])
def test_a_line_that_is_no_epoch_is_left_out(tmp_path: Path, line: str) -> None:
    (tmp_path / "epochs.jsonl").write_text(f"{line}\n")
    append_epoch(tmp_path, EPOCH)
    assert read_epochs(tmp_path) == [EPOCH]


def test_a_line_that_was_cut_spoils_no_other(tmp_path: Path) -> None:
    append_epoch(tmp_path, EPOCH)
    whole = (tmp_path / "epochs.jsonl").read_bytes()
    (tmp_path / "epochs.jsonl").write_bytes(whole + whole[:-40])
    append_epoch(tmp_path, EPOCH)
    assert read_epochs(tmp_path) == [EPOCH, EPOCH]


@pytest.mark.parametrize(
    ("busy", "seconds"),
    [
        (None, None),
        ('[{"worker": 1, "rows": 4, "seconds": 0.5}]', (0.0, 0.5)),
        (
            '[{"worker": 0, "rows": 2, "seconds": 1.0}, {"worker": 0, "rows": 2, "seconds": 0.5}]',
            (1.5, 0.0),
        ),
    ],
    ids=["native work", "one worker", "a worker that ran twice"],
)
def test_what_work_steps_measured_is_on_record(
    tmp_path: Path, busy: str | None, seconds: tuple[float, ...] | None
) -> None:
    maker = Planner("test", grouping_for("wrap:slots=4", 2))
    loop = PlanLoop(tmp_path, ("user",), ("string",), maker, threshold=2.0)
    # Place = worker · 4 + slot: one row on each worker.
    report = Report("q", "r", batch=0, version=0, places="0:1,5:1", hot="", keys=2, stats=busy)
    epoch = loop.take(report)
    assert epoch is not None
    assert epoch.busy_seconds == seconds
    assert read_epochs(tmp_path) == [epoch]
