"""Executors that have nothing but Spark, and executors that are killed: one cluster for all."""

import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unskew.spark.routing.schemes import runnable

BATCH = [
    "wrap, while rows are routed",
    "wrap, while rows are worked on",
    "partial-key, while rows are routed",
    "costs, while rows are routed",
]
STREAMS = [
    "a stream that is grouped, while rows are routed",
    "a stream that is applied to, while rows are worked on",
]


def bare_python(folder: Path) -> Path:
    """Make an environment in which nothing is installed, not even pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin" / "python"


def python_without_unskew(folder: Path) -> Path:
    """Make an environment that has what this one has, but for unskew."""
    python = bare_python(folder)
    target = next((folder / "lib").glob("python*/site-packages"))
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "unskew" not in path.name and path.suffix != ".pth":
            (target / path.name).symlink_to(path)
    return python


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("pythons")
    return bare_python(folder / "nothing"), python_without_unskew(folder / "almost")


@pytest.fixture(scope="module")
def reports(
    run_driver: Callable[..., Any],
    pythons: tuple[Path, Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    return run_driver("executors", tmp_path_factory.mktemp("executors"), *pythons)


def test_the_executors_of_these_tests_have_no_unskew(
    reports: Any, pythons: tuple[Path, Path]
) -> None:
    assert reports["with nothing"]["modules"] == [str(pythons[0])]
    assert reports["with almost all"]["modules"] == [str(pythons[1]), "numba", "numpy", "pyarrow"]


@pytest.mark.parametrize("scheme", runnable("plan", "round-robin"))
def test_a_compiled_scheme_needs_nothing_but_spark_there(reports: Any, scheme: str) -> None:
    assert reports[scheme] == {"exact": True, "keys": 55, "salted": 6000}


@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
def test_a_planned_join_needs_nothing_but_spark_there(reports: Any, how: str) -> None:
    assert reports[f"{how} join"] == {"exact": True}


@pytest.mark.parametrize("case", ["online", "apply", "apply_in_arrow"])
def test_what_needs_unskew_there_says_so_and_how_to_get_it(
    reports: Any, pythons: tuple[Path, Path], case: str
) -> None:
    message = reports[case]["message"]
    assert f"cannot start with {pythons[1]} (ModuleNotFoundError: No module named 'un" in message
    assert "docs/cluster.md" in message


@pytest.mark.parametrize("case", BATCH)
def test_a_batch_is_exact_although_an_executor_was_killed(reports: Any, case: str) -> None:
    facts = reports[case]
    assert facts["killed"]
    assert facts["repeated"], "nobody had to take over the killed task"
    assert facts["routed_again"], "no output of the routed shuffle was lost"
    assert facts["exact"]
    assert facts["keys"] == 102


@pytest.mark.parametrize("case", STREAMS)
def test_a_stream_is_exact_although_an_executor_was_killed(reports: Any, case: str) -> None:
    facts = reports[case]
    assert facts["repeated"], "nobody had to take over a killed task"
    assert facts["exact"]
    assert facts["rows"] == 101
    # The micro-batch in question followed a plan that the stream had learned before.
    assert facts["followed"][2] >= 1
    assert facts["counted"] == [8000] * 4
