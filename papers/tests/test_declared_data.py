"""Declarations are sane: ids, texts, sizes and units of every experiment."""

import re
from collections import Counter
from pathlib import Path

import pytest

from unskew.errors import UnknownNameError
from unskew_papers.engines.calibration import ON_RECORD
from unskew_papers.experiment import RUNS_ON, SIZES, SPARK, Experiment
from unskew_papers.registry import SCHEMES, all_experiments, by_id, choose, experiments_of

ALL = list(all_experiments().values())
every_experiment = pytest.mark.parametrize("experiment", ALL, ids=lambda each: each.id)


def test_ids_are_unique_and_name_the_scheme() -> None:
    declared = {scheme: [each.id for each in experiments_of(scheme)] for scheme in SCHEMES}
    every = [each for of_scheme in declared.values() for each in of_scheme]
    assert max(Counter(every).values()) == 1
    assert every == [each.id for each in ALL]
    for scheme, of_scheme in declared.items():
        assert of_scheme == [each.id for each in choose([scheme])]


def test_an_id_that_two_experiments_have_is_refused() -> None:
    with pytest.raises(ValueError, match=f"two experiments have the id '{ALL[0].id}'"):
        by_id([*ALL, ALL[0]])


@every_experiment
def test_every_text_is_there(experiment: Experiment) -> None:
    assert experiment.title
    assert experiment.data
    assert experiment.claims
    assert set(experiment.seconds) == set(SIZES)
    for claim in experiment.claims:
        assert claim.name == claim.name.lower()
        assert claim.says.endswith(".")
        assert claim.paper
        assert claim.reason is None or claim.reason.text.endswith(".")
    names = [claim.name for claim in experiment.claims]
    assert len(names) == len(set(names))


@every_experiment
@pytest.mark.parametrize("size", SIZES)
def test_every_size_has_units_that_differ(experiment: Experiment, size: str) -> None:
    parameters = {**experiment.parameters(size)}
    if experiment.needs_calibration:
        parameters["calibration"] = ON_RECORD.fields()
    units = experiment.units(parameters)
    assert units
    assert len({str(sorted(unit.items(), key=str)) for unit in units}) == len(units)


@every_experiment
def test_an_engine_beside_another_is_named(experiment: Experiment) -> None:
    assert experiment.runs_on in RUNS_ON
    if experiment.id.endswith("-spark"):
        assert experiment.runs_on == SPARK
        assert all_experiments()[experiment.id.removesuffix("-spark")].runs_on != SPARK
    if experiment.rows_of is not None:
        owner = all_experiments()[experiment.rows_of]
        assert owner.rows_of is None
        assert owner.runs_on == experiment.runs_on
        assert owner.units is experiment.units


@pytest.mark.parametrize(
    ("number", "scheme"),
    [
        ("000", "distribution-aware"),
        ("001", "proactive-shuffle"),
        ("002", "popularity"),
        ("003", "partial-key"),
        ("004", "dynamic-key"),
    ],
)
def test_numbers_of_papers_are_still_understood(number: str, scheme: str) -> None:
    assert choose([number]) == choose([scheme])
    first = choose([scheme])[0]
    assert choose([f"{number}/{first.id.partition('/')[2]}"]) == [first]


def test_a_name_that_nothing_has_lists_what_is_near() -> None:
    with pytest.raises(UnknownNameError, match="partial-key/fig7"):
        choose(["partial-key/figure7"])


@every_experiment
def test_the_document_says_what_is_declared(experiment: Experiment) -> None:
    """Who rewords a claim or a reason rewords docs/reproduction.md, or runs it again."""
    section = _section_of(experiment.id)
    assert section.startswith(f"### {experiment.id} · {experiment.title}\n")
    assert experiment.data in section
    rows = [line for line in section.splitlines() if line.startswith(("| ✓", "| ✗"))]
    assert len(rows) == len(experiment.claims)
    for row, claim in zip(rows, experiment.claims, strict=True):
        mark, says, paper, _ = re.split(r" (?<!\\)\| ", row.removeprefix("| "), maxsplit=3)
        reason = f" *{claim.explanation}*" if mark == "✗" else ""
        assert (says, paper) == (_cell(claim.says + reason), _cell(claim.paper))


def _section_of(name: str) -> str:
    page = Path(__file__).parents[2] / "docs" / "reproduction.md"
    [section] = [
        each
        for each in re.split(r"(?=^### )", page.read_text(), flags=re.MULTILINE)
        if each.startswith(f"### {name} ·")
    ]
    return section


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
