"""Every table and figure on Spark at smoke size, by the command: exact, and claims that hold."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from papers.tests.smoke_cases import may_fail
from tests.cheap_settings import INTERPRETED, PLAIN_FILES

from unskew_papers.engines import calibration
from unskew_papers.experiment import Experiment
from unskew_papers.registry import choose

_AT_FULL_SIZE_ONLY = {"as-queues", "sources-do-not-help"}
"""Claims about seconds, not for a test at smoke size: of 0.85 asked, 0.83 to 0.89 were seen, and of
no change, within 10 %, +33 % while other work kept the machine busy."""

Claims = dict[str, dict[str, Any]]
Reproduce = Callable[..., dict[str, Claims]]


@pytest.fixture(scope="module")
def reproduce(tmp_path_factory: pytest.TempPathFactory) -> Reproduce:
    """Return a function that runs the command in one folder and returns claims by figure."""
    folder = tmp_path_factory.mktemp("figures")
    calibration.keep(calibration.ON_RECORD, folder / "results")
    settings = [f"--conf={name}={value}" for name, value in (INTERPRETED | PLAIN_FILES).items()]
    env = {**os.environ, "PYSPARK_SUBMIT_ARGS": " ".join([*settings, "pyspark-shell"])}

    def run(*arguments: str) -> dict[str, Claims]:
        command = [sys.executable, "-m", "unskew", "reproduce", *arguments, "--on", "spark"]
        done = subprocess.run(
            [*command, "--json"], cwd=folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        found = json.loads(done.stdout)["experiments"]
        return {each["id"]: {claim["name"]: claim for claim in each["claims"]} for each in found}

    return run


@pytest.fixture(scope="module")
def figures(reproduce: Reproduce) -> dict[str, Claims]:
    """Run all of them once."""
    return reproduce("all")


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("experiment", choose(["all"], "spark"), ids=lambda each: each.id)
def test_results_are_exact_and_claims_hold_but_for_those_that_are_explained(
    experiment: Experiment, figures: dict[str, Claims], reproduce: Reproduce
) -> None:
    claims = figures[experiment.id]
    assert figures[asks_whether_exact(experiment)]["exact"]["holds"]
    for _ in range(2):  # something may hold a worker up, though not every time
        if unexpected(experiment, claims):
            claims = reproduce(experiment.id, "--fresh")[experiment.id]
    assert unexpected(experiment, claims) == {}


def asks_whether_exact(experiment: Experiment) -> str:
    """The figure, this one or another of the same rows, that claims that results are exact."""
    rows_of = experiment.rows_of or experiment.id
    return next(
        each.id
        for each in choose(["all"], "spark")
        if rows_of in (each.id, each.rows_of) and any(c.name == "exact" for c in each.claims)
    )


def unexpected(experiment: Experiment, claims: Claims) -> dict[str, str]:
    """What was measured for claims that fail and should not.

    That one holds which is explained away is no surprise: most are about times.
    """
    return {
        name: claim["measured"]
        for name, claim in claims.items()
        if not claim["holds"] and name not in {*may_fail(experiment), *_AT_FULL_SIZE_ONLY}
    }
