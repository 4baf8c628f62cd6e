"""Composite keys on the command line: one key of several columns."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.cli.main import main

Capture = pytest.CaptureFixture[str]
DAYS = [n % 3 if n % 7 else None for n in range(2000)]
USERS = ["hot" if n % 2 else "null" if n % 4 else f"u{n % 50}" for n in range(2000)]
PAIRS = Counter(zip(DAYS, USERS, strict=True))


@pytest.fixture(params=["parquet", "csv"])
def path(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    table = pa.table({"day": DAYS, "user": USERS})
    made = tmp_path / f"rows.{request.param}"
    if request.param == "parquet":
        pq.write_table(table, made)
    else:
        pa.csv.write_csv(table, made)
    return str(made)


def printed(capsys: Capture, *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def shown(day: int | None, user: str) -> str:
    return f"{'null' if day is None else day}, " + ('"null"' if user == "null" else user)


@pytest.mark.parametrize("by", [["--by", "day,user"], ["--by", "day", "--by", "user"]])
def test_several_columns_are_one_key_however_they_are_named(
    capsys: Capture, path: str, by: list[str]
) -> None:
    found = printed(capsys, "diagnose", path, *by, "-w", "4")
    assert (found["by"], found["profile"]["keys"]) == ("day, user", len(PAIRS))
    top = {each["key"]: each["rows"] for each in found["profile"]["top_keys"][:3]}
    assert top == {shown(*pair): rows for pair, rows in PAIRS.most_common(3)}
    assert '["day", "user"]' in found["recommendation"]["code"]


def test_a_column_that_is_missing_or_named_twice_is_refused(capsys: Capture, path: str) -> None:
    for by, word in (("day,nobody", "nobody"), ("day,day", "distinct")):
        assert main(["diagnose", path, "--by", by]) == 2
        assert word in capsys.readouterr().err


def test_simulate_reads_a_file_by_several_columns(capsys: Capture, path: str) -> None:
    spec = f"file:{path}?key=day,user"
    found = printed(capsys, "simulate", "-g", "key", "-w", "4", "--stream", spec)
    assert (found["stream"], found["keys"]) == (spec, len(PAIRS))


def test_a_name_with_a_comma_stands_between_back_quotes(capsys: Capture, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a,b": [1, 1, 2], "c": [1, 2, 3]}), tmp_path / "odd.parquet")
    found = printed(capsys, "diagnose", str(tmp_path / "odd.parquet"), "--by", "`a,b`", "-w", "2")
    assert found["profile"]["keys"] == 2


def test_the_null_key_is_told_apart_from_the_text_null(capsys: Capture, tmp_path: Path) -> None:
    keys = [None] * 30 + ["null"] * 20 + ["a"]
    pq.write_table(pa.table({"user": keys}), tmp_path / "rows.parquet")
    path = str(tmp_path / "rows.parquet")
    found = printed(capsys, "diagnose", path, "--by", "user", "-w", "4")
    assert [each["key"] for each in found["profile"]["top_keys"]] == [None, "null", "a"]
    assert main(["diagnose", path, "--by", "user", "-w", "4"]) == 0
    assert '"null"' in capsys.readouterr().out


@pytest.mark.spark
def test_tables_of_spark_take_several_columns(capsys: Capture, tmp_path: Path, spark: Any) -> None:
    spark.createDataFrame(pa.table({"day": DAYS, "user": USERS})).write.parquet(str(tmp_path / "t"))
    table = f"table:parquet.`{tmp_path / 't'}`"
    found = printed(capsys, "diagnose", table, "--by", "day,user", "-w", "4")
    assert found["profile"]["keys"] == len(PAIRS)
    top = {each["key"]: each["rows"] for each in found["profile"]["top_keys"][:3]}
    assert top == {shown(*pair): rows for pair, rows in PAIRS.most_common(3)}
    both = printed(capsys, "diagnose", table, "--by", "day,user", "--join", table, "-w", "4")
    assert both["on"] == [["day", "day"], ["user", "user"]]
