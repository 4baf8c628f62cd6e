"""A calibration is measured once for a results folder, and experiments are told of it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.tests.squares import Squares

from unskew_papers.engines import calibration
from unskew_papers.engines.calibration import ON_RECORD, Calibration, calibration_in
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
