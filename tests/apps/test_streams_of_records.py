"""Applications of records under every grouping give on a stream what plain Spark gives."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.apps.application_cases import OF_RECORDS, SPECS, application_of
from tests.apps.streamed_cases import check_all_groupings

from unskew.apps.registry import APPLICATIONS

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("cheap_streams")
@pytest.mark.parametrize("spec", OF_RECORDS)
def test_records_give_the_result_of_plain_spark_under_every_grouping(
    spark: SparkSession, tmp_path: Path, spec: str
) -> None:
    check_all_groupings(spark, spec, tmp_path)


def test_every_application_is_compared() -> None:
    assert sorted(application_of(spec).name for spec in SPECS) == sorted(APPLICATIONS)
