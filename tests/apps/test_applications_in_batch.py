"""Every application under every grouping that fits gives what plain Spark gives, in a batch."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from tests.apps.application_cases import (
    SPECS,
    WORKERS,
    application_of,
    by_label,
    labelled,
    table_of,
)

import unskew.spark as us
from unskew.apps.placing import Placing
from unskew.errors import InvalidParameterError

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("spec", SPECS)
def test_every_grouping_gives_the_result_of_plain_spark(spark: SparkSession, spec: str) -> None:
    application = application_of(spec)
    df = spark.createDataFrame(table_of(spec))
    results = {
        grouping: application.balanced(df, Placing(grouping, WORKERS))
        for grouping in application.groupings
    }
    found = by_label(labelled({"plain": application.plain(df), **results}).collect())
    expected = found.pop("plain", Counter())
    assert expected
    wrong = [grouping for grouping in application.groupings if found.get(grouping) != expected]
    assert not wrong


@pytest.mark.parametrize("spec", ["wordcount", "field-grid", "enrich"])
def test_work_a_row_changes_no_result(spark: SparkSession, spec: str) -> None:
    application = application_of(spec)
    df = spark.createDataFrame(table_of(spec))
    loads = us.Loads()
    slow = Placing(application.groupings[0], WORKERS, delay=1e-6, loads=loads)
    results = {
        "plain": application.plain(df),
        "slow plain": application.plain(df, slow),
        "slow balanced": application.balanced(df, slow),
    }
    found = by_label(labelled(results).collect())
    assert found["plain"] == found["slow plain"] == found["slow balanced"]
    assert sum(loads.epoch.loads) == df.count() * (4 if spec == "field-grid" else 1)


def test_what_cannot_be_merged_refuses_to_be_split(spark: SparkSession) -> None:
    application = application_of("field-grid")
    df = spark.createDataFrame(table_of("field-grid"))
    with pytest.raises(InvalidParameterError, match=r"apply_in_arrow: grouping must be one that"):
        application.balanced(df, Placing("partial-key", WORKERS))
    with pytest.raises(InvalidParameterError, match="shuffle, proactive-shuffle or auto"):
        application_of("enrich").balanced(
            spark.createDataFrame(table_of("enrich")), Placing("key", WORKERS)
        )
