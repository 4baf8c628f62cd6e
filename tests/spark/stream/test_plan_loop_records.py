"""The planning loop puts every micro-batch on record."""

import logging
import shutil
from pathlib import Path

import numpy as np
import pytest

from unskew.events import read_epochs
from unskew.groupings.plan import Plan
from unskew.spark.plans.saved import DamagedPlanWarning, PlanStore
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.stream.counters import EpochCounts, expected_loads
from unskew.spark.stream.loop import PlanLoop, Report, split_keys
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


@pytest.mark.parametrize(
    "edit",
    [
        ('"slot_workers": [', '"slot_workers": [1099511627776, '),
        ('"piece_loads": [', '"piece_loads": [5e-324, '),
        ('"version": 1', '"version": "x"'),
        ('"by": ["user"]', '"by": ["other"]'),
    ],
    ids=["slot_workers", "piece_loads", "version", "by"],
)
def test_a_bad_plan_file_stops_neither_planning_nor_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, edit: tuple[str, str]
) -> None:
    def started() -> PlanLoop:
        maker = Planner("test", grouping_for("wrap:slots=4", 2))
        return PlanLoop(tmp_path, ("user",), ("string",), maker, threshold=2.0)

    def micro_batch(loop: PlanLoop, batch: int) -> int | None:
        found = loop.take(Report("q", "r", batch, loop.version, places="0:9,1:1,6:1,7:1", keys=4))
        assert found is not None
        return found.next_version

    loop = started()
    assert micro_batch(loop, 0) == 1
    bad = (tmp_path / "plan-000001.json").read_text().replace(*edit)
    (tmp_path / "plan-000002.json").write_text(bad)
    with caplog.at_level(logging.WARNING, logger="unskew.spark"):
        micro_batch(loop, 1)
        micro_batch(loop, 2)
    assert len([one for one in caplog.records if "goes on with plan 1" in one.message]) == 1
    assert read_epochs(tmp_path)[1].damaged == ("plan-000002.json",)
    assert len(read_epochs(tmp_path)) == 3
    if "other" in edit[1]:
        return  # whole, and for another query: to start again with it is refused
    with pytest.warns(DamagedPlanWarning, match="plan-000002"):
        assert started().version in (1, 3)


def test_a_folder_that_was_deleted_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "plans"
    maker = Planner("test", grouping_for("wrap:slots=4", 2))
    loop = PlanLoop(folder, ("user",), ("string",), maker, threshold=2.0)
    shutil.rmtree(folder)
    with caplog.at_level(logging.WARNING, logger="unskew.spark"):
        for batch in range(3):
            loop.take(Report("q", "r", batch, loop.version, places="0:9,1:1,6:1,7:1", keys=4))
    assert (
        len([one for one in caplog.records if "was deleted and is made again" in one.message]) == 1
    )
    assert [epoch.batch for epoch in read_epochs(folder)] == [0, 1, 2]
    assert set(read_epochs(folder)[0].damaged) == {"routing-a.txt", "routing-b.txt"}
    assert {path.name for path in folder.glob("routing-*")} == {"routing-a.txt", "routing-b.txt"}


def test_a_key_that_has_cooled_is_whole_again_though_the_plan_was_even(tmp_path: Path) -> None:
    hot = 5 << 32  # in slot 0
    maker = Planner("test", grouping_for("wrap:slots=16", 4))
    loop = PlanLoop(tmp_path, ("user",), ("string",), maker, threshold=2.0)
    reasons = [
        take_as_planned(loop, tmp_path, batch, {hot: 900} if batch < 4 else {})
        for batch in range(20)
    ]
    last = PlanStore(tmp_path).latest()
    assert last is not None
    assert hot not in split_keys(last)
    assert [why for why in reasons if why and "cooled down" in why]
    assert reasons[-3:] == [None] * 3  # and then there is nothing left to give back


def take_as_planned(loop: PlanLoop, folder: Path, batch: int, hot: dict[int, int]) -> str | None:
    """Let the loop see a micro-batch whose rows all went where its plan says; return why it plans.

    Each of 16 slots has 64 keys with a row each; ``hot`` keys have theirs besides.
    """
    plan: Plan = PlanStore(folder).latest() or loop.planner.first_plan
    ids = np.array([(slot << 28 | key) << 32 for slot in range(16) for key in range(64)], np.uint64)
    slot_loads = np.full(16, 64.0)
    slot_loads[0] += sum(hot.values())
    hot_ids = np.concatenate([np.array(list(hot), np.uint64), ids[::64]])
    hot_loads = np.concatenate([np.array(list(hot.values()), float), np.ones(16)])
    counts = EpochCounts(np.ones(4), slot_loads, hot_ids, hot_loads, keys=1024)
    loads = expected_loads(plan, counts).round()
    # Of which slot a worker has how much is not looked at: rows of slots and of workers are.
    places = {(worker, 0): 0 for worker in range(4)}
    left = slot_loads.copy()
    for worker, rows in enumerate(loads):
        for slot in range(16):
            taken = min(left[slot], rows - sum(places.get((worker, s), 0) for s in range(16)))
            places[worker, slot] = int(taken)
            left[slot] -= taken
    text = ",".join(f"{worker * 16 + slot}:{rows}" for (worker, slot), rows in places.items())
    pairs = zip(hot_ids.view(np.int64), hot_loads, strict=True)
    reported = ",".join(f"{one}:{int(rows)}" for one, rows in pairs)
    epoch = loop.take(Report("q", "r", batch, loop.version, places=text, hot=reported, keys=1024))
    assert epoch is not None
    return epoch.why
