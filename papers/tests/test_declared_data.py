"""Declarations are sane: ids, texts, sizes and units of every experiment."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from unskew.errors import UnknownNameError
from unskew_papers.checks import All, AtLeast, AtMost, Below, Near, Within
from unskew_papers.claims import Reason
from unskew_papers.engines.calibration import ON_RECORD
from unskew_papers.experiment import RUNS_ON, SIZES, SPARK, Experiment
from unskew_papers.registry import SCHEMES, all_experiments, by_id, choose, experiments_of
from unskew_papers.report import shown

ROOT = Path(__file__).parents[2]
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
        for reason in claim.reason.parts if claim.reason else ():
            assert reason.text.endswith(".")
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


_PLAIN_NUMBER = re.compile(
    r"[+−-]?\d(?!.*(at least|at most|under|below|above|up to|within|growing|±|[<>]))"
)
"""A figure of a paper that begins with a number and names no limit."""


def _kinds_in(check: object) -> Iterator[type]:
    if isinstance(check, All):
        for each in check.checks:
            yield from _kinds_in(each)
    else:
        yield type(check)


@pytest.mark.parametrize(
    "experiment", [each for each in ALL if each.scheme != "own"], ids=lambda each: each.id
)
def test_a_published_number_has_a_band_on_both_sides(experiment: Experiment) -> None:
    """One side alone is asked only where the paper itself names a limit or an order."""
    one_sided = {
        claim.name: claim.paper
        for claim in experiment.claims
        if _PLAIN_NUMBER.match(claim.paper)
        and any(issubclass(kind, AtMost | AtLeast | Below) for kind in _kinds_in(claim.check))
        and not any(issubclass(kind, Near | Within) for kind in _kinds_in(claim.check))
    }
    assert one_sided == {}


LONGEST_GIST = 110
"""What the summary shows of a reason is read in a moment."""


def _reasons() -> dict[str, Reason]:
    claims = [claim for experiment in ALL for claim in experiment.claims]
    return {part.text: part for each in claims if each.reason for part in each.reason.parts}


@pytest.mark.parametrize("reason", _reasons().values(), ids=lambda each: each.text[:40])
def test_a_reason_has_a_short_gist_and_what_shows_it_exists(reason: Reason) -> None:
    assert len(reason.gist) <= LONGEST_GIST
    if reason.shown_by is None:
        return
    if reason.shown_by.startswith("unskew reproduce "):
        assert choose([reason.shown_by.split()[2]])
        return
    file, _, name = reason.shown_by.partition("::")
    assert f"def {name}(" in (ROOT / file).read_text()


@every_experiment
def test_the_document_says_what_is_declared(experiment: Experiment) -> None:
    """Who rewords a claim or a reason rewords docs/reproduction.md, or runs it again."""
    section = _section_of(f"{experiment.id} · {experiment.title}")
    assert experiment.data in section
    stated = _stated_reasons(experiment.scheme)
    rows = [line for line in section.splitlines() if line.startswith(("| ✓", "| ✗", "| ▲"))]
    assert len(rows) == len(experiment.claims)
    for row, claim in zip(rows, experiment.claims, strict=True):
        mark, says, paper, _ = re.split(r" (?<!\\)\| ", row.removeprefix("| "), maxsplit=3)
        assert paper == _cell(claim.paper)
        assert says.startswith(_cell(claim.says))
        named = [stated[number] for number in re.findall(r"\[(\d+)\]\(#", says)]
        expected = [] if mark == "✓" or claim.reason is None else claim.reason.parts
        assert named == [f"{each.text} *{shown(vars(each))}*" for each in expected]


def _section_of(title: str) -> str:
    page = (ROOT / "docs" / "reproduction.md").read_text()
    [section] = [
        each
        for each in re.split(r"(?=^### )", page, flags=re.MULTILINE)
        if each.startswith(f"### {title}\n")
    ]
    return section


def _stated_reasons(scheme: str) -> dict[str, str]:
    """The text of each reason of a paper by its number, where it has any."""
    page = (ROOT / "docs" / "reproduction.md").read_text()
    listed = re.findall(rf'^(\d+)\. <a id="{scheme}-reason-\1"></a>(.*)$', page, re.MULTILINE)
    return dict(listed)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
