"""Every table and figure that needs no engine, at smoke size: claims are as they are expected."""

from pathlib import Path

import pytest
from papers.tests.smoke_cases import simulated, unexpected

from unskew_papers.experiment import Experiment


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all, so that figures of the same rows measure them once."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("experiment", simulated())
def test_claims_hold_but_for_those_that_are_explained(experiment: Experiment, out: Path) -> None:
    assert unexpected(experiment, out) == {}
