"""Applications run in the one Spark session that all tests of a process share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.conftest import spark as spark

_HERE = Path(__file__).parent
_PARTITIONS = "spark.sql.shuffle.partitions"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture
def few_partitions(spark: SparkSession) -> Iterator[None]:
    """Let states of streams, a folder each, be few."""
    before = spark.conf.get(_PARTITIONS)
    spark.conf.set(_PARTITIONS, "2")
    yield
    spark.conf.set(_PARTITIONS, str(before))
