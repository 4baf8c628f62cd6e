"""Reading of Parquet, CSV and text files."""

import bz2
import gzip
import pickle
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.streams import Stream, file, parse_stream
from unskew.streams._file_readers import WORD_BLOCK_BYTES

ROWS = 300_000
MEBIBYTE = 1 << 20


def keys_of(stream: Stream, size: int = 1 << 16) -> list[object]:
    return [key for batch in stream.batches(size) for key in batch.keys.tolist()]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array([3, -1, 2], pa.int16()),
        pa.array([3, 2**64 - 1, 2], pa.uint64()),
        pa.array(["a", "", "ü"]),
        pa.array(["a", "b", "a"], pa.large_string()),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([b"a", b"\xff", b""]),
        pa.array([1, 2, 3], pa.date32()),
        pa.array([1, 2, 3], pa.timestamp("us")),
    ],
    ids=lambda keys: str(keys.type),
)
def test_parquet_keys_are_those_of_the_column(tmp_path: Path, keys: pa.Array) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"other": [1, 2, 3], "key": keys}), path)
    stream = file(path, "key")
    assert stream.rows == 3
    assert keys_of(stream) == keys.to_pylist()


@pytest.mark.parametrize("name", ["a.b", "a key", "q?k=v&c", "100%", "a:b", "ключ"])
def test_any_name_of_a_column_comes_back_from_a_spec(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({name: ["x", "y"], "cost": [1, 2]}), tmp_path / "a.parquet")
    stream = file(tmp_path / "a.parquet", name, "cost")
    again = parse_stream(stream.spec)
    assert again == stream == pickle.loads(pickle.dumps(stream))
    assert keys_of(again) == ["x", "y"]


@pytest.mark.parametrize("name", ["a:b.txt", "a?b.txt", "a?key=b", "a=b,c.txt", "a b", "a?"])
def test_any_path_comes_back_from_a_spec(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("one two")
    stream = file(tmp_path / name)
    assert parse_stream(stream.spec) == stream
    assert keys_of(parse_stream(stream.spec)) == ["one", "two"]


def test_a_spec_as_people_write_it_names_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,ms\nu,1\nv,2.5\n")
    stream = parse_stream(f"file:{tmp_path}/a.csv?key=user&cost=ms", seed=5)
    assert keys_of(stream) == ["u", "v"]
    batch = next(stream.batches())
    assert batch.costs is not None
    assert batch.costs.tolist() == [1.0, 2.5]
    assert stream.has_costs
    assert not parse_stream(f"file:{tmp_path}/a.csv?key=user").has_costs


def test_the_only_column_need_not_be_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1, 2]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("k,cost\nx,1\n")
    assert file(tmp_path / "a.parquet") == file(tmp_path / "a.parquet", "k")
    assert keys_of(file(tmp_path / "a.csv", cost="cost")) == ["x"]


@pytest.mark.parametrize(
    "costs",
    [
        pa.array([1, 0, 7], pa.int8()),
        pa.array([1, 0, 7], pa.float32()),
        pa.array([1, 0, 7], pa.decimal128(5, 2)),
    ],
    ids=lambda costs: str(costs.type),
)
def test_parquet_costs_are_numbers_of_any_type(tmp_path: Path, costs: pa.Array) -> None:
    pq.write_table(pa.table({"cost": costs, "key": ["a", "b", "c"]}), tmp_path / "a.parquet")
    batch = next(file(tmp_path / "a.parquet", "key", "cost").batches())
    assert batch.costs is not None
    assert batch.costs.dtype == np.float64
    assert batch.costs.tolist() == [1.0, 0.0, 7.0]


def test_csv_keys_are_text_as_it_is_written(tmp_path: Path) -> None:
    text = 'key,n\n7,1\n007,2\nNA,3\nnull,4\n"a,b",5\n"two\nlines",6\n"",7\n'
    (tmp_path / "a.csv").write_text(text)
    expected = ["7", "007", "NA", "null", "a,b", "two\nlines", ""]
    assert keys_of(file(tmp_path / "a.csv", "key")) == expected


def test_csv_keys_may_turn_from_numbers_to_text_far_below(tmp_path: Path) -> None:
    rows = [*(str(number) for number in range(ROWS)), "word"]
    (tmp_path / "a.csv").write_text("key\n" + "\n".join(rows) + "\n")
    stream = file(tmp_path / "a.csv")
    assert stream.rows is None
    assert keys_of(stream) == rows


