"""Applications run in the one Spark session that all tests of a process share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.conftest import spark as spark

from unskew.spark.applying import ROCKSDB, STATE_STORE

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents and "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)


@pytest.fixture
def rocksdb(spark: SparkSession) -> Iterator[None]:
    """Let Python states live on streams."""
    spark.conf.set(STATE_STORE, ROCKSDB)
    yield
    spark.conf.unset(STATE_STORE)
