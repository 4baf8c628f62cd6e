"""Run the tests marked ``matrix`` on other versions of Spark, with the oldest libraries allowed.

``python -m tests.matrix 3.5 4.0`` makes an environment per version, as platforms have them,
installs the wheel into it, which must replace nothing there, and runs the tests in a classic
session and through Spark Connect at the same time. ``--table`` writes what came out into
docs/platforms.md.
"""

import argparse
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".matrix"
DOCS = ROOT / "docs" / "platforms.md"
BEGIN, END = "<!-- made by `make test-matrix` -->", "<!-- until here -->"

PLATFORMS = {
    "3.5": ("pyspark[connect]==3.5.9", "numpy==1.23.5", "pandas==1.5.3", "pyarrow==14.0.1"),
    "4.0": ("pyspark[connect]==4.0.5", "numpy==1.26.4", "pandas==2.0.3", "pyarrow==15.0.2"),
    "4.1": ("pyspark[connect]==4.1.4", "numpy==1.26.4", "pandas==2.2.0", "pyarrow==15.0.2"),
    "4.2": ("pyspark[connect]==4.2.1", "numpy==1.26.4", "pandas==2.2.0", "pyarrow==18.0.0"),
    "4.3": ("pyspark[connect]==4.3.0", "numpy==1.26.4", "pandas==2.2.0", "pyarrow==18.0.0"),
}
"""What stands in an environment before unskew comes: as old as platforms, or PySpark, have it."""

UNTOUCHED = ("pyspark==3.5.9", "numpy==1.26.4", "pandas==2.0.3", "pyarrow==15.0.2")
"""Another environment that an installation must leave as it is."""

TESTS = {
    "classic": (
        "test_both_sessions.py",
        "test_versions.py",
        "routing/test_placing.py",
        "routing/test_salting.py",
        "routing/test_online.py",
        "test_group_by_in_pandas.py",
        "test_map_rows.py",
        "test_check_placement.py",
        "cluster/test_lost_executor.py",
    ),
    "connect": (
        "test_both_sessions.py",
        "test_versions.py",
        "test_map_rows.py",
        "test_check_placement.py",
    ),
}


def main() -> int:
    """Run what the command line says; 0 if all tests passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", choices=[*PLATFORMS, []])
    parser.add_argument("--table", action="store_true", help="write docs/platforms.md")
    chosen = parser.parse_args()
    wheel = _wheel() if chosen.versions else Path()
    failed = [version for version in chosen.versions if not _passes(version, wheel)]
    if "3.5" in chosen.versions:
        _install(FOLDER / "untouched", UNTOUCHED, wheel)
    if chosen.table:
        _write_table()
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


def _wheel() -> Path:
    folder = FOLDER / "wheel"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), "."]
    subprocess.run(command, cwd=ROOT, check=True)
    return max(folder.glob("unskew-*.whl"), key=lambda path: path.stat().st_mtime)


def _install(folder: Path, before: Sequence[str], wheel: Path) -> Path:
    """Make an environment and install the wheel into it, or raise if that replaces anything."""
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip"]
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([*pip, "install", "--quiet", "--upgrade", "pip"], check=True)
        subprocess.run([*pip, "install", "--quiet", *before], check=True)
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "unskew"], check=True)
    had = _frozen(pip)
    subprocess.run([*pip, "install", "--quiet", str(wheel)], check=True)
    lost = sorted(had - _frozen(pip))
    if lost:
        raise SystemExit(f"{folder.name}: pip install unskew replaced {', '.join(lost)}")
    check = "import unskew.spark, pandas, numba; unskew.spark.balance"
    subprocess.run([str(python), "-c", check], check=True)
    return python


def _frozen(pip: Sequence[str]) -> set[str]:
    done = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True)
    return set(done.stdout.split("\n"))


def _passes(version: str, wheel: Path) -> bool:
    python = _install(FOLDER / version, PLATFORMS[version], wheel)
    tools = ["pytest>=8.3", "pytest-xdist>=3.7", "hypothesis>=6.120"]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *tools], check=True)
    begin = time.monotonic()
    # The server of Connect is no part of PySpark 3.5.
    kinds = ["classic"] if version == "3.5" else list(TESTS)
    running = {kind: _started(python, version, kind, 3 - len(kinds)) for kind in kinds}
    failed = [kind for kind, tests in running.items() if tests.wait() != 0]
    print(f"Spark {version}: {time.monotonic() - begin:.0f} s", flush=True)
    for kind in failed:
        print(_log(version, kind).read_text()[-6000:])
    return not failed


def _started(python: Path, version: str, kind: str, processes: int) -> subprocess.Popen[bytes]:
    report = f"--junitxml={FOLDER / f'{version}-{kind}.xml'}"
    # Old versions of Spark warn of themselves.
    options = ["-m", "matrix", "-q", "-W", "default", "-p", "no:cacheprovider", report]
    options += ["-n", str(processes), "--dist", "loadfile"]
    command = [
        str(python),
        "-m",
        "pytest",
        *options,
        *(f"tests/spark/{file}" for file in TESTS[kind]),
    ]
    env = {**os.environ, "UNSKEW_TEST_SESSION": kind, "PYSPARK_PYTHON": str(python)}
    with _log(version, kind).open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, env=env, stdout=log, stderr=log)


def _log(version: str, kind: str) -> Path:
    return FOLDER / f"{version}-{kind}.log"


def _results(path: Path) -> dict[str, set[str]]:
    """Return by feature how its tests ended: passed, skipped, failed."""
    found: dict[str, set[str]] = {}
    for case in ET.parse(path).iter("testcase"):  # noqa: S314 (pytest wrote it)
        ends = {child.tag for child in case} & {"failure", "error", "skipped"}
        for one in case.iter("property"):
            if one.get("name") == "feature":
                found.setdefault(str(one.get("value")), set()).update(ends or {"passed"})
    return found


def _cell(ends: set[str]) -> str:
    if ends & {"failure", "error"}:
        return "**fails**"
    return {0: "", 1: "yes" if "passed" in ends else "no"}.get(len(ends), "in part")


def _write_table() -> None:
    reports = {
        (version, kind): _results(path)
        for version in PLATFORMS
        for kind in TESTS
        if (path := FOLDER / f"{version}-{kind}.xml").exists()
    }
    features = sorted({feature for found in reports.values() for feature in found})
    heads = [f"{version} {kind}" for version, kind in reports]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for feature in features:
        cells = [_cell(found.get(feature, set())) for found in reports.values()]
        lines.append(f"| {feature} | {' | '.join(cells)} |")
    text = DOCS.read_text()
    before, rest = text.split(BEGIN)
    DOCS.write_text("\n".join([before + BEGIN, *lines, END + rest.split(END)[1]]))


if __name__ == "__main__":
    sys.exit(main())