def test_tsv_is_split_at_tabs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("key\tn\na,b\t1\n")
    assert keys_of(file(tmp_path / "a.tsv", "key")) == ["a,b"]


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_text_and_csv_are_read(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / f"a.csv{suffix}").write_bytes(pack(b"key\na\nb\n"))
    (tmp_path / f"a.txt{suffix}").write_bytes(pack(b"a b"))
    assert keys_of(file(tmp_path / f"a.csv{suffix}")) == ["a", "b"]
    assert keys_of(file(tmp_path / f"a.txt{suffix}")) == ["a", "b"]


def test_words_are_in_lower_case_without_the_punctuation_around_them(tmp_path: Path) -> None:
    text = "Don't «stop» —\tNOW, ÉTÉ…\n(e.g. #tags, well-known!)\r\n\u2003The\u00a0end. -- ?!"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8-sig")
    expected = ["don't", "stop", "now", "été", "e.g", "tags", "well-known", "the", "end"]
    assert keys_of(file(tmp_path / "a.txt")) == expected


@settings(deadline=None, max_examples=30)
@given(
    words=st.lists(st.text("abcé漢🎉", min_size=1, max_size=9), min_size=1, max_size=40),
    space=st.sampled_from([" ", "\n", "\t", "\r\n", "  \n"]),
    block=st.integers(40, 200),
    size=st.integers(1, 50),
)
def test_no_word_is_cut_where_a_block_ends(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], space: str, block: int, size: int
) -> None:
    path = tmp_path_factory.mktemp("words") / "a.txt"
    path.write_bytes(space.join(words).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unskew.streams._file_readers.WORD_BLOCK_BYTES", block)
        assert keys_of(file(path), size) == words


def test_files_of_a_directory_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        path = tmp_path / f"part-{number:02}.parquet"
        pq.write_table(pa.table({"key": [number, -number]}), path)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-01.parquet.crc").write_bytes(b"crc")
    (tmp_path / "_metadata").mkdir()
    (tmp_path / "_metadata" / "notes.txt").write_text("notes")
    (tmp_path / "part-03.parquet").touch()
    stream = file(tmp_path)
    assert keys_of(stream) == [1, -1, 2, -2, 10, -10]
    assert stream.rows == 6


def test_a_directory_of_csv_files_may_have_some_without_rows(tmp_path: Path) -> None:
    for name, text in {"a": "key\n", "b": "key\nx\n", "c": "key\n", "d": "key\ny\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    assert keys_of(file(tmp_path)) == ["x", "y"]


def write_small_groups(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, row_group_size=10_000, compression="none")


def write_one_group(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path, row_group_size=ROWS, compression="none")


def write_csv(path: Path, table: pa.Table) -> None:
    pa.csv.write_csv(table, path)


@pytest.mark.parametrize(
    ("name", "write"),
    [("a.parquet", write_small_groups), ("a.parquet", write_one_group), ("a.csv", write_csv)],
    ids=["Parquet", "Parquet of one row group", "CSV"],
)
def test_batches_are_small_and_the_file_is_never_in_memory_whole(
    tmp_path: Path,
    name: str,
    write: Callable[[Path, pa.Table], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("unskew.streams._file_readers.BLOCK_BYTES", MEBIBYTE // 8)
    path = tmp_path / name
    keys = [f"a key that is long enough to fill much memory, {row:,}" for row in range(ROWS)]
    write(path, pa.table({"key": keys, "cost": np.arange(ROWS)}))
    half = path.stat().st_size / 2
    assert half > 8 * MEBIBYTE
    stream = file(path, "key", "cost")
    before, row = pa.total_allocated_bytes(), 0
    for batch in stream.batches(4096):
        assert len(batch.keys) <= 4096
        assert batch.keys[0].as_py() == keys[row]
        assert batch.costs is not None
        assert batch.costs[0] == row
        row += len(batch.keys)
        assert pa.total_allocated_bytes() - before < half
    assert row == ROWS


def test_a_text_is_never_in_memory_whole(tmp_path: Path) -> None:
    line = "some words of a text that goes on and on and on\n"
    lines = 24 * WORD_BLOCK_BYTES // len(line)
    (tmp_path / "a.txt").write_text(line * lines)
    before, highest, rows = pa.total_allocated_bytes(), 0, 0
    for batch in file(tmp_path / "a.txt").batches(1000):
        rows += len(batch.keys)
        assert len(batch.keys) <= 1000
        highest = max(highest, pa.total_allocated_bytes() - before)
    assert rows == lines * len(line.split())
    assert highest < 12 * WORD_BLOCK_BYTES


def test_a_recorded_stream_has_the_rows_and_keys_that_pandas_counts() -> None:
    path = Path(__file__).parents[1] / "golden" / "hashtags.parquet"
    expected = pd.read_parquet(path)["key"].astype(str)  # categories that never come do not count
    stream = file(path, "key")
    assert stream.rows == len(expected) > 0
    assert Counter(keys_of(stream)) == expected.value_counts().to_dict()
