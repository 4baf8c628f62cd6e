"""Run an experiment at smoke size and say which of its claims are not as they are expected.

Claims about speed are measured here, and judged in runs at full size alone: what a machine does in
a second depends on what else it does.
"""

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from unskew_papers.claims import Claim
from unskew_papers.engines import calibration
from unskew_papers.experiment import SPARK, Experiment
from unskew_papers.registry import all_experiments
from unskew_papers.running import reproduce

_BY_THE_CLOCK = {"nanoseconds", "million_rows_a_second"}
"""Columns of simulations that are measured by the clock; their other times are those of queues."""

_RED_AT_FULL_SIZE_ONLY = {
    "distribution-aware/fig4": {"never-better"},
    "distribution-aware/fig7": {"mean-and-worst-meet"},
    "distribution-aware/fig8": {"nothing-left-to-gain"},
    "proactive-shuffle/fig11": {"diverges"},
    "popularity/fig20": {"than-dkg"},
    "popularity/fig23": {"than-dkg"},
    "popularity/fig25": {"than-pkg"},
    "own/wrap-even": {"one-percent-as-many", "three-percent-as-many"},
    "own/flow": {"changing-copies", "memory"},
    "own/diagnose": {"imbalance", "replication-sampled", "time-sampled"},
}
"""Claims that hold at smoke size, and of which it is said why they do not with more rows."""


def simulated() -> list[pytest.ParameterSet]:
    """The experiments that need no engine."""
    return [
        pytest.param(each, id=each.id, marks=pytest.mark.slow)
        for each in all_experiments().values()
        if each.runs_on != SPARK
    ]


def may_fail(experiment: Experiment) -> set[str]:
    """Names of the claims of which it is said why they do not hold at smoke size."""
    explained = {claim.name for claim in experiment.claims if claim.reason}
    return explained - _RED_AT_FULL_SIZE_ONLY.get(experiment.id, set())


def unexpected(experiment: Experiment, out: Path) -> dict[str, str]:
    """What was measured for claims that fail unexplained, or hold though it is said why not.

    Queues are calibrated by what is on record, so that the answers are the same on every machine.
    """
    calibration.keep(calibration.ON_RECORD, out)
    summary, _ = reproduce(experiment, "smoke", seed=0, out=out)
    explained = may_fail(experiment)
    timed = {claim.name for claim in experiment.claims if columns_of(claim) & _BY_THE_CLOCK}
    return {
        judged["name"]: judged["measured"]
        for judged in summary["claims"]
        if judged["holds"] == (judged["name"] in explained) and judged["name"] not in timed
    }


def columns_of(claim: Claim) -> set[str]:
    """Return the columns of the results that a claim is judged by."""
    found: set[str] = set()
    parts: list[object] = [claim.check]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, tuple | list):
            parts += part
        elif is_dataclass(part) and not isinstance(part, type):
            for field in fields(part):
                value = getattr(part, field.name)
                if field.name in ("column", "what") and isinstance(value, str):
                    found.add(value)
                else:
                    parts.append(value)
    return found
