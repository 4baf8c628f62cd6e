"""`apply_in_pandas` gives what ``applyInPandas`` gives; keys are given as for ``groupBy``."""

import sys
from datetime import datetime

import pandas as pd
import pyspark.sql.functions as sf
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WORKERS = 3
TYPES = (
    "user string, n long, mean double, last timestamp, tags array<string>, about map<string,int>"
)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    base = datetime(2024, 3, 30, 12)
    return spark.createDataFrame(
        [
            (
                None if number % 5 == 0 else f"user {number % 7}",
                "ab"[number % 2],
                None if number % 11 == 0 else float(number),
                base.replace(minute=number % 60),
                [str(number % 3)],
                {"n": number},
            )
            for number in range(200)
        ],
        "user string, day string, x double, at timestamp, tags array<string>, "
        "about map<string,int>",
    ).cache()


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Use every kind of value, and check what pandas is given."""
    assert frame["at"].dt.tz is None
    assert isinstance(frame["about"].iloc[0], dict)
    latest = frame.sort_values(["at", "x"]).iloc[-1]
    return pd.DataFrame(
        {
            "user": [frame["user"].iloc[0]],
            "n": [len(frame)],
            "mean": [frame["x"].mean()],
            "last": [latest["at"]],
            "tags": [sorted({tag for tags in frame["tags"] for tag in tags})],
            "about": [{"n": int(frame["about"].map(lambda each: each["n"]).max())}],
        }
    )


def with_key(key: tuple[object, ...], frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([[key[0], key[1], len(frame)]])


def content(df: DataFrame) -> list[str]:
    return sorted(str(row) for row in df.collect())


@pytest.mark.matrix("group_by(…).apply_in_pandas")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_results_are_those_of_spark(spark: SparkSession, rows: DataFrame, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        grouped = us.group_by(rows, "user", workers=WORKERS)
        expected = content(rows.groupBy("user").applyInPandas(summary, TYPES))
        assert content(grouped.apply_in_pandas(summary, TYPES)) == expected
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("grouping", ["auto", "key", "distribution-aware", "wrap:max_replicas=1"])
def test_the_key_is_given_and_columns_may_have_numbers(rows: DataFrame, grouping: str) -> None:
    schema = "user string, day string, n long"
    expected = content(rows.groupBy("user", "day").applyInPandas(with_key, schema))
    grouped = us.group_by(rows, "user", "day", workers=WORKERS, grouping=grouping)
    assert content(grouped.apply_in_pandas(with_key, schema)) == expected


def test_keys_are_names_columns_or_a_list(rows: DataFrame) -> None:
    expected = content(rows.groupBy("user", "day").agg(sf.count("*").alias("n")))
    for by in (("user", "day"), (["user", "day"],), (rows["user"], sf.col("day"))):
        grouped = us.group_by(rows, *by, workers=WORKERS)
        assert content(grouped.agg(sf.count("*").alias("n"))) == expected


def test_a_key_may_be_an_expression_with_a_name(rows: DataFrame) -> None:
    key = sf.upper("day").alias("loud")
    expected = content(rows.groupBy(key).agg(sf.count("*").alias("n")))
    assert content(us.group_by(rows, key, workers=2).agg(sf.count("*").alias("n"))) == expected


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ((), "group_by: by must be at least one column name"),
        (("user", 8), "group_by: by must be column names or Columns, got 8. Hint: give workers by"),
        (("nobody",), "group_by: by must be among the columns"),
        ((sf.upper,), "group_by: by must be column names or Columns"),
    ],
)
def test_bad_keys_are_refused_in_the_name_of_the_verb(
    rows: DataFrame, by: tuple[object, ...], message: str
) -> None:
    with pytest.raises(us.InvalidParameterError, match=message):
        us.group_by(rows, *by, workers=2)  # type: ignore[arg-type] # wrong on purpose


def test_an_expression_does_not_hide_a_column(rows: DataFrame) -> None:
    with pytest.raises(us.InvalidParameterError, match="names that no column has"):
        us.group_by(rows, sf.upper("day").alias("day"), workers=2)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (pd.DataFrame({"a": [1]}), "must have the columns user, n"),
        (pd.DataFrame([[1, 2, 3]]), "must have 2 columns, got 3"),
        ("text", "must be a pandas.DataFrame"),
    ],
    ids=["other names", "too many", "no frame"],
)
def test_what_does_not_fit_the_schema_is_named(
    rows: DataFrame, result: object, message: str
) -> None:
    def wrong(frame: pd.DataFrame) -> object:
        return result

    built = us.group_by(rows, "user", workers=2).apply_in_pandas(wrong, "user string, n long")
    with pytest.raises(Exception, match=message):
        built.collect()


def test_a_scheme_that_splits_keys_is_refused(rows: DataFrame) -> None:
    grouped = us.group_by(rows, "user", workers=2, grouping="partial-key")
    with pytest.raises(us.InvalidParameterError, match="apply_in_pandas: grouping must be one"):
        grouped.apply_in_pandas(summary, TYPES)
