"""Records that are no rows are counted, put aside if asked, and never stop the stream."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.apps.running.run_cases import asked, last_counts

from unskew.errors import InvalidParameterError, UnskewError

pytestmark = pytest.mark.slow

AT = "2000-01-01T00:00:00Z"
BAD_JSON = [
    '{"at": "2000-01-01T00:00:00Z", "word":',
    "not json at all",
    '["the"]',
    '{"at": "yesterday", "word": "the"}',
    '{"at": "2000-01-01T00:00:00Z"}',
    '{"at": "2000-01-01T00:00:00Z", "word": null}',
]


def write_json(folder: Path) -> None:
    folder.mkdir()
    for number in range(2):
        rows = [json.dumps({"at": AT, "word": word}) for word in ["the"] * 30 + ["of"] * 10]
        lines = [*rows, *(BAD_JSON if number == 0 else [])]
        (folder / f"{number}.json").write_text("\n".join(lines) + "\n")


def test_json_that_is_no_row_is_put_aside_and_the_stream_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_json(tmp_path / "in")
    aside = tmp_path / "aside"
    run = asked(
        tmp_path / "run", "key", source=f"files:{tmp_path / 'in'}", max_batches=2,
        dead_letters=aside,
    )  # fmt: skip
    (done,) = run.run(spark)
    assert last_counts(spark, "key") == {"the": 60, "of": 20}
    assert sorted(batch.epoch.dead_letters for batch in done.batches) == [0, len(BAD_JSON)]
    assert done.dead_letters == len(BAD_JSON)
    kept = [line for file in aside.glob("*.txt") for line in file.read_text().splitlines()]
    assert len(kept) == len(BAD_JSON)
    unreadable = Counter(kept) & Counter(BAD_JSON)
    assert sum(unreadable.values()) >= 4, "what cannot be parsed is kept to the letter"


def test_csv_that_is_no_row_is_counted_and_the_stream_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    bad = ["yesterday,the", f"{AT}", f"{AT},the,more", ",the"]
    lines = ["at,word", *[f"{AT},the"] * 30, *bad, *[f"{AT},of"] * 5]
    (folder / "all.csv").write_text("\n".join(lines) + "\n")
    run = asked(tmp_path / "run", "key", source=f"files:{folder}", max_batches=1)
    (done,) = run.run(spark)
    assert last_counts(spark, "key") == {"the": 30, "of": 5}
    assert done.dead_letters == len(bad)


def test_a_file_with_other_columns_is_told_before_the_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    for kind in ("csv", "parquet"):
        (tmp_path / kind).mkdir()
    (tmp_path / "csv" / "turned.csv").write_text(f"word,at\nthe,{AT}\n")
    pq.write_table(pa.table({"at": [1], "token": ["the"]}), tmp_path / "parquet" / "a.parquet")
    for kind, found in (("csv", r"turned\.csv with word, at"), ("parquet", "with at, token")):
        run = asked(tmp_path / "run", "key", source=f"files:{tmp_path / kind}")
        with pytest.raises(InvalidParameterError, match=f"columns at, word, got .*{found}"):
            run.run(spark)


def test_a_file_that_is_none_ends_the_query_and_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "broken.parquet").write_text("no parquet")
    run = asked(tmp_path / "run", "key", source=f"files:{tmp_path / 'in'}", max_batches=1)
    with pytest.raises(UnskewError, match=r"key: .*broken\.parquet"):
        run.run(spark)
