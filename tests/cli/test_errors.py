"""Bad input: exit code 2, one line on stderr that helps, nothing on stdout."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.cli.main import main
from unskew.groupings.registry import GROUPINGS
from unskew.streams import STREAMS

STREAM = "zipf:keys=100,exponent=1.2,rows=2000"
Capture = pytest.CaptureFixture[str]


def complaint(capsys: Capture, *arguments: str) -> str:
    """Return the one line that the command says."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("unskew: ")
    assert captured.err.endswith("\n")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_unknown_groupings_and_streams_are_answered_with_the_valid_ones(
    capsys: Capture, command: str
) -> None:
    said = complaint(capsys, command, "-g", "partial", "--stream", STREAM)
    assert all(name in said for name in GROUPINGS)
    said = complaint(capsys, command, "-g", "key", "--stream", "zip:keys=3")
    assert all(name in said for name in STREAMS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-w", "0"], ["--workers", "0"]),
        (["-w", "-3"], ["--workers", "-3"]),
        (["-w", "1000000000"], ["--workers", "1000000000"]),
        (["-w", "many"], ["--workers", "integer"]),
        (["-s", "0"], ["--sources", "0"]),
        (["--epoch", "0"], ["--epoch", "0"]),
        (["--learn", "1.0"], ["--learn", "1.0"]),
        (["--learn", "nan"], ["--learn", "nan"]),
        (["--feed", "card"], ["--feed", "round-robin", "key"]),
        (["--speeds", "fast"], ["--speeds", "fast"]),
        (["--speeds", "1,2"], ["--speeds", "costs"]),
        (["--over-provisioning", "1.1"], ["--over-provisioning", "costs"]),
        (["--over-provisioning", "-1"], ["--over-provisioning", "-1"]),
        (["--weighted"], ["--weighted", "costs"]),
        (["-g", "partial-key:choices=11"], ["choices", "11"]),
        (["-g", "partial-key:chioces=3"], ["chioces", "choices", "distinct"]),
        (["-g", "partial-key:choices"], ["choices"]),
        (["-g", "proactive-shuffle"], ["proactive-shuffle", "costs"]),
        (["-g", "proactive-shuffle:epsilon=1e-300"], ["epsilon", "1e-300"]),
        (["-g", "distribution-aware:threshold=1e-300"], ["threshold", "1e-300"]),
        (["-g", "wrap:capacity="], ["capacity"]),
        (["--stream", "zipf:keys=0"], ["keys", "0"]),
        (["--stream", "zipf:colour=red"], ["colour", "exponent"]),
        (["--no-such-option"], ["--no-such-option"]),
    ],
    ids=lambda value: " ".join(value),
)
@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_a_bad_option_is_named_with_what_came(
    capsys: Capture, command: str, arguments: list[str], words: list[str]
) -> None:
    given = arguments if "--stream" in arguments else [*arguments, "--stream", STREAM]
    said = complaint(capsys, command, *given)
    assert [word for word in words if word not in said] == []


def test_an_unknown_command_is_named(capsys: Capture) -> None:
    assert "simualte" in complaint(capsys, "simualte")


def test_speeds_must_fit_the_workers(capsys: Capture) -> None:
    stream = "zipf:keys=50,rows=500,costs=4"
    said = complaint(capsys, "simulate", "-w", "3", "--speeds", "1,2", "--stream", stream)
    assert "speeds" in said
    assert "3" in said


def test_streams_that_cannot_be_read_are_named(capsys: Capture, tmp_path: Path) -> None:
    empty, latin, table = tmp_path / "empty.txt", tmp_path / "latin.txt", tmp_path / "t.parquet"
    empty.touch()
    latin.write_bytes("caf\xe9 ".encode("latin-1") * 10)
    pq.write_table(pa.table({"customer": [1, 2], "price": [0.5, np.nan]}), table)
    assert "missing.txt" in complaint(
        capsys, "simulate", "--stream", f"file:{tmp_path}/missing.txt"
    )
    assert "empty.txt" in complaint(capsys, "simulate", "--stream", f"file:{empty}")
    assert "latin.txt" in complaint(capsys, "simulate", "--stream", f"file:{latin}")
    said = complaint(capsys, "simulate", "--stream", f"file:{table}?key=user")
    assert "user" in said
    assert "customer, price" in said
    said = complaint(capsys, "simulate", "--stream", f"file:{table}?key=customer&cost=price")
    assert "price" in said
    assert "nan" in said


def test_null_keys_are_refused(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "null.parquet"
    pq.write_table(pa.table({"key": pa.array([1, None, 3])}), path)
    assert "null" in complaint(capsys, "simulate", "--stream", f"file:{path}?key=key")
    pq.write_table(pa.table({"key": pa.array([1.0, float("nan")])}), path)
    complaint(capsys, "simulate", "--stream", f"file:{path}?key=key")


def test_a_report_that_cannot_be_written_is_refused_before_the_run(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def must_not_run(*_: object, **__: object) -> None:
        raise AssertionError("the run has started")

    monkeypatch.setattr("unskew.cli._simulation.measure_all", must_not_run)
    report = tmp_path / "nowhere" / "out.html"
    base = ("simulate", "--stream", STREAM, "--report")
    assert "directory that exists" in complaint(capsys, *base, str(report))
    assert "not a directory" in complaint(capsys, *base, str(tmp_path))
    assert "regular file" in complaint(capsys, *base, "/dev/null")
    (tmp_path / "file").touch()
    complaint(capsys, *base, str(tmp_path / "file" / "out.html"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_report_without_plotly_is_refused_before_the_run(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot_import(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("unskew.reports._plotly.importlib.import_module", cannot_import)
    report = tmp_path / "out.html"
    said = complaint(capsys, "simulate", "--stream", STREAM, "--report", str(report))
    assert "unskew[plots]" in said
    assert not report.exists()


def test_a_run_that_fails_leaves_no_report(capsys: Capture, tmp_path: Path) -> None:
    stream = "zipf:keys=50,rows=500,costs=4"
    complaint(capsys, "simulate", "-w", "3", "--speeds", "1,2", "--stream", stream,
              "--report", str(tmp_path / "out.html"))  # fmt: skip
    assert list(tmp_path.iterdir()) == []
