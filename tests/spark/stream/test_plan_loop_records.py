"""The planning loop puts every micro-batch on record."""

from pathlib import Path

import pytest

from unskew.events import read_epochs
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.stream.loop import PlanLoop, Report
from unskew.spark.stream.planner import Planner


@pytest.mark.parametrize(
    ("busy", "seconds"),
    [
        (None, None),
        ('[{"worker": 1, "rows": 4, "seconds": 0.5}]', (0.0, 0.5)),
        (
            '[{"worker": 0, "rows": 2, "seconds": 1.0}, {"worker": 0, "rows": 2, "seconds": 0.5}]',
            (0.5, 0.0),  # its last report counts, for seconds as for rows
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
