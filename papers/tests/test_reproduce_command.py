"""Output, files and exit codes of ``unskew reproduce``."""

import json
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from papers.tests.squares import Squares

from unskew.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.mark.usefixtures("squares")
def test_rows_and_claims_are_printed(tmp_path: Path, capsys: Capture) -> None:
    assert main(["reproduce", "999/fig1", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "1 of 3 claims hold, 1 overshoots (more than published), 1 fail;" in printed
    assert "✓ Squares grow." in printed
    assert "✗ Squares are small." in printed
    assert "▲ The largest is five." in printed
    assert "why: They are not. Nine is not. Argued, not shown." in printed


@pytest.mark.usefixtures("squares")
def test_json_is_one_object_with_rows_and_claims(tmp_path: Path, capsys: Capture) -> None:
    assert main(["reproduce", "999", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["experiments"]
    assert [each["id"] for each in found] == ["999/fig1", "999/fig2"]
    assert [row["square"] for row in found[0]["rows"]] == [0, 1, 4, 9]
    assert [claim["holds"] for claim in found[0]["claims"]] == [True, False, False]


@pytest.mark.usefixtures("squares")
def test_the_list_has_every_experiment(capsys: Capture) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["experiments"]
    assert [(each["id"], each["runs_on"]) for each in found] == [
        ("999/fig1", "simulation"),
        ("999/fig2", "simulation"),
    ]
    assert main(["reproduce", "--list"]) == 0
    assert "Squares again" in capsys.readouterr().out


@pytest.mark.usefixtures("squares")
def test_only_what_runs_on_an_engine_is_chosen(capsys: Capture) -> None:
    for engine, ids in (("simulation", ["999/fig1", "999/fig2"]), ("spark", [])):
        assert main(["reproduce", "--list", "--on", engine, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["experiments"]
        assert [each["id"] for each in found] == ids
    assert main(["reproduce", "all", "--on", "storm"]) == 2
    assert "'simulation', 'queues', 'spark'" in capsys.readouterr().err


@pytest.mark.usefixtures("squares")
def test_a_page_needs_no_run_and_no_network(tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "pages" / "index.html"
    main(["reproduce", "999/fig1", "--out", str(tmp_path)])
    assert main(["reproduce", "--out", str(tmp_path), "--report", str(page)]) == 0
    html = page.read_text()
    assert "default-src 'none'" in html
    assert html.count("data:image/svg+xml;base64,") == 1
    assert "They are not." in html
    assert '<span class="holds">✓</span>' in html
    assert '<span class="overshoots">▲</span>' in html
    assert '<span class="fails">✗</span>' in html
    assert html.count('<li id="999-reason-1">They are not. Nine is not. ') == 1
    assert html.count('<a href="#999-reason-1">1</a>') == 2


@pytest.mark.usefixtures("squares")
def test_claims_as_markdown_name_the_command_that_wrote_them(tmp_path: Path) -> None:
    page = tmp_path / "claims.md"
    arguments = ["reproduce", "999/fig1", "--out", str(tmp_path), "--report", str(page)]
    assert main(arguments) == 0
    text = page.read_text()
    assert f"`unskew {' '.join(arguments)}`" in text
    assert "| ✗ | Squares are small. *Reason [1](#999-reason-1).* | < 5 | 9 |" in text
    assert "| ▲ | The largest is five. *Reason [1](#999-reason-1).* | 5 | 9 |" in text
    assert text.count("Nine is not.") == 1
    assert "text or programs contradict: They are not (fig1)." in text


@pytest.mark.usefixtures("squares")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["999/fig3"], "unknown experiment '999/fig3'; valid: 999/fig2, 999/fig1"),
        (["998"], "valid: 999, all"),
        (["999/fig1", "--size", "huge"], "--size must be one of 'smoke', 'paper', got 'huge'"),
        (["999/fig1", "--jobs", "0"], "--jobs must be an int >= 1, got 0"),
        ([], "nothing to do. Hint: give an id"),
        (["--report", "page.txt"], "--report must be a .html or .md file, got 'page.txt'"),
        (["--report", "page.html", "--out", "nowhere"], "no results in nowhere"),
    ],
)
def test_bad_input_is_told_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_fresh_takes_away_rows_of_another_seed(
    squares: Squares, tmp_path: Path, capsys: Capture
) -> None:
    where = ["--out", str(tmp_path)]
    assert main(["reproduce", "999", *where, "--seed", "1"]) == 0
    assert main(["reproduce", "999", *where, "--seed", "2"]) == 2
    assert "--fresh" in capsys.readouterr().err
    assert main(["reproduce", "999", *where, "--seed", "2", "--fresh"]) == 0
    assert squares.asked == [0, 1, 2, 3] * 2


def test_ctrl_c_keeps_what_is_finished(squares: Squares, tmp_path: Path, capsys: Capture) -> None:
    squares.breaks_at = 3
    assert main(["reproduce", "999/fig1", "--out", str(tmp_path)]) == 130
    squares.breaks_at = None
    assert main(["reproduce", "999/fig1", "--out", str(tmp_path)]) == 0
    assert squares.asked == [0, 1, 2, 3]


@pytest.mark.slow
def test_processes_give_what_one_gives(tmp_path: Path, capsys: Capture) -> None:
    found = []
    for jobs in ("1", "2"):
        out = str(tmp_path / jobs)
        assert (
            main(["reproduce", "dynamic-key/table1", "--out", out, "--jobs", jobs, "--json"]) == 0
        )
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]


def test_what_simulates_beside_spark_comes_out_in_the_order_asked_for(
    squares: Squares, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on "Spark" runs here; the other one fails in a process that knows nothing of it."""
    on_spark = squares.experiment(id="999/fig3", runs_on="Spark")
    known = {"999/fig3": on_spark, "999/fig1": squares.experiment()}
    for module in ("registry", "running", "results"):
        monkeypatch.setattr(f"unskew_papers.{module}.all_experiments", lambda: known)
    where = ["--out", str(tmp_path), "--json"]
    assert main(["reproduce", "999/fig1", *where]) == 0  # its rows are there from now on
    capsys.readouterr()
    assert main(["reproduce", "all", "--jobs", "2", *where]) == 0
    found = json.loads(capsys.readouterr().out)["experiments"]
    assert [each["id"] for each in found] == ["999/fig3", "999/fig1"]
    with pytest.raises(KeyError, match="999/fig1"):
        main(["reproduce", "all", "--jobs", "2", "--fresh", *where])


def test_the_entry_point_names_the_command() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["unskew.commands"]["reproduce"].partition(":")
    assert callable(getattr(import_module(module), name))
