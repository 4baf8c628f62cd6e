"""The driver is killed between a plan and a commit: the stream goes on where it was, exactly."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unskew.events import read_epochs

_ROOT = Path(__file__).parents[3]


def kill_at(moment: str, folder: Path) -> None:
    """Start the stream, and kill its driver with all that it has started at a moment."""
    command = [sys.executable, "-m", "tests.spark.cluster.killed_driver", str(folder), moment]
    log = folder / "log"
    with log.open("w") as output:
        driver = subprocess.Popen(
            command, cwd=_ROOT, stdout=output, stderr=output, start_new_session=True
        )
    try:
        deadline = time.monotonic() + 300
        while not (folder / "ready").exists():
            assert driver.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < deadline, log.read_text()[-4000:]
            time.sleep(0.05)
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    (folder / "ready").unlink()


def plans(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "plans").glob("plan-*.json"))


def commits(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoint" / "commits").glob("[0-9]*"))


def outputs(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in (folder / "out").glob("batch=*/_SUCCESS"))


def test_a_stream_whose_driver_is_killed_again_and_again_ends_with_the_exact_result(
    run_driver: Callable[..., Any], tmp_path: Path
) -> None:
    # A plan is written after the commit of the micro-batch it was learned from, while the next
    # one runs: in between, that next one may have put out nothing, or all.
    kill_at("before output 1", tmp_path)
    assert (plans(tmp_path), commits(tmp_path)) == (["plan-000001"], ["0"])
    assert outputs(tmp_path) == ["batch=0"]
    kill_at("behind output 2", tmp_path)
    assert (plans(tmp_path)[-1], commits(tmp_path)) == ("plan-000002", ["0", "1"])
    assert outputs(tmp_path) == ["batch=0", "batch=1", "batch=2"]
    kill_at("plan 3 saved", tmp_path)
    assert (plans(tmp_path)[-1], commits(tmp_path)) == ("plan-000003", ["0", "1", "2"])
    end = run_driver("killed_driver", tmp_path, "end")["end"]
    assert end["exact"]
    assert end["users"] == 101 + 5
    followed = {epoch.batch: epoch.version for epoch in read_epochs(tmp_path / "plans")}
    # Micro-batches 1 and 3 were begun before there was the plan that they followed in the end;
    # what 2 did is not on record: its driver was killed before that.
    assert {batch: followed.get(batch) for batch in range(4)} == {0: 0, 1: 1, 2: None, 3: 3}
