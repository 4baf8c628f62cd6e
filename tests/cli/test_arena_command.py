"""``unskew compare --arena``: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest

from unskew.cli.main import main

SMALL = ["compare", "--arena", "--stream", "zipf:keys=500,rows=10k", "-w", "6"]
Capture = pytest.CaptureFixture[str]


def test_it_says_who_is_on_the_front_of_each_stream(capsys: Capture) -> None:
    main([*SMALL, "-g", "key", "-g", "shuffle", "-g", "single"])
    said = capsys.readouterr().out
    assert "On zipf:keys=500,exponent=1.2,rows=10000 the front is shuffle and key with" in said
    assert "single" in said


def test_json_has_a_bout_per_scheme_and_the_sentences(capsys: Capture) -> None:
    main([*SMALL, "-g", "key", "-g", "flow:excess=0.1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [each["grouping"] for each in found["bouts"]] == ["key", "flow:excess=0.1"]
    assert {each["workers"] for each in found["bouts"]} == {6}
    assert list(found["fronts"]) == ["zipf:keys=500,exponent=1.2,rows=10000"]


def test_the_page_has_a_drawing_with_the_names_of_the_front(
    tmp_path: Path, capsys: Capture
) -> None:
    page = tmp_path / "arena.html"
    main([*SMALL, "-g", "key", "-g", "shuffle", "--report", str(page)])
    text = page.read_text()
    assert text.count("<svg") == 1
    assert ">shuffle</text>" in text
    assert "http" not in text.replace("http-equiv", "")
    assert str(page) in capsys.readouterr().out


@pytest.mark.parametrize(
    "option", [["--sources", "3"], ["--learn", "0.1"], ["--epoch", "9"], ["--weighted"]]
)
def test_what_the_arena_sets_itself_is_refused(option: list[str], capsys: Capture) -> None:
    assert main([*SMALL, *option]) == 2
    assert f"{option[0]} must be left out with --arena" in capsys.readouterr().err
