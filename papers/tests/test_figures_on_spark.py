"""Every table and figure on Spark at smoke size, by the command: exact, and claims that hold.

Claims about speed are judged in runs at full size alone, see `smoke_cases`.
"""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from papers.tests.smoke_cases import columns_of, may_fail
from tests.cheap_settings import INTERPRETED, PLAIN_FILES

from unskew_papers.claims import Claim
from unskew_papers.engines import calibration
from unskew_papers.experiment import Experiment
from unskew_papers.registry import choose

_COUNTED = {"lambda", "stddev", "stddev_percent", "dist_cost", "counters"}
"""Columns that the clock has nothing to do with."""

Claims = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Claims]:
    """Run the command once for all figures, and return claims by figure."""
    folder = tmp_path_factory.mktemp("figures")
    calibration.keep(calibration.ON_RECORD, folder / "results")
    settings = [f"--conf={name}={value}" for name, value in (INTERPRETED | PLAIN_FILES).items()]
    env = {**os.environ, "PYSPARK_SUBMIT_ARGS": " ".join([*settings, "pyspark-shell"])}
    done = subprocess.run(
        [sys.executable, "-m", "unskew", "reproduce", "all", "--on", "spark", "--json"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)["experiments"]
    return {each["id"]: {claim["name"]: claim for claim in each["claims"]} for each in found}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("experiment", choose(["all"], "spark"), ids=lambda each: each.id)
def test_results_are_exact_and_claims_hold_but_for_those_that_are_explained(
    experiment: Experiment, figures: dict[str, Claims]
) -> None:
    claims = figures[experiment.id]
    assert figures[asks_whether_exact(experiment)]["exact"]["holds"]
    assert set(claims) == {claim.name for claim in experiment.claims}
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
    """What was measured for claims that fail and should not."""
    counted = {claim.name for claim in experiment.claims if is_counted(claim)}
    return {
        name: claim["measured"]
        for name, claim in claims.items()
        if not claim["holds"] and name in counted and name not in may_fail(experiment)
    }


def is_counted(claim: Claim) -> bool:
    """Whether a claim is judged by what was counted, and not by the clock."""
    return 0 < len(columns_of(claim)) == len(columns_of(claim) & _COUNTED)
