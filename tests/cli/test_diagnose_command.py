"""``unskew diagnose``: what it prints, and what it says to data that are not as they should be."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.cli.main import main
from unskew.groupings.registry import GROUPINGS

STREAM = "zipf:keys=500,exponent=1.4,rows=20000"
PROFILE_FIELDS = [
    "rows", "counted_rows", "keys", "keys_exact", "p1", "zipf_exponent", "null_share", "drift",
    "mean_cost", "top_keys",
]  # fmt: skip
PREDICTION_FIELDS = [
    "grouping", "imbalance_percent", "job_time_ratio", "job_seconds", "replication", "memory",
    "splits_keys", "usable", "drawback", "loads",
]  # fmt: skip

Capture = pytest.CaptureFixture[str]


def diagnosed(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert main(["diagnose", *arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    fields: dict[str, Any] = json.loads(captured.out)
    return fields


def complaint(capsys: Capture, *arguments: str) -> str:
    assert main(["diagnose", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def written(path: Path, **columns: Any) -> str:
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_the_promised_fields_are_there_and_agree_with_each_other(capsys: Capture) -> None:
    found = diagnosed(capsys, STREAM, "-w", "8", "-s", "2", "--cost-per-row", "2")
    assert list(found["profile"]) == PROFILE_FIELDS
    assert (found["workers"], found["sources"], found["work"]) == (8, 2, "merge")
    known = {name for name, scheme in GROUPINGS.items() if not scheme.needs_costs} - {"auto"}
    assert known <= {each["grouping"] for each in found["predictions"]}
    for each in found["predictions"]:
        assert list(each) == PREDICTION_FIELDS
        assert sum(each["loads"]) == pytest.approx(20_000)
        mean = sum(each["loads"]) / 8
        assert each["job_time_ratio"] == pytest.approx(max(each["loads"]) / mean)
        assert each["job_seconds"] == pytest.approx(max(each["loads"]) * 0.002)
    assert found["recommendation"]["grouping"] in GROUPINGS


def test_predictions_for_all_rows_are_what_simulate_then_measures(capsys: Capture) -> None:
    found = diagnosed(capsys, STREAM, "-w", "8", "--seed", "3")
    predicted = {each["grouping"]: each for each in found["predictions"]}
    for name in ("key", "universal", "partial-key", "wrap", "distribution-aware"):
        main(["simulate", "-g", name, "-w", "8", "--stream", STREAM, "--seed", "3", "--json"])
        measured = json.loads(capsys.readouterr().out)
        ratio = 1 + measured["imbalance_percent"] / 100
        assert predicted[name]["job_time_ratio"] == pytest.approx(ratio, rel=0.02)
        assert predicted[name]["replication"] == pytest.approx(measured["replication"], rel=0.02)


def test_the_table_names_the_hottest_key_and_ends_with_a_line_of_code(
    capsys: Capture, tmp_path: Path
) -> None:
    path = written(tmp_path / "a.parquet", user=["ada"] * 900 + ["bob", "cyd", "dan"] * 33)
    assert main(["diagnose", path, "--by", "user", "-w", "4"]) == 0
    said = capsys.readouterr().out
    assert "ada" in said
    assert 'us.group_by(df, "user", workers=4, grouping="' in said.strip().splitlines()[-1]


def test_every_kind_of_work_has_a_page_in_the_cookbook(capsys: Capture) -> None:
    for work in ("merge", "atomic", "stateless", "builtin"):
        page = diagnosed(capsys, STREAM, "-w", "4", "--work", work)["cookbook"]
        assert (Path(__file__).parents[2] / page).is_file()
        assert main(["diagnose", STREAM, "-w", "4", "--work", work]) == 0
        assert page in capsys.readouterr().out


def test_a_csv_and_a_directory_are_read(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("host,n\na,1\nb,2\n")
    (tmp_path / "two.csv").write_text("host,n\na,1\na,2\n")
    found = diagnosed(capsys, str(tmp_path), "--by", "host", "-w", "2")
    assert (found["profile"]["rows"], found["profile"]["keys"]) == (4, 2)
    assert found["profile"]["top_keys"][0] == {"key": "a", "share": 0.75, "rows": 3}


def test_a_sample_says_that_it_is_one(capsys: Capture) -> None:
    found = diagnosed(capsys, STREAM, "-w", "4", "--sample", "2000")
    assert found["profile"]["rows"] == 20_000
    assert found["profile"]["counted_rows"] <= 2000
    assert any("sample" in reason for reason in found["recommendation"]["why"])


def test_more_rows_than_half_a_million_are_sampled_unless_all_are_asked_for(
    capsys: Capture,
) -> None:
    stream = "zipf:keys=500,exponent=1.4,rows=520k"
    found = diagnosed(capsys, stream, "-w", "4")
    assert 490_000 < found["profile"]["counted_rows"] <= 500_000
    assert any("of 520,000 rows" in reason for reason in found["recommendation"]["why"])
    assert diagnosed(capsys, stream, "-w", "4", "--sample", "all")["profile"]["keys_exact"]


def test_a_sample_as_large_as_the_data_is_all_of_them(capsys: Capture) -> None:
    found = diagnosed(capsys, STREAM, "-w", "4", "--sample", "20000")
    assert found == diagnosed(capsys, STREAM, "-w", "4", "--sample", "all")


def test_what_no_scheme_makes_better_is_not_called_even(capsys: Capture, tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", user=["ada"] * 2000 + list("bcde") * 10)
    found = diagnosed(capsys, path, "--by", "user", "-w", "40", "--work", "atomic")
    (said,) = (why for why in found["recommendation"]["why"] if "The busiest worker" in why)
    assert f"{2000 * 40 / 2040:.2f}"[:4] in said
    assert "only" not in said
    assert not any("e+" in why for why in found["recommendation"]["why"])


def test_a_report_works_offline_and_has_the_three_charts(capsys: Capture, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    assert main(["diagnose", STREAM, "-w", "4", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert all(f'id="{name}"' in text for name in ("ranks", "loads", "balance"))
    assert "<script src" not in text
    assert "us.group_by" in text


def test_one_distinct_key_is_split_or_left_alone(capsys: Capture, tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", user=["ada"] * 2000)
    found = diagnosed(capsys, path, "--by", "user", "-w", "4")["recommendation"]
    assert found["grouping"] is not None
    assert found["load_ratio_then"] < 1.1 < 3.9 < found["load_ratio_now"]
    found = diagnosed(capsys, path, "--by", "user", "-w", "4", "--work", "atomic")["recommendation"]
    assert found["grouping"] is None
    assert any("one key" in reason for reason in found["why"])


def test_keys_that_are_all_null_are_one_key(capsys: Capture, tmp_path: Path) -> None:
    for values in (pa.nulls(300), pa.nulls(300, pa.string()), pa.nulls(300, pa.int64())):
        path = written(tmp_path / "a.parquet", user=values)
        found = diagnosed(capsys, path, "--by", "user", "-w", "4")
        assert (found["profile"]["null_share"], found["profile"]["keys"]) == (1.0, 1)
        assert found["profile"]["top_keys"][0]["key"] is None
        assert any("one key, null:" in reason for reason in found["recommendation"]["why"])


def test_nulls_among_keys_are_counted(capsys: Capture, tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", user=[None, "a", None, "b"] * 100)
    found = diagnosed(capsys, path, "--by", "user", "-w", "4")
    assert (found["profile"]["null_share"], found["profile"]["keys"]) == (0.5, 3)
    assert any("Null is a key" in reason for reason in found["recommendation"]["why"])


def test_fewer_keys_than_workers_are_said(capsys: Capture, tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet", user=["a", "b", "c"] * 500)
    found = diagnosed(capsys, path, "--by", "user", "-w", "10", "--work", "atomic")
    assert any("fewer keys (3) than workers (10)" in why for why in found["recommendation"]["why"])


def test_data_that_cannot_be_read_are_refused_in_a_line(capsys: Capture, tmp_path: Path) -> None:
    empty = written(tmp_path / "empty.parquet", user=pa.array([], pa.string()))
    assert "no rows" in complaint(capsys, empty, "--by", "user")
    (tmp_path / "broken.parquet").write_text("this is no Parquet")
    assert "broken.parquet" in complaint(capsys, str(tmp_path / "broken.parquet"), "--by", "user")
    assert "nowhere.parquet" in complaint(capsys, str(tmp_path / "nowhere.parquet"), "--by", "x")
    (tmp_path / "nothing.csv").write_text("")
    assert "empty" in complaint(capsys, str(tmp_path / "nothing.csv"), "--by", "x")
    (tmp_path / "folder").mkdir()
    assert "no files" in complaint(capsys, str(tmp_path / "folder"), "--by", "x")
    floats = written(tmp_path / "floats.parquet", price=[1.5, 2.5])
    assert "price" in complaint(capsys, floats, "--by", "price")
    two = written(tmp_path / "two.parquet", a=[1], b=[2])
    said = complaint(capsys, two, "--by", "c")
    assert "a, b" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["which data"]),
        ([STREAM, "-w", "0"], ["--workers", "0"]),
        ([STREAM, "-s", "0"], ["--sources", "0"]),
        ([STREAM, "--work", "magic"], ["--work", "atomic", "magic"]),
        ([STREAM, "--sample", "0"], ["--sample", "0"]),
        ([STREAM, "--cost-per-row", "-1"], ["--cost-per-row", "-1"]),
        ([STREAM, "--by", "user"], ["--by", "user"]),
        ([STREAM, "--report", "/no/such/place.html"], ["/no/such/place.html"]),
        (["zipf:keys=0"], ["keys", "0"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_bad_option_is_named_with_what_came(
    capsys: Capture, arguments: list[str], words: list[str]
) -> None:
    said = complaint(capsys, *arguments)
    assert [word for word in words if word not in said] == []
