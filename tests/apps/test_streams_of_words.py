"""Applications of words under every grouping give on a stream what plain Spark gives."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.apps.application_cases import OF_WORDS
from tests.apps.streamed_cases import WINDOWED, check_all_groupings, expected_of, streamed

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("cheap_streams")
@pytest.mark.parametrize("spec", OF_WORDS)
def test_words_give_the_result_of_plain_spark_under_every_grouping(
    spark: SparkSession, tmp_path: Path, spec: str
) -> None:
    check_all_groupings(spark, spec, tmp_path)


@pytest.mark.usefixtures("cheap_streams")
@pytest.mark.parametrize("spec", WINDOWED)
def test_words_by_windows_give_the_result_of_plain_spark(
    spark: SparkSession, tmp_path: Path, spec: str
) -> None:
    (done,) = streamed(spark, spec, [WINDOWED[spec]], tmp_path).values()
    assert done.found == expected_of(spark, spec)
