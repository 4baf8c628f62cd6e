"""``unskew dashboard`` as a shell sees it."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.cli.test_errors import Capture, complaint
from tests.dashboard.dashboard_cases import event

from unskew.dashboard.serving import open_socket
from unskew.events import EVENTS_FILE, append_epoch, line_of

DASHBOARD = [sys.executable, "-m", "unskew", "dashboard", "--no-browser", "--port", "0"]


def start(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*DASHBOARD, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_run_is_replayed_until_ctrl_c_which_frees_the_port(tmp_path: Path) -> None:
    append_epoch(tmp_path, event("wrap", 4))
    with start(str(tmp_path)) as process:
        url = first_line(process)
        with urlopen(url + "api/state", timeout=10) as answer:  # noqa: S310 (our own server)
            state = json.load(answer)
        assert state["groupings"][0]["frames"][0]["batch"] == 4
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
        assert process.returncode == 0
    assert said.splitlines()[-1] == "closed"
    with open_socket("127.0.0.1", int(url.rstrip("/").rpartition(":")[2])):
        pass


def test_the_demo_needs_no_spark_and_is_soon_alive() -> None:
    with start("--demo") as process:
        url = first_line(process)
        with urlopen(url + "api/events", timeout=60) as answer:  # noqa: S310 (our own server)
            while not answer.readline().startswith(b"event: update"):
                pass
            assert json.loads(answer.readline().removeprefix(b"data: "))["frame"]["rows"] > 0
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["RUN_DIR", "--demo", "neither"]),
        (["somewhere", "--demo"], ["RUN_DIR", "both"]),
        (["no/such/folder"], ["no/such/folder", "no such folder", "Hint"]),
        (["--demo", "--port", "70000"], ["port", "65535", "70000"]),
        (["--demo", "--port", "x"], ["--port"]),
        (["--demo", "--host", "no.such.host.invalid"], ["host", "no.such.host.invalid"]),
    ],
)
def test_bad_input_is_one_line_that_helps(
    capsys: Capture, arguments: list[str], words: list[str]
) -> None:
    said = complaint(capsys, "dashboard", *arguments)
    assert all(word in said for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["events.jsonl"]),
        ("", ["no micro-batch"]),
        (line_of(event())[:40], ["no micro-batch"]),
        ("garbage\n", ["1 damaged"]),
        (line_of(event()).replace('"schema": 1', '"schema": 7') + "\n", ["schema 7", "upgrade"]),
    ],
    ids=["no record", "empty", "cut off", "damaged", "newer"],
)
def test_a_run_directory_that_cannot_be_shown_is_refused(
    capsys: Capture, tmp_path: Path, text: str | None, words: list[str]
) -> None:
    if text is not None:
        (tmp_path / EVENTS_FILE).write_text(text)
    said = complaint(capsys, "dashboard", str(tmp_path))
    assert all(word in said for word in words)


def test_a_busy_port_that_was_asked_for_is_named(capsys: Capture) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        said = complaint(capsys, "dashboard", "--demo", "--port", port)
    assert port in said
    assert "busy" in said
