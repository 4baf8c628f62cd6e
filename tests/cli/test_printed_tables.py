"""What people read: tables, help texts, the version."""

import re
from pathlib import Path

import pytest

import unskew
from unskew.cli import _terminal
from unskew.cli.main import app, main
from unskew.groupings.registry import GROUPINGS
from unskew.streams import STREAMS

STREAM = "zipf:keys=500,exponent=1.2,rows=10000"
Capture = pytest.CaptureFixture[str]


def output_of(capsys: Capture, *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_table_has_a_row_for_each_grouping_as_the_user_called_it(capsys: Capture) -> None:
    text = output_of(capsys, "compare", "-g", "key", "-g", "partial-key:choices=3",
                     "-g", "wrap", "--stream", STREAM)  # fmt: skip
    rows = [line.split()[0] for line in text.splitlines() if line.startswith(" ") and line.strip()]
    assert [row for row in rows if row in ("key", "partial-key:choices=3", "wrap")] == [
        "key", "partial-key:choices=3", "wrap",
    ]  # fmt: skip
    assert "measured on the last 80 %" in text
    for title in ("λ %", "avg I/m", "σ", "replication", "memory", "rows/s"):
        assert f"{title}: " in text


def test_completion_times_are_shown_for_streams_with_costs_alone(capsys: Capture) -> None:
    costly = "zipf:keys=50,rows=2000,costs=4"
    assert "p99 ms" in output_of(capsys, "simulate", "-g", "key", "--stream", costly)
    assert "p99 ms" not in output_of(capsys, "simulate", "-g", "key", "--stream", STREAM)


def test_groupings_and_streams_are_listed_by_name(capsys: Capture) -> None:
    text = output_of(capsys, "groupings")
    assert all(f" {name} " in text for name in GROUPINGS)
    assert "choices=2" in text
    text = output_of(capsys, "streams")
    assert all(f" {name} " in text for name in STREAMS)
    assert "exponent=1.2" in text


def test_version_is_the_version_of_the_package(capsys: Capture) -> None:
    assert output_of(capsys, "--version") == f"unskew {unskew.__version__}\n"


def test_no_command_prints_the_help(capsys: Capture) -> None:
    text = output_of(capsys)
    assert all(name in text for name in ("groupings", "streams", "simulate", "compare"))


@pytest.mark.parametrize("command", ["simulate", "compare", "groupings", "streams"])
def test_every_option_has_a_help_text_with_its_default(command: str) -> None:
    from typer.main import get_command

    for option in get_command(app).commands[command].params:  # type: ignore[attr-defined] # of a group
        told = option.show_default and option.default is not None
        assert option.help, option.name
        assert told or "Default:" in option.help, option.name


def test_flags_are_shown_as_flags(capsys: Capture) -> None:
    for command in (["--help"], ["simulate", "--help"], ["reproduce", "--help"]):
        text = output_of(capsys, *command)
        assert "--help" in text
        assert "<bool>" not in text


def test_shells_complete_commands(capsys: Capture) -> None:
    assert "--install-completion" in output_of(capsys, "--help")


LOGS = Path(__file__).parents[1] / "advisor" / "truth" / "logs"
COMMANDS = {
    "compare": ["compare", "--stream", STREAM, "-w", "64"],
    "compare costs": ["compare", "--stream", "zipf:keys=50,rows=2000,costs=4"],
    "diagnose": ["diagnose", STREAM, "-w", "64", "--cost-per-row", "1.5"],
    "history": ["diagnose", "--history", str(LOGS / "a-join-with-a-hot-key.zst")],
    "groupings": ["groupings"],
    "streams": ["streams"],
    "reproduce": ["reproduce", "--list"],
}


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_number_is_cut_on_a_narrow_terminal(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, command: str, width: int
) -> None:
    monkeypatch.setattr(_terminal, "_WIDTH_OF_FILES", width)
    text = output_of(capsys, *COMMANDS[command])
    assert not re.search(r"\w…", text)
    too_long = [line for line in text.splitlines() if len(line) > width]
    assert all(line.startswith("    ") for line in too_long), "only code is not wrapped"
    tables = [line for line in text.splitlines() if set(line.strip()) == {"─"}]
    assert tables
    if command == "compare" and width == 60:
        assert "too wide to show: σ" in text
    if width == 200:
        assert "too wide to show" not in text


CELLS = {"λ %": ["1,430", "0.000612"], "σ": ["107,000", "0"], "memory": ["25,275,000", "7"]}


@pytest.mark.parametrize("width", range(14, 70))
def test_a_column_of_numbers_is_whole_or_named_as_left_out(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(_terminal, "_WIDTH_OF_FILES", width)
    table = _terminal.FittingTable(least=["σ"])
    table.add_column("grouping")
    for title in CELLS:
        table.add_number(title)
    table.add_column("what to know of it")
    for at, name in enumerate(("distribution-aware", "key")):
        table.add_row(name, *(cells[at] for cells in CELLS.values()), "keeps keys whole")
    _terminal.console().print(table)
    shown, _, left_out = " ".join(capsys.readouterr().out.split()).partition("too wide to show:")
    for title, cells in CELLS.items():
        assert (title in left_out) is not all(cell in shown.split() for cell in cells)
    assert "σ" in left_out or not left_out  # which goes first
