"""Finished units are kept, and only rows of the same run are mixed."""

import csv
import json
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest
from papers.tests.squares import Squares

import unskew_papers
from unskew.errors import UnskewError
from unskew_papers import running
from unskew_papers.registry import choose
from unskew_papers.running import OtherRunError, reproduce

FOLDER = Path("999") / "fig1" / "smoke"


def run(squares: Squares, out: Path, seed: int = 0) -> None:
    reproduce(choose(["999/fig1"])[0], "smoke", seed=seed, out=out)


def test_a_second_run_does_nothing_again(squares: Squares, tmp_path: Path) -> None:
    run(squares, tmp_path)
    run(squares, tmp_path)
    assert squares.asked == [0, 1, 2, 3]


def test_a_run_that_was_stopped_goes_on_where_it_was(squares: Squares, tmp_path: Path) -> None:
    squares.breaks_at = 2
    with pytest.raises(KeyboardInterrupt):
        run(squares, tmp_path)
    assert squares.asked == [0, 1]
    squares.breaks_at = None
    run(squares, tmp_path)
    assert squares.asked == [0, 1, 2, 3]
    with (tmp_path / FOLDER / "rows.csv").open() as file:
        assert [row["square"] for row in csv.DictReader(file)] == ["0", "1", "4", "9"]


@pytest.mark.usefixtures("squares")
def test_a_process_that_is_killed_is_told_in_words(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(BrokenProcessPool):
            pool.submit(signal.raise_signal, signal.SIGTERM).result()
        with pytest.raises(UnskewError, match=r"ended from outside.* what is finished is kept"):
            reproduce(choose(["999/fig1"])[0], "smoke", seed=0, out=tmp_path, pool=pool)


def test_a_line_that_was_cut_off_does_not_count(squares: Squares, tmp_path: Path) -> None:
    run(squares, tmp_path)
    kept = tmp_path / FOLDER / "units.jsonl"
    whole = kept.read_text()
    kept.write_text(whole[:-10])
    run(squares, tmp_path)
    assert squares.asked == [0, 1, 2, 3, 3]
    assert kept.read_text() == whole


@pytest.mark.parametrize("cut", [0, 5], ids=["an empty file", "a file with part of its first line"])
def test_a_file_that_has_not_even_its_first_line_is_begun_again(
    squares: Squares, tmp_path: Path, cut: int
) -> None:
    run(squares, tmp_path)
    kept = tmp_path / FOLDER / "units.jsonl"
    whole = kept.read_text()
    kept.write_text(whole[:cut])
    run(squares, tmp_path)
    assert kept.read_text() == whole


@pytest.mark.parametrize(
    ("name", "module"), [("unskew", running), ("unskew-papers", unskew_papers)]
)
def test_rows_of_another_version_are_not_mixed(
    squares: Squares,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    module: ModuleType,
) -> None:
    run(squares, tmp_path)
    monkeypatch.setattr(module, "__version__", "99.9")
    with pytest.raises(OtherRunError, match=rf"{name} was '.*', is now '99.9'.*--fresh"):
        run(squares, tmp_path)


def test_rows_of_another_seed_are_not_mixed(squares: Squares, tmp_path: Path) -> None:
    run(squares, tmp_path, seed=1)
    with pytest.raises(OtherRunError, match="seed was 1, is now 2"):
        run(squares, tmp_path, seed=2)


def test_sizes_lie_side_by_side(squares: Squares, tmp_path: Path) -> None:
    for size in ("smoke", "paper"):
        reproduce(choose(["999/fig1"])[0], size, seed=0, out=tmp_path)
    assert squares.asked == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5]


def test_two_views_of_the_same_rows_measure_them_once(squares: Squares, tmp_path: Path) -> None:
    for each in choose(["999"]):
        reproduce(each, "smoke", seed=0, out=tmp_path)
    assert squares.asked == [0, 1, 2, 3]
    first, second = (tmp_path / "999" / name / "smoke/rows.csv" for name in ("fig1", "fig2"))
    assert first.read_text() == second.read_text()


def test_many_at_a_time_give_the_same_files(squares: Squares, tmp_path: Path) -> None:
    run(squares, tmp_path / "one")
    with ThreadPoolExecutor(3) as pool:
        experiment = choose(["999/fig1"])[0]
        reproduce(experiment, "smoke", seed=0, out=tmp_path / "many", pool=pool)
    for file in ("rows.csv", "result.json"):
        one, many = ((tmp_path / name / FOLDER / file).read_bytes() for name in ("one", "many"))
        assert one == many


def test_files_say_what_was_run_and_what_came_out(squares: Squares, tmp_path: Path) -> None:
    run(squares, tmp_path, seed=3)
    summary = json.loads((tmp_path / FOLDER / "result.json").read_text())
    assert (summary["size"], summary["seed"]) == ("smoke", 3)
    assert summary["parameters"] == {"upto": 4}
    assert {"unskew", "python", "numpy"} <= set(summary["versions"])
    holds = {c["name"]: (c["holds"], c["overshoots"]) for c in summary["claims"]}
    assert holds == {"grows": (True, False), "small": (False, False), "five": (False, True)}
    explained = {claim["name"]: claim["reasons"] for claim in summary["claims"]}
    reason = {
        "text": "They are not. Nine is not.",
        "gist": "They are not.",
        "kind": "text",
        "shown_by": None,
    }
    assert explained == {"grows": [], "small": [reason], "five": [reason]}


def test_the_figure_is_an_svg_with_the_titles_of_its_axes(squares: Squares, tmp_path: Path) -> None:
    run(squares, tmp_path)
    figure = (tmp_path / FOLDER / "figure.svg").read_text()
    assert ET.fromstring(figure).tag.endswith("svg")  # noqa: S314 (our own file)
    assert ">n²<" in figure
    assert "squares" in figure


def test_equal_rows_give_equal_files(squares: Squares, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(squares, tmp_path / name)
    for file in ("rows.csv", "figure.svg", "result.json"):
        one, other = ((tmp_path / name / FOLDER / file).read_bytes() for name in ("a", "b"))
        assert one == other
