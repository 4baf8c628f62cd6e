"""``unskew run`` as a user meets it: what is refused, what is printed, how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from unskew.cli.main import main
from unskew.events import read_events

UNSKEW = [sys.executable, "-m", "unskew", "run"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["wordcounts"], "unknown application 'wordcounts'; valid: wordcount"),
        (["wordcount", "-g", "partial"], "unknown grouping 'partial'"),
        (["wordcount", "-g", "optimal"], "--grouping must be one that fits wordcount"),
        (["wordcount", "-g", "key", "-g", "key"], "--grouping must be each given once"),
        (["wordcount", "--workers", "0"], "--workers must be an int in [1, 10000], got 0"),
        (["wordcount", "--delay", "-1"], "--delay must be a number >= 0, got -1.0"),
        (["wordcount", "--trigger", "0"], "--trigger must be a number > 0, got 0.0"),
        (["wordcount", "--max-batches", "0"], "--max-batches must be an int >= 1, got 0"),
        (["wordcount", "--source", "paper"], "--source must be built-in"),
        (["wordcount", "--source", "kafka:words@127.0.0.1:1"], "no Kafka broker answers at"),
        (["wordcount", "--sink", "parquet:/dev/null/out"], "--sink must be a folder that can be"),
        (["wordcount", "--port", "80"], "--host and --port must be left out without --ui, got 80"),
        (["wordcount", "--report", "/no/such/folder/r.html"], "in a directory that exists"),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one[1:]) or one[0],
)
def test_what_cannot_be_run_ends_with_code_2_and_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["run", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said in err


def test_a_checkpoint_of_another_application_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "auto").mkdir()
    marker = {"application": "vwap", "source": "built-in", "batch_rows": None}
    (tmp_path / "auto" / "unskew-run.json").write_text(json.dumps(marker))
    assert main(["run", "wordcount", "--checkpoint", str(tmp_path)]) == 2
    assert "is of application 'vwap'" in capsys.readouterr().err


def test_the_help_names_every_application(capsys: pytest.CaptureFixture[str]) -> None:
    from unskew.apps.registry import APPLICATIONS

    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in APPLICATIONS if name not in shown] == []


@pytest.mark.spark
@pytest.mark.slow
def test_ctrl_c_ends_after_the_running_micro_batch_with_all_that_was_measured(
    tmp_path: Path,
) -> None:
    record, report = tmp_path / "record", tmp_path / "out.html"
    command = [
        *UNSKEW, "wordcount", "--source", "rate:2000", "-g", "wrap", "--workers", "2",
        "--json", "--run-dir", str(record), "--report", str(report), "--ui", "--port", "0",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            deadline = time.monotonic() + 900
            while not (record / "events.jsonl").exists():
                assert time.monotonic() < deadline
                assert process.poll() is None
                time.sleep(0.1)
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes get it
            out, err = process.communicate(timeout=600)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert "http://127.0.0.1:" in err.decode()
    assert err.decode().endswith("unskew: stopped\n")
    printed = json.loads(out)
    assert (printed["application"], printed["source"]) == ("wordcount", "rate:2000")
    (result,) = printed["results"]
    events = read_events(record)
    assert result["batches"] == len(events)
    assert [event.rows for event in events] == [2000] * len(events)
    assert "Time of each micro-batch" in report.read_text()
