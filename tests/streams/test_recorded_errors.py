"""What is said about files that cannot be read as asked; always a `StreamError`."""

import gzip
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.errors import InvalidParameterError, StreamError, UnknownNameError
from unskew.streams import file, parse_stream


def said_at_once(path: Path, key: str | None = None, cost: str | None = None) -> str:
    with pytest.raises(StreamError) as caught:
        file(path, key, cost)
    assert str(path) in str(caught.value)
    return str(caught.value)


def write_table(path: Path, **columns: pa.Array | list[object]) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=100)
    return path


def test_a_missing_file(tmp_path: Path) -> None:
    assert "no such file" in said_at_once(tmp_path / "none.parquet", "key")
    with pytest.raises(StreamError, match="no such file"):
        parse_stream(f"file:{tmp_path}/none.csv?key=a")


def test_a_directory_without_files(tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").write_text("x")
    assert "no files" in said_at_once(tmp_path)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.txt"])
def test_a_file_without_bytes(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert "empty" in said_at_once(tmp_path / name)
    with pytest.raises(StreamError, match="all files are empty"):
        file(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", "key\n"), ("a.txt", " \n\t\n"), ("b.txt", "-- ?! --")]
)
def test_a_file_without_rows(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert "no rows" in said_at_once(tmp_path / name)


def test_a_parquet_file_without_rows(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", key=pa.array([], pa.int64()))
    assert "no rows" in said_at_once(path)


def test_a_missing_column_is_answered_with_those_present(tmp_path: Path) -> None:
    parquet = write_table(tmp_path / "a.parquet", user=[1], price=[2.0])
    (tmp_path / "a.csv").write_text("user,price\n1,2\n")
    for path in (parquet, tmp_path / "a.csv"):
        assert "no column 'usr'; present: user, price" in said_at_once(path, "usr")
        assert "no column 'cost'; present: user, price" in said_at_once(path, "user", "cost")


def test_a_column_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    parquet = write_table(tmp_path / "a.parquet", user=[1], price=[2.0])
    (tmp_path / "a.csv").write_text("user,price\n1,2\n")
    for path in (parquet, tmp_path / "a.csv"):
        assert "present: user, price" in said_at_once(path)


def test_a_column_that_is_there_twice(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,key\n1,2\n")
    assert "more than one column 'key'" in said_at_once(tmp_path / "a.csv", "key")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5]),
        pa.array([float("nan")]),
        pa.array([True]),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([1], pa.decimal128(3, 1)),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_of_a_type_that_no_key_has(tmp_path: Path, column: pa.Array) -> None:
    path = write_table(tmp_path / "a.parquet", key=column)
    assert "column 'key' must hold integers, text" in said_at_once(path)


def test_a_cost_column_that_holds_no_numbers(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", key=[1], cost=["much"])
    assert "column 'cost' must hold numbers, got string" in said_at_once(path, "key", "cost")
    (tmp_path / "a.csv").write_text("key,cost\na,1\nb,much\n")
    assert "much" in said_at_once(tmp_path / "a.csv", "key", "cost")


def test_keys_and_costs_in_one_column(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError) as caught:
        file(write_table(tmp_path / "a.parquet", key=[1]), "key", "key")
    assert caught.value.parameter == "cost"


def test_a_null_key_is_named_by_file_column_and_row(tmp_path: Path) -> None:
    keys = pa.array([None if row == 1234 else row for row in range(2000)])
    path = write_table(tmp_path / "a.parquet", key=keys)
    assert "column 'key' has a null key in row 1234," in said_at_once(path)
    (tmp_path / "a.csv").write_text("key,n\na,1\n,2\n")
    assert "column 'key' has a null key in row 1," in said_at_once(tmp_path / "a.csv", "key")


def test_a_null_key_far_below_is_found_when_reading_comes_to_it(tmp_path: Path) -> None:
    keys = pa.array(np.arange(200_000), mask=np.arange(200_000) == 123_456)
    path = write_table(tmp_path / "a.parquet", key=keys)
    stream = file(path)
    for size in (1000, 100_000):
        with pytest.raises(StreamError, match="'key' has a null key in row 123456,"):
            list(stream.batches(size))


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf"), None])
def test_a_bad_cost_is_named_by_file_column_and_row(tmp_path: Path, bad: float | None) -> None:
    costs = [1.0] * 150 + [bad] + [1.0] * 50
    path = write_table(tmp_path / "a.parquet", key=list(range(201)), cost=costs)
    said = said_at_once(path, "key", "cost")
    assert f"column 'cost' must hold finite numbers >= 0, got {bad} in row 150," in said


def test_a_bad_cost_in_csv(tmp_path: Path) -> None:
    for bad in ("-1", "nan", "", "inf"):
        (tmp_path / "a.csv").write_text(f"key,cost\na,1\nb,{bad}\n")
        assert "in row 1," in said_at_once(tmp_path / "a.csv", "key", "cost")


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("these are words, and not a table")
    assert "not readable as Parquet" in said_at_once(path)
    whole = write_table(tmp_path / "b.parquet", key=[1, 2, 3]).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "not readable as Parquet" in said_at_once(path)


@pytest.mark.parametrize("content", [b"key,n\na,1\nb\n", b"key\n\xff\n", b"k\xff,n\n1,2\n"])
def test_a_file_that_is_no_csv(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert "not readable as CSV" in said_at_once(tmp_path / "a.csv", "key")


def test_text_that_is_not_utf_8_is_named_by_its_byte(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"good words, then \xff")
    assert "not UTF-8 text: invalid start byte at byte 17." in said_at_once(tmp_path / "a.txt")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_bad_text_far_below_is_found_when_reading_comes_to_it(tmp_path: Path, mark: bytes) -> None:
    good = mark + b"many good words\n" * 200_000
    (tmp_path / "a.txt").write_bytes(good + b"\xff")
    stream = file(tmp_path / "a.txt")
    with pytest.raises(StreamError, match=f"at byte {len(good)}\\."):
        list(stream.batches())


def test_text_without_any_space(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"words then " + b"x" * (3 << 20))
    stream = file(tmp_path / "a.txt")
    with pytest.raises(StreamError, match=r"a word of more than \d+ bytes at byte 11\."):
        list(stream.batches())


def test_text_has_no_columns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    assert "no column 'key'" in said_at_once(tmp_path / "a.txt", "key")
    assert "no column 'cost'" in said_at_once(tmp_path / "a.txt", cost="cost")


@pytest.mark.parametrize("name", ["a.txt.gz", "a.csv.gz"])
def test_damaged_compression(tmp_path: Path, name: str) -> None:
    packed = gzip.compress(b"key\n" + os.urandom(4096).hex().encode())
    (tmp_path / name).write_bytes(packed[:-100])
    assert "not readable as" in said_at_once(tmp_path / name)


def test_a_directory_of_unlike_files(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", key=[1])
    (tmp_path / "b.csv").write_text("key\n1\n")
    assert "one kind, got csv, parquet" in said_at_once(tmp_path)


def test_a_directory_whose_files_have_unlike_keys(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", key=[1])
    write_table(tmp_path / "b.parquet", key=["1"])
    assert "'key' is string, in" in said_at_once(tmp_path)
    write_table(tmp_path / "b.parquet", user=[1])
    assert "no column 'key'; present: user" in said_at_once(tmp_path)


def test_an_unknown_or_malformed_option_of_a_file(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", key=[1])
    with pytest.raises(UnknownNameError) as caught:
        parse_stream(f"file:{path}?kye=key")
    assert caught.value.valid == ["key", "cost"]
    with pytest.raises(InvalidParameterError):
        parse_stream(f"file:{path}?key=key&key=key")


def test_a_file_that_went_away(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.parquet", key=[1])
    stream = file(path)
    path.unlink()
    with pytest.raises(StreamError, match="no such file"):
        list(stream.batches())
