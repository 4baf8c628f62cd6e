from pathlib import Path

import pytest
from tests.experiments.smoke_cases import simulated, unexpected

from unskew.experiments.spec import Experiment


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all, so that figures of the same rows measure them once."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.parametrize("experiment", simulated("001"))
def test_claims_hold_but_for_those_that_are_explained(experiment: Experiment, out: Path) -> None:
    assert unexpected(experiment, out) == {}
