"""Commands of other packages: found by an entry point, loaded only where they are asked for."""

from pathlib import Path

import pytest

from unskew.cli import _plugins
from unskew.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package with two commands, one of which cannot be imported."""
    info = tmp_path / "greetings-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greetings\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[unskew.commands]\ngreet = greetings_of_a_plugin:greet\nbroken = no_such_module:command\n"
        "groupings = greetings_of_a_plugin:greet\n"
    )
    (tmp_path / "greetings_of_a_plugin.py").write_text(
        "def greet(name: str, loud: bool = False) -> None:\n"
        "    'Say hello to somebody.'\n"
        "    print(f'HELLO {name}' if loud else f'hello {name}')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("install")
def test_a_command_of_a_plugin_runs_as_our_own_do(capsys: Capture) -> None:
    assert main(["greet", "Ada", "--loud"]) == 0
    assert capsys.readouterr().out == "HELLO Ada\n"
    assert main(["greet"]) == 2
    assert "Missing argument" in capsys.readouterr().err


@pytest.mark.usefixtures("install")
def test_the_help_lists_it_behind_our_own_and_a_broken_one_does_no_harm(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert "Say hello to somebody." in printed
    assert printed.index("simulate") < printed.index("greet")
    assert "cannot be loaded" in " ".join(printed.split())


@pytest.mark.usefixtures("install")
@pytest.mark.parametrize("arguments", [[], ["--help"], ["what", "--ever", "3"]])
def test_a_plugin_that_cannot_be_loaded_says_so_in_one_line(
    arguments: list[str], capsys: Capture
) -> None:
    assert main(["broken", *arguments]) == 2
    said = capsys.readouterr().err
    assert "broken: the plug-in no_such_module:command cannot be loaded" in said
    assert "ModuleNotFoundError: No module named 'no_such_module'" in said
    assert "Hint: reinstall or remove greetings" in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("install")
def test_no_plugin_takes_the_place_of_our_own_commands(capsys: Capture) -> None:
    assert main(["groupings"]) == 0
    assert "partial-key" in capsys.readouterr().out


def test_reproduce_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(_plugins, "entry_points", lambda **_: [])
    assert main(["reproduce", "all", "--size", "paper"]) == 2
    said = capsys.readouterr().err
    assert said == "unskew: reproduce: needs unskew-papers. Hint: pip install unskew-papers\n"


def test_our_own_commands_look_for_no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_plugins, "entry_points", lambda **_: pytest.fail("looked for plug-ins"))
    assert main(["groupings", "--json"]) == 0
    assert main(["simulate", "-g", "key", "--stream", "zipf:keys=10,rows=100", "--json"]) == 0
