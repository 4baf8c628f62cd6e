"""Sessions by gap are those of Spark's ``lag`` and a running sum, over any cut."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession, Window

import unskew.spark as us
from unskew.errors import InvalidParameterError
from unskew.spark.windows.ordering import check_order
from unskew.spark.windows.ranges import learn_ranges


def plain(df: DataFrame, time: str, gap: Column) -> DataFrame:
    """Return sessions as Spark users write them."""
    window = Window.partitionBy("user").orderBy(time)
    begins = sf.when(sf.col(time) <= sf.lag(time).over(window) + gap, 0).otherwise(1)
    running = window.rowsBetween(Window.unboundedPreceding, 0)
    return (
        df.withColumn("begins", begins)
        .withColumn("session", sf.sum("begins").over(running))
        .drop("begins")
    )


def content(df: DataFrame) -> list[str]:
    return sorted(map(repr, map(tuple, df.collect())))


@pytest.fixture(scope="module")
def clicks(spark: SparkSession) -> DataFrame:
    """Clicks of which seven in ten are one user's; seconds with ties and nulls, long pauses."""
    rng = np.random.default_rng(5)
    seconds = np.cumsum(rng.choice([0, 1, 5, 2_000], 600, p=[0.2, 0.4, 0.3, 0.1]))
    start = dt.datetime(2024, 3, 30, 20, tzinfo=dt.UTC)
    rows = [
        (
            "hot" if rng.random() < 0.7 else f"u{rng.integers(20)}",
            None if rng.random() < 0.02 else int(second),
            None if rng.random() < 0.02 else start + dt.timedelta(seconds=int(second)),
        )
        for second in rng.permutation(seconds)
    ]
    return spark.createDataFrame(rows, "user string, second bigint, at timestamp").repartition(3)


def test_sessions_go_on_over_the_cuts(clicks: DataFrame) -> None:
    order = check_order(clicks, "second", owner="sessions")
    assert len(learn_ranges(clicks, ["user"], order, 8, 0).cut_keys) >= 1
    found = us.sessions(clicks, "user", "second", 60, workers=8)
    expected = plain(clicks, "second", sf.lit(60))
    assert found.schema["session"].dataType == expected.schema["session"].dataType
    assert content(found) == content(expected)


@pytest.mark.slow
@pytest.mark.parametrize("gap", ["30 minutes", dt.timedelta(minutes=30)], ids=["text", "delta"])
def test_times_have_gaps_of_time(clicks: DataFrame, gap: str | dt.timedelta) -> None:
    found = us.sessions(clicks, "user", "at", gap, workers=6, name="visit")
    expected = plain(clicks, "at", sf.expr("INTERVAL 30 MINUTES"))
    assert content(found) == content(expected)
    assert found.columns[-1] == "visit"


@pytest.mark.slow
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seconds=st.lists(st.one_of(st.none(), st.integers(0, 12)), max_size=25),
    gap=st.integers(0, 3),
    workers=st.integers(1, 8),
)
def test_small_tables(
    spark: SparkSession, seconds: list[int | None], gap: int, workers: int
) -> None:
    rows = [("a" if number % 4 else "b", second) for number, second in enumerate(seconds)]
    df = spark.createDataFrame(rows, "user string, second bigint")
    found = us.sessions(df, "user", "second", gap, workers=workers)
    assert content(found) == content(plain(df, "second", sf.lit(gap)))


def test_bad_input_is_refused(clicks: DataFrame) -> None:
    def call(**changed: Any) -> Callable[[], object]:
        given = {"by": "user", "time": "at", "gap": "1 hour", "workers": 2, **changed}
        return lambda: us.sessions(clicks, **given)

    calls = {
        "sessions: by": call(by="usr"),
        "sessions: time must be among": call(time="when"),
        "sessions: time must be a column of timestamps": call(time="user"),
        "sessions: gap must be a timedelta": call(gap="half an hour"),
        "sessions: gap must be a number >= 0": call(time="second", gap=-1),
        "sessions: workers": call(workers=0),
        "sessions: name": call(name="AT"),
    }
    for message, one in calls.items():
        with pytest.raises(InvalidParameterError, match=message):
            one()
