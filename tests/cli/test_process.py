"""The command as the shell sees it: pipes, signals, what is loaded."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

UNSKEW = [sys.executable, "-m", "unskew"]
SMALL = ["--stream", "zipf:keys=100,rows=2000"]


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [*UNSKEW, *arguments],
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


def test_json_is_all_that_stdout_gets() -> None:
    done = run("simulate", "-g", "key", *SMALL, "--json")
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1
    assert json.loads(done.stdout)["rows"] == 2_000


def test_a_bad_name_ends_with_code_2_and_one_line() -> None:
    done = run("simulate", "-g", "no-such", *SMALL)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("more", [["--json"], []], ids=["json", "table"])
def test_a_reader_that_goes_away_is_no_drama(more: list[str]) -> None:
    with subprocess.Popen(
        [*UNSKEW, "simulate", "-g", "key", "-w", "20000", *SMALL, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        assert process.wait(timeout=60) in (0, 1, 141)
    assert said == b""


def test_an_interrupt_stops_with_code_130_one_word_and_no_report(tmp_path: Path) -> None:
    report = tmp_path / "out.html"
    with subprocess.Popen(
        [*UNSKEW, "simulate", "-g", "key", "--stream", "zipf:keys=1000,rows=100G",
         "--report", str(report)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out, said) == (b"", b"unskew: stopped\n")
    assert list(tmp_path.iterdir()) == []


def test_closed_output_is_no_error() -> None:
    command = [*UNSKEW, "simulate", "-g", "key", *SMALL]
    script = "import os, sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])"
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-c", script, *command, *more], capture_output=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_is_told_in_one_line() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*UNSKEW, "simulate", "-g", "key", *SMALL, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(b"unskew: ")
    assert done.stderr.count(b"\n") == 1


def test_a_terminal_without_greek_letters_still_gets_its_table() -> None:
    done = run("simulate", "-g", "key", *SMALL, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"replication" in done.stdout


def test_help_loads_no_compiler_and_no_plots() -> None:
    script = (
        "import sys, unskew\n"
        "before = set(sys.modules)\n"
        "from unskew.cli.main import main\n"
        "for arguments in (['--help'], ['groupings', '--help'], ['compare', '--help']):\n"
        "    assert main(arguments) == 0\n"
        "loaded = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(loaded & {'numba', 'numpy', 'pyarrow', 'plotly', 'llvmlite'}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"set()\n")


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 2.0])
def test_an_interrupt_while_spark_starts_leaves_no_java_behind(seconds: float) -> None:
    """``seconds`` after Java was started: before, and after, it answers."""
    command = [*UNSKEW, "run", "wordcount", "--workers", "2", "--max-batches", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, start_new_session=True, **pipes)  # type: ignore[call-overload]
    until = time.monotonic() + 60
    while not any("java" in name for name in running(process.pid)):
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    # Whoever is left behind keeps stderr open, so that this would not end.
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err.decode()
    until = time.monotonic() + 20  # it ends with the pipe that its parent has closed
    while running(process.pid):
        assert time.monotonic() < until
        time.sleep(0.05)


def running(session: int) -> list[str]:
    """Names of the processes of a session."""
    listed = subprocess.run(
        ["/bin/ps", "-eo", "sid=,comm="], capture_output=True, text=True, check=True
    )
    lines = (line.split(None, 1) for line in listed.stdout.splitlines())
    return [name for sid, name in lines if int(sid) == session]
