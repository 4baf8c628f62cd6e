"""Every benchmark still runs, at its smallest useful size; what it measures there says nothing."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import __main__ as command
from tests.cheap_settings import INTERPRETED, PLAIN_FILES

SMALL = {
    "routing": "rows=20_000",
    "simulation": "rows=20_000, many_rows=50_000",
    "sketches": "rows=5_000",
    "startup": "rounds=1",
    "spark_routing": "rows=2_000, rounds=1",
    "spark_work": "sleeping=400, busy=2_000, rounds=1",
    "spark_loads": "rows=2_000, rounds=1",
    "spark_wrap": "rows=4_000, streams=['zipf:keys=100,exponent=1.2'], all_workers=[10]",
    "spark_join": ("exponents=[1.2], rights=['uniform'], all_workers=[2], ideal=0.5, bare=4_000"),
    "spark_streaming": "rows=500, rounds=1, warm_rounds=1, schemes=['wrap']",
    "spark_watching": "batches=2",
    "spark_python_stage": "rounds=1, all_tasks=[2]",
    "spark_proactive": "ideal_seconds=0.5, rounds=1, workers=[2]",
    "spark_proactive_streams": "workers=[2], steady=[(50, 2)], rows_at_change=50",
    "spark_proactive_arrivals": (
        "benchmark.Size(seconds=2, rounds=1, workers=[2], learning=2, warming_seconds=1,"
        " warming_batches=1)"
    ),
    "spark_write": "rows=4_000, rounds=1",
    "spark_window": "rows=4_000, work_rows=2_000, rounds=1",
    "advisor": "seconds=0.2, jobs=benchmark.JOBS[:1]",
    "storm": "rows=20_000, rounds=1",
    "applications": (
        "benchmark.Size(workers=2, batch_rows=300, rounds=3, warm_up=1), names=['wordcount']"
    ),
}
"""What the main function of each is given."""


def test_every_benchmark_is_listed_and_has_a_small_size() -> None:
    files = {each.stem for each in Path(command.__file__).parent.glob("[!_]*.py")}
    assert set(command.BENCHMARKS) == files == set(SMALL)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", command.BENCHMARKS)
def test_it_runs(name: str, tmp_path: Path) -> None:
    settings = [f"--conf={name}={value}" for name, value in (INTERPRETED | PLAIN_FILES).items()]
    done = subprocess.run(
        [sys.executable, "-c", f"from benchmarks import {name} as benchmark\n"
         f"benchmark.main({SMALL[name]})"],
        cwd=Path(command.__file__).parents[1],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": " ".join([*settings, "pyspark-shell"])},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert "│" in done.stdout or "|---" in done.stdout  # a table


def test_one_that_fails_is_named_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []

    def run(name: str) -> None:
        ran.append(name)
        if name == "sketches":
            raise RuntimeError("no such sketch")

    names = ["routing", "sketches", "startup"]
    for name in names:
        benchmark = SimpleNamespace(main=partial(run, name))
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", benchmark)
    assert command.main(names) == 1
    assert ran == names
    said = capsys.readouterr().err
    assert "no such sketch" in said
    assert said.endswith("failed: sketches\n")
    assert command.main(["routing"]) == 0
