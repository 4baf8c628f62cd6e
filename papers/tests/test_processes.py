"""Processes of ``--jobs``: none of them outlives the command."""

import os
import subprocess
import sys
import time

from unskew_papers.processes import processes


def test_one_job_takes_no_process() -> None:
    with processes(1) as pool:
        assert pool is None


def is_there(pid: int) -> bool:
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(command, capture_output=True, check=False).stdout.strip()
    return state != b"" and not state.startswith(b"Z")


def test_a_command_that_is_killed_leaves_no_process_behind() -> None:
    program = """
from papers.tests.test_processes import say_and_go_on
from unskew_papers.processes import processes
if __name__ == "__main__":
    with processes(2) as pool:
        list(pool.map(say_and_go_on, [600] * 2))
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        children = [int(parent.stdout.readline()) for _ in range(2)]
        assert all(map(is_there, children))
        parent.kill()
    until = time.monotonic() + 30
    while any(map(is_there, children)):
        assert time.monotonic() < until
        time.sleep(0.05)


def say_and_go_on(seconds: float) -> None:
    print(os.getpid(), flush=True)
    time.sleep(seconds)
