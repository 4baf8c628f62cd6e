"""Every application under every grouping that fits gives what plain Spark gives, in a batch."""

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from tests.apps.application_cases import APPLICATIONS, SPECS, WORKERS, by_label, labelled, rows_of

from unskew.apps.placing import Placing


@pytest.mark.parametrize("spec", SPECS)
def test_every_grouping_gives_the_result_of_plain_spark(spark: SparkSession, spec: str) -> None:
    application = APPLICATIONS[spec]
    df = spark.createDataFrame(rows_of(application))
    results = {
        grouping: application.balanced(df, Placing(grouping, WORKERS))
        for grouping in application.groupings
    }
    found = by_label(labelled({"plain": application.plain(df), **results}).collect())
    expected = found.pop("plain", Counter())
    assert expected
    wrong = [grouping for grouping in application.groupings if found.get(grouping) != expected]
    assert not wrong
