"""A user's function that fails is named, with its worker and a key, in batch and on streams."""

from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from tests.spark.grouped_cases import (
    SPREAD,
    SUMS,
    FailsAtHot,
    SumAndCount,
    breaks,
    file_stream,
    run_to_end,
    skewed_rows,
    spread,
)

from unskew.spark.aggregators import State
from unskew.spark.group_by import group_by
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(skewed_rows())


@pytest.mark.parametrize(
    ("step", "place"),
    [("update", r"worker [0-2] at key user='u1'"), ("merge", "merging"), ("finish", "merging")],
)
def test_a_failing_aggregator_is_named_with_its_worker_and_key(
    rows: DataFrame, step: str, place: str
) -> None:
    placed = group_by(rows, "user", workers=3, grouping="shuffle")
    failing = placed.apply(FailsAtHot(step), SUMS)
    message = rf"FailsAtHot: {step} failed on {place}.*ZeroDivisionError: too hot"
    with pytest.raises(PySparkException, match=message):
        failing.collect()


def test_a_failing_function_is_named_with_its_worker_and_key(rows: DataFrame) -> None:
    message = r"breaks: the function failed on worker [0-2] at key user=.*ZeroDivisionError"
    with pytest.raises(PySparkException, match=message):
        group_by(rows, "user", workers=3).apply_in_arrow(breaks, SPREAD).collect()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("user string, x bigint", "user string, x int64; got n int64, user string, x"),
        ("user string, x bigint, n double", "user string, x int64, n double; got n int64"),
    ],
)
def test_a_result_unlike_the_schema_is_refused_with_both(
    rows: DataFrame, schema: str, expected: str
) -> None:
    with pytest.raises(
        PySparkException, match=f"spread: the result must have the columns {expected}"
    ):
        group_by(rows, "user", workers=3).apply_in_arrow(spread, schema).collect()


def test_a_null_that_was_promised_not_to_be_is_refused(rows: DataFrame) -> None:
    class Forgetful(SumAndCount):
        def finish(self, state: State) -> State:
            return (None if state[1] else 0,)

    forgetful = group_by(rows, "user", workers=3).apply(Forgetful(), "total bigint not null")
    with pytest.raises(PySparkException, match=r"Forgetful: the result .* total must not be null"):
        forgetful.collect()


@pytest.mark.parametrize(
    ("step", "place"),
    [
        ("update", r"worker [0-2] at key user='u1'"),
        ("merge", r"merging partition \d at key user="),
        ("finish", r"merging partition \d at key user="),
    ],
)
def test_a_failing_aggregator_is_named_in_the_error_of_the_stream(
    spark: SparkSession, rows: DataFrame, tmp_path: Path, step: str, place: str
) -> None:
    spark.conf.set(STATE_STORE, ROCKSDB)
    try:
        stream = file_stream(spark, rows, tmp_path / "in", files=1)
        failing = group_by(stream, "user", workers=3, grouping="shuffle").apply(
            FailsAtHot(step), SUMS
        )
        message = rf"FailsAtHot: {step} failed on {place}.*ZeroDivisionError: too hot"
        with pytest.raises(StreamingQueryException, match=message):
            run_to_end(failing, f"failing_{step}", "update", tmp_path)
    finally:
        spark.conf.unset(STATE_STORE)


def test_a_failing_function_is_named_in_the_error_of_the_stream(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    stream = file_stream(spark, rows, tmp_path / "in", files=1)
    failing = group_by(stream, "user", workers=3, grouping="key").apply_in_arrow(breaks, SPREAD)
    message = r"breaks: the function failed on worker [0-2] at key user=.*ZeroDivisionError"
    with pytest.raises(StreamingQueryException, match=message):
        run_to_end(failing, "failing_function", "append", tmp_path)
