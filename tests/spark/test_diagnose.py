"""``us.diagnose``: the profile of a DataFrame against counts by hand, and what it recommends."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew.advisor.diagnosis import Diagnosis
from unskew.advisor.drift import measure_drift
from unskew.advisor.key_counts import count_by_key
from unskew.cli.main import main
from unskew.errors import InvalidParameterError, StreamError
from unskew.spark.diagnose import drift_over, profile_pass, profile_sample

KEYS = [None if n % 4 == 0 else "hot" if n % 4 == 1 else f"k{n % 97}" for n in range(4000)]
COUNTS = Counter(KEYS)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """A quarter of the rows have no key, another one is of ``hot``; ``rows`` is a column too."""
    numbers = list(range(len(KEYS)))
    return spark.createDataFrame(pa.table({"user": KEYS, "rows": numbers, "day": numbers}))


def test_a_pass_counts_what_counting_by_hand_counts(rows: DataFrame) -> None:
    profile = profile_pass(rows, "user")
    assert (profile.rows, profile.keys, profile.keys_exact) == (4000, len(COUNTS), True)
    assert profile.null_share == COUNTS[None] / 4000
    assert profile.p1 == max(COUNTS.values()) / 4000
    named = {each.key: each.rows for each in profile.top(200)}
    assert named == COUNTS


def test_only_the_hottest_keys_come_back_and_the_others_as_a_sum(
    rows: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[profile_pass.__module__], "MOST_KEYS", 5)
    profile = profile_pass(rows, "user")
    assert profile.counts.ids.size == 5
    assert (profile.rows, profile.keys) == (4000, len(COUNTS))
    assert profile.tail_keys == len(COUNTS) - 5


def test_a_sample_is_bounded_and_near_the_truth(rows: DataFrame) -> None:
    profile = profile_sample(rows, "user", 1000, seed=3)
    assert profile.rows == 4000
    assert profile.counted <= 1000 + 5 * 32
    assert profile.p1 == pytest.approx(0.25, abs=0.07)  # five standard deviations
    assert profile.keys == pytest.approx(len(COUNTS), rel=0.15)
    # All rows are looked at where there are no more.
    assert profile_sample(rows, "user", 4000).keys_exact


def test_several_columns_make_one_key_and_one_list_in_the_code(rows: DataFrame) -> None:
    df = rows.select("user", (sf.col("day") % 2).alias("day"))
    expected = Counter((key, n % 2) for n, key in enumerate(KEYS))
    found = us.diagnose(df, ["user", "day"], workers=4, learn="pass")
    assert found.profile.keys == len(expected)
    assert found.profile.null_share == 0.0
    assert {each.key for each in found.profile.top(2)} == {"null, 0", "hot, 1"}
    assert 'us.group_by(df, ["user", "day"], workers=4' in found.recommendation.code


def test_a_hot_key_is_worth_splitting_and_builtin_work_is_left_alone(rows: DataFrame) -> None:
    found = us.diagnose(rows, "user", workers=8)
    assert isinstance(found, Diagnosis)
    assert found.recommendation.grouping == "wrap"
    assert found.recommendation.code in repr(found)
    assert "not known" in repr(found)
    assert "hot" in found._repr_html_() or "null" in found._repr_html_()
    builtin = us.diagnose(rows, "user", workers=8, work="builtin")
    assert builtin.recommendation.grouping is None


def test_a_column_of_time_tells_whether_hot_keys_change(rows: DataFrame) -> None:
    found = us.diagnose(rows.orderBy(sf.rand(1)), "user", workers=2, time="day")
    assert found.profile.drift.windows == 20
    assert found.profile.drift.largest < 0.05
    assert "not known" not in repr(found)


def test_bad_input_gives_a_clear_message(spark: SparkSession, rows: DataFrame) -> None:
    with pytest.raises(StreamError, match="no rows"):
        us.diagnose(rows.where("false"), "user", workers=4)
    good: dict[str, Any] = {"df": rows, "by": "user", "workers": 4}
    for bad in ({"by": "nobody"}, {"workers": 0}, {"work": "odd"}, {"learn": "guess"}, {"rows": 0}):
        with pytest.raises(InvalidParameterError):
            us.diagnose(**{**good, **bad})
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InvalidParameterError, match="batch DataFrame"):
        us.diagnose(stream, "value", workers=4)


@pytest.mark.parametrize(("key", "share"), [(None, 1.0), ("one", 0.0)])
def test_one_key_or_only_nulls_are_told_as_they_are(
    spark: SparkSession, key: str | None, share: float
) -> None:
    df = spark.createDataFrame(pa.table({"user": pa.array([key] * 300, pa.string())}))
    found = us.diagnose(df, "user", workers=4, work="atomic")
    assert (found.profile.keys, found.profile.p1, found.profile.null_share) == (1, 1.0, share)
    assert found.recommendation.grouping is None


def test_with_a_column_of_time_drift_is_what_measuring_the_ordered_rows_gives(
    spark: SparkSession,
) -> None:
    rng = np.random.default_rng(3)
    keys = np.where(np.arange(20_000) < 9_000, 1, 2)
    keys = np.where(rng.random(20_000) < 0.4, keys, rng.integers(10, 60, 20_000))
    order = rng.permutation(20_000)  # the rows of a table lie as they like
    days = np.datetime64("2020-01-01", "us") + order.astype("timedelta64[m]")
    rows = pa.table({"user": keys[order], "at": days, "text": keys[order].astype(str)})
    df = spark.createDataFrame(rows)
    found = drift_over(df, "user", "at")
    expected = measure_drift(
        [count_by_key(part.astype(np.uint64)) for part in np.array_split(keys, 20)]
    )
    assert found.windows == expected.windows == 20
    for name in ("mean", "largest", "overall"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=0.01)
    for bad in ("nothing", "text"):
        with pytest.raises(InvalidParameterError, match="time must be"):
            drift_over(df, "user", bad)


def test_the_command_line_reads_a_table_of_spark(
    rows: DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows.write.parquet(str(tmp_path / "table"))
    table = f"table:parquet.`{tmp_path / 'table'}`"
    assert main(["diagnose", table, "--by", "user", "-w", "8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["stream"], found["profile"]["keys"]) == (table, len(COUNTS))
    for bad in (["table:nowhere", "--by", "user"], [table], [table, "--by", "nobody"]):
        assert main(["diagnose", *bad]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
