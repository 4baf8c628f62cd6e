"""Run an experiment at smoke size and say which of its claims fail without a reason."""

from pathlib import Path

import pytest

from unskew.experiments.registry import all_experiments
from unskew.experiments.running import reproduce
from unskew.experiments.spec import SPARK, Experiment


def simulated(paper: str) -> list[pytest.ParameterSet]:
    """The experiments of a paper that need no engine."""
    return [
        pytest.param(each, id=each.id, marks=pytest.mark.slow)
        for each in all_experiments().values()
        if each.paper == paper and each.runs_on != SPARK
    ]


def failed_without_reason(experiment: Experiment, out: Path) -> dict[str, str]:
    """What was measured for claims that fail though nothing explains why."""
    summary, _ = reproduce(experiment, "smoke", seed=0, out=out)
    return {
        claim["name"]: claim["measured"]
        for claim in summary["claims"]
        if not claim["holds"] and not claim["explanation"]
    }
