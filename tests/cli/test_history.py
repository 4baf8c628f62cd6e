"""``unskew diagnose --history``: what people and programs see."""

import json
from pathlib import Path

import pytest
from tests.advisor.history.log_cases import completed, executor, job, started, task, write

from unskew.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    tasks = [task(3, 1000, end, rows) for end, rows in ((2000, 10), (2000, 10), (9000, 80))]
    return write(tmp_path / "logs" / "app-1", [started(), executor(3), *job(500), *tasks,
                                               completed(3, "[b]collect[/b]")])  # fmt: skip


def test_the_table_names_the_stage_what_it_lost_and_what_to_do(log: Path, capsys: Capture) -> None:
    assert main(["diagnose", "--history", str(log)]) == 0
    printed = capsys.readouterr().out
    # 8 s for the longest of 10 s of work on three slots: 8 - 10 / 3 = 4.7 s.
    for words in (
        "by hand",
        "3: [b]collect[/b]",
        "4.7 s",
        "8.0 s",
        "us.balance",
        "cookbook",
    ):
        assert words in printed


def test_json_is_one_object_also_for_a_folder(log: Path, capsys: Capture) -> None:
    assert main(["diagnose", "--history", str(log.parent), "--json", "--top", "1"]) == 0
    (stage,) = json.loads(capsys.readouterr().out)["stages"]
    assert stage["lost_seconds"] == pytest.approx(8 - 10 / 3)
    assert stage["cause"] == "rows"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--history", "nowhere"], "no such file"),
        (["--history", "LOG", "--top", "0"], "--top"),
        (["data.parquet", "--history", "LOG"], "left out where data are given"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    log: Path, capsys: Capture, arguments: list[str], message: str
) -> None:
    given = [str(log) if each == "LOG" else each for each in arguments]
    assert main(["diagnose", *given]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.splitlines()) == 1
