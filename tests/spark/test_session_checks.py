"""A session that could lose rows with an executor warns where rows are placed by their order."""

import warnings
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew.spark.session import CHECKED, LostExecutorWarning

pytestmark = pytest.mark.spark


def by_row_number(df: DataFrame) -> DataFrame:
    return us.balance(df, "id", 2, grouping="shuffle")


def row_by_row(df: DataFrame) -> DataFrame:
    return us.balance(df, "id", 2, grouping="partial-key")


def by_hash(df: DataFrame) -> DataFrame:
    return us.balance(df, "id", 2, grouping="key")


@pytest.fixture(params=sorted(CHECKED))
def unchecked(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    before = spark.conf.get(request.param)
    spark.conf.set(request.param, "false")
    yield spark
    spark.conf.set(request.param, str(before))


@pytest.mark.parametrize("place", [by_row_number, row_by_row])
def test_rows_placed_by_their_order_are_warned_of(
    unchecked: SparkSession, place: Callable[[DataFrame], DataFrame]
) -> None:
    with pytest.warns(LostExecutorWarning, match=r"orderIndependentChecksum\S+=false"):
        place(unchecked.range(3))


def test_rows_placed_by_their_key_are_safe(unchecked: SparkSession) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_hash(unchecked.range(3))


@pytest.mark.parametrize("place", [by_row_number, row_by_row, by_hash])
def test_a_session_that_checks_is_not_warned_of(
    spark: SparkSession, place: Callable[[DataFrame], DataFrame]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        place(spark.range(3))
