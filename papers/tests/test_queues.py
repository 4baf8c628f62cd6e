"""Queues in place of an engine: what they are calibrated by, and laws of a closed loop of them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from papers.tests.squares import Squares

from unskew.groupings.dynamic_key import DynamicKey
from unskew.streams import from_keys
from unskew_papers.engines import calibration
from unskew_papers.engines.calibration import ON_RECORD, Calibration, calibration_in
from unskew_papers.engines.queues import Served, serve, serve_with_back_pressure
from unskew_papers.running import OtherRunError, reproduce

COSTS = Calibration("a machine", epoch=100.0, worker=10.0, row=0.01, merge=0.02, wait=0.5)


def test_it_is_measured_once_for_a_folder(tmp_path: Path) -> None:
    assert calibration_in(tmp_path, lambda: COSTS) == COSTS
    assert calibration_in(tmp_path, lambda: pytest.fail("measured twice")) == COSTS


def test_that_of_another_version_is_measured_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibration.keep(ON_RECORD, tmp_path)
    monkeypatch.setattr(calibration, "__version__", "99.9")
    assert calibration_in(tmp_path, lambda: COSTS) == COSTS


def test_results_say_by_what_they_were_calibrated(squares: Squares, tmp_path: Path) -> None:
    calibration.keep(COSTS, tmp_path)
    reproduce(squares.experiment(calibrated=True), "smoke", seed=0, out=tmp_path)
    summary = json.loads((tmp_path / "999/fig1/smoke/result.json").read_text())
    assert summary["parameters"] == {"upto": 4, "calibration": COSTS.fields()}


def test_rows_of_two_calibrations_are_not_mixed(
    squares: Squares, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calibrated = squares.experiment(calibrated=True)
    for module in ("running", "results"):
        monkeypatch.setattr(
            f"unskew_papers.{module}.all_experiments", lambda: {calibrated.id: calibrated}
        )
    calibration.keep(COSTS, tmp_path)
    reproduce(calibrated, "smoke", seed=0, out=tmp_path)
    calibration.keep(replace(COSTS, row=0.5), tmp_path)
    with pytest.raises(OtherRunError, match="parameters was"):
        reproduce(calibrated, "smoke", seed=0, out=tmp_path)


@given(st.integers(1, 10_000), st.floats(0, 10), st.integers(1, 64), st.integers(0, 1000))
def test_a_batch_takes_all_its_parts(rows: int, work: float, workers: int, merges: int) -> None:
    whole = COSTS.batch(rows, work, workers, merges, rows_per_wait=500)
    assert whole >= COSTS.epoch + rows * (work + COSTS.row) + merges * COSTS.merge
    assert whole > COSTS.batch(rows, work, workers - 1, merges, rows_per_wait=500)


def test_waits_are_too_long_once_for_all_rows_of_a_wait() -> None:
    assert COSTS.busy(1000, 1.0, rows_per_wait=500) == 1000 + 2 * 0.5
    assert COSTS.busy(1001, 1.0, rows_per_wait=500) == 1001 + 3 * 0.5


WORK, TRANSIT = 1.0, 2.0


def served_by(placed: list[int], workers: int, in_flight: int) -> Served:
    return serve(
        np.array(placed, np.int32),
        np.zeros(len(placed), np.int64),
        workers,
        milliseconds=WORK,
        in_flight=in_flight,
        transit_milliseconds=TRANSIT,
    )


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(1, 20))
def test_no_more_rows_than_allowed_are_under_way(workers: list[int], in_flight: int) -> None:
    served = served_by(workers, 4, in_flight)
    # Little's law: rows under way, on average over time, are throughput times latency.
    assert served.throughput * served.latency <= in_flight + 1e-9
    assert served.latency >= WORK + TRANSIT - 1e-9


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(1, 20))
def test_no_worker_does_more_than_it_can(workers: list[int], in_flight: int) -> None:
    served = served_by(workers, 4, in_flight)
    makespan = len(workers) / served.throughput
    assert makespan >= TRANSIT + WORK * np.bincount(workers).max() - 1e-9


def test_one_row_at_a_time_takes_its_own_time_alone() -> None:
    served = served_by([0, 1, 2] * 10, 3, 1)
    assert served.latency == pytest.approx(WORK + TRANSIT)
    assert served.throughput == pytest.approx(1 / (WORK + TRANSIT))


def test_counters_are_the_keys_that_a_worker_saw_in_a_period() -> None:
    # One worker, one row a time: row i is sent at 3i; periods of 30 ms have 10 rows of 5 keys.
    served = serve(
        np.zeros(31, np.int32),
        np.arange(31) % 5,
        1,
        milliseconds=WORK,
        in_flight=1,
        transit_milliseconds=TRANSIT,
        period=30.0,
    )
    assert served.counters == 5


def blocked_seconds(keys: list[int], workers: int, room: int) -> float:
    """Row after row: a row is sent when its worker has room and all before it were sent."""
    done: list[list[float]] = [[] for _ in range(workers)]
    now = 0.0
    for key in keys:
        own = done[key % workers]
        while sum(end > now for end in own) >= room:
            now = min(end for end in own if end > now)
        own.append(max([now, *own]) + WORK)
    return max(max(own, default=0.0) for own in done)


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 3), min_size=1, max_size=100), st.integers(1, 4), st.integers(1, 8))
def test_a_row_without_room_holds_up_all_after_it(keys: list[int], workers: int, room: int) -> None:
    served = serve_with_back_pressure(
        "modulo", workers, from_keys(np.array(keys)), seed=0, sources=3, room=room, row_seconds=WORK
    )
    assert served.seconds == blocked_seconds(keys, workers, room)
    assert served.loads.sum() == len(keys)


def test_counts_that_rows_carry_are_the_load_but_not_the_work() -> None:
    stream = from_keys(np.array([0, 0, 1]), costs=np.array([5.0, 5.0, 1.0]))
    served = serve_with_back_pressure(
        "modulo", 2, stream, seed=0, sources=1, room=10, row_seconds=WORK
    )
    assert served.loads.tolist() == [10.0, 1.0]
    assert served.seconds == 2 * WORK


def test_dynamic_key_has_the_time_of_the_queues() -> None:
    """One key on two workers of 1 s for a row: 120 rows in a minute, then a third worker."""
    stream = from_keys(np.zeros(2_000, np.int64))
    served = serve_with_back_pressure(
        "dynamic-key", 4, stream, seed=0, sources=1, room=1, row_seconds=1.0
    )
    minute = DynamicKey(4).route_many(np.zeros(2_000, np.int64), times=np.arange(2_000) / 2)
    assert len(set(minute[:119].tolist())) == 2
    assert served.replication == len(set(minute.tolist())) > 2
