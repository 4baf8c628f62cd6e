"""``unskew doctor`` as its users run it: a process, its screen and its exit code."""

import os
import subprocess
import sys

import pyspark
import pytest

from unskew import __version__


def examined(**env: str) -> tuple[int, dict[str, str]]:
    command = [sys.executable, "-c", "from unskew.cli.main import run; run()", "doctor"]
    done = subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, text=True, check=False, timeout=300
    )
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return done.returncode, {what: f"{mark} {text}" for mark, what, text in lines}


@pytest.mark.slow
@pytest.mark.spark
def test_where_all_is_well_the_exit_code_is_0_and_all_is_on_one_screen() -> None:
    code, found = examined()
    assert code == 0, found
    assert len(found) <= 24
    assert all(line.startswith("ok ") for line in found.values())
    assert found["Spark"].startswith(f"ok {pyspark.__version__}, classic")
    assert found["placement"] == "ok all of 1,000 rows are where unskew puts them"
    assert found["executors"] == f"ok unskew {__version__} in {sys.executable}"
    assert f"pyspark {pyspark.__version__}" in found["libraries"]


def test_what_is_missing_is_named_and_the_exit_code_is_1() -> None:
    code, found = examined(JAVA_HOME="/nowhere")
    assert code == 1
    assert found["Java"].startswith("FAIL not found. Hint: install Java 17")
    assert found["unskew"].startswith(f"ok {__version__}")
    assert "Spark" not in found
