"""Groupings of other packages: found by an entry point; one that fails is left out with a warning.

Entry points are read once per process, when the registry is imported: each test starts its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ENTRY_POINTS = """\
[unskew.groupings]
every-other = groupings_of_a_plugin:EveryOther
"""
BROKEN = """\
no-such-module = no_such_module:Scheme
no-grouping = groupings_of_a_plugin:NotOne
promises = groupings_of_a_plugin:Promises
taken = groupings_of_a_plugin:Taken
"""
CODE = """\
import numpy as np

from unskew import Grouping


class EveryOther(Grouping):
    name, paper, splits_keys = "every-other", "a test", False

    def _route(self, ids, weights, out):
        out[:] = ids % np.uint64(self.workers) // np.uint64(2) * np.uint64(2)

    def _candidates(self, key_id):
        return (int(key_id % np.uint64(self.workers)) // 2 * 2,)


class Promises(EveryOther):
    name, spark = "promises", "plan"


class Taken(EveryOther):
    name = "wrap"


NotOne = "a text"
"""
LEFT_OUT = {
    "no-such-module": "No module named 'no_such_module'",
    "no-grouping": "",
    "promises": "makes no plan",
    "taken": "is called 'wrap', as Wrap is already",
}
"""What cannot be used, and what is said of it."""


def compare(folder: Path, entry_points: str) -> subprocess.CompletedProcess[str]:
    """Run the command where a package with these entry points is installed."""
    info = folder / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)
    (folder / "groupings_of_a_plugin.py").write_text(CODE)
    command = ["compare", "--workers", "4", "--stream", "zipf:keys=100,rows=5k", "--json"]
    return subprocess.run(
        [sys.executable, "-m", "unskew", *command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )


def loads_of(done: subprocess.CompletedProcess[str]) -> dict[str, list[int]]:
    assert done.returncode == 0, done.stderr
    return {each["grouping"]: each["loads"] for each in json.loads(done.stdout)["results"]}


def test_a_grouping_of_another_package_is_compared_with_ours(tmp_path: Path) -> None:
    done = compare(tmp_path, ENTRY_POINTS)
    loads = loads_of(done)
    assert sum(loads["every-other"]) == sum(loads["key"])
    assert loads["every-other"][1::2] == [0, 0]
    assert {"key", "partial-key", "wrap"} <= set(loads)
    assert "PluginWarning" not in done.stderr


def test_those_that_cannot_be_used_are_named_and_the_others_go_on(tmp_path: Path) -> None:
    done = compare(tmp_path, ENTRY_POINTS + BROKEN)
    loads = loads_of(done)
    assert {"every-other", "key", "wrap"} <= set(loads)
    assert min(loads["wrap"]) > 0  # ours, not the plug-in's, which leaves every other worker idle
    assert not {"no-such-module", "no-grouping", "promises"} & set(loads)
    warnings = [line for line in done.stderr.splitlines() if "PluginWarning" in line]
    assert len(warnings) == len(LEFT_OUT)
    for warning, (name, reason) in zip(warnings, LEFT_OUT.items(), strict=True):
        assert f"The grouping {name!r} of" in warning
        assert reason in warning
