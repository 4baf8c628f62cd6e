"""The driver's loop of a stream that is weighed by its costs, without Spark."""

import logging
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.spark.measured_cases import stats_of, times_of

from unskew.errors import InvalidParameterError
from unskew.events import read_epochs
from unskew.groupings.partial_key import PartialKey
from unskew.groupings.plan import HASHED_MEMBER, hashing_plan
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.metrics import imbalance_percent
from unskew.scheduling import sums_of
from unskew.spark.costs.streams import CostLoop, control_target
from unskew.spark.plans.saved import PlanStore
from unskew.spark.stream.loop import Report
from unskew.spark.stream.weighing import WeighingLoop
from unskew.spark.worker.cost_messages import NO_VERSION, matrices_of
from unskew.spark.worker.row_costs import N_SLOTS, as_line

WORKERS, KEYS, ROWS = 4, 400, 4000
SLOW, TIMES = 8, 20.0
FILES = ["costs-a.txt", "costs-b.txt"]


def loop_in(folder: Path, target: str = "these keys") -> WeighingLoop:
    return WeighingLoop("group_by", folder, target, WORKERS)


def micro_batch(
    loop: WeighingLoop, number: int, *, slow: int = 0, n_keys: int = KEYS
) -> tuple[Report, NDArray[np.float64]]:
    """Return what a micro-batch reports whose tasks find what is in force, and its true work."""
    ids = np.random.default_rng(99).integers(0, 1 << 63, KEYS, np.uint64) * np.uint64(2)
    key = np.random.default_rng(number).permutation(np.arange(ROWS) % KEYS)
    costs = np.where((key >= slow) & (key < slow + SLOW), TIMES, 1.0)
    known = loop.source.read()
    weights = None if known is None else known.row_weights().weights(ids[key])
    workers = PartialKey(WORKERS).route_many(ids[key], weights=weights)
    told = []
    for worker in range(WORKERS):
        here = workers == worker
        times = times_of(ids[key[here]], costs[here], n_slots=N_SLOTS, n_keys=n_keys)
        told.append((int(here.sum()), times))
    version = NO_VERSION if known is None else known.version
    report = Report("query", "run", number, version, stats_of(told))
    return report, sums_of(costs, workers, WORKERS)


# In percent, as for a batch whose costs are known. Where but few keys are told apart, the slow ones
# are among them: the most that others can weigh wrong is what the mean of their slot is off.
@pytest.mark.parametrize("n_keys", [KEYS, 2 * SLOW])
def test_after_one_micro_batch_work_is_even_where_rows_were(tmp_path: Path, n_keys: int) -> None:
    loop = loop_in(tmp_path)
    work = []
    for number in range(3):
        report, done = micro_batch(loop, number, n_keys=n_keys)
        epoch = loop.take(report)
        work.append(imbalance_percent(done))
        assert epoch is not None
        assert epoch.imbalance == pytest.approx(work[-1], abs=1e-3)
        assert (epoch.version, epoch.rows, sum(epoch.loads)) == (number, ROWS, ROWS)
        assert (epoch.imbalance_of, epoch.busy_seconds) == ("busy_seconds", (1.0,) * WORKERS)
        assert (epoch.next_version, epoch.split_keys) == (None, None)
    assert imbalance_percent(read_epochs(tmp_path)[0].loads) < 1
    assert max(work[1:]) <= 3 < work[0] / 2


def test_other_keys_that_become_slow_are_followed(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    for number in range(3):
        loop.take(micro_batch(loop, number)[0])
    found = []
    # What was learned before counts half as much with each micro-batch: 20 s count for 0.1 s more
    # after eight.
    for number in range(3, 12):
        report, work = micro_batch(loop, number, slow=100)
        found.append(imbalance_percent(work))
        loop.take(report)
    assert found[-1] <= 3 < found[0] / 2


def test_a_loop_that_is_started_again_goes_on_with_what_was_learned(tmp_path: Path) -> None:
    first = loop_in(tmp_path)
    for number in range(2):
        first.take(micro_batch(first, number)[0])
    again = loop_in(tmp_path)
    report, work = micro_batch(again, 2)
    assert report.version == 2
    assert imbalance_percent(work) <= 3
    first.take(report)
    expected = first.source.read()
    again.take(report)
    known = again.source.read()
    assert expected is not None
    assert known is not None
    assert as_line(known) == as_line(expected)


@pytest.mark.parametrize("damage", ["garbage", "gone", "one"])
def test_damaged_files_are_named_once_and_written_anew_with_what_is_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    loop = loop_in(tmp_path)
    loop.take(micro_batch(loop, 0)[0])
    hurt = FILES[: 1 if damage == "one" else 2]
    for name in hurt:
        (tmp_path / name).write_text("garbage")
        if damage == "gone":
            (tmp_path / name).unlink()
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        for number in (1, 2):
            loop.take(micro_batch(loop, number)[0])
    epochs = read_epochs(tmp_path)
    assert [sorted(epoch.damaged) for epoch in epochs] == [[], hurt, []]
    assert (epochs[1].version == NO_VERSION) == (damage != "one")
    assert epochs[2].version == 2
    assert [record.getMessage().split()[0] for record in caplog.records] == hurt


def test_it_is_said_once_that_tasks_do_not_see_the_folder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loop = loop_in(tmp_path)
    report, _ = micro_batch(loop, 0)
    with caplog.at_level(logging.WARNING, "unskew.spark"):
        for _ in range(2):
            loop.take(report._replace(version=NO_VERSION))
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "All rows weighed the same"
    ]


def test_micro_batches_without_rows_are_passed_over(tmp_path: Path) -> None:
    loop = loop_in(tmp_path)
    before = (tmp_path / FILES[1]).read_text()
    assert loop.take(Report("query", "run", 0, 0, "[]")) is None
    assert read_epochs(tmp_path) == []
    assert (tmp_path / FILES[1]).read_text() == before


def test_what_another_query_has_learned_is_refused(tmp_path: Path) -> None:
    loop_in(tmp_path)
    with pytest.raises(InvalidParameterError, match="plan_path must be the folder of a query with"):
        loop_in(tmp_path, "other keys")
    matrices = matrices_of(ProactiveShuffle(WORKERS))
    target = control_target(("user",), ("string",), WORKERS, matrices)
    with pytest.raises(InvalidParameterError, match="got 'these keys'"):
        CostLoop("map_rows", tmp_path, target, WORKERS, matrices)
    PlanStore(tmp_path / "plans").save(hashing_plan(4, HASHED_MEMBER, 64), by="user")
    with pytest.raises(InvalidParameterError, match="one with plans"):
        loop_in(tmp_path / "plans")
