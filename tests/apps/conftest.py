"""What tests of applications share."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

# States are a folder each. Queries that wait look for files this often, a dozen at a time. Batches
# without rows, which only forget old windows, give out nothing.
_CHEAP = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.pollingDelay": "500ms",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


@pytest.fixture
def cheap_streams(spark: SparkSession) -> Iterator[None]:
    """Let streams, of which there are many, cost little."""
    before = {name: str(spark.conf.get(name)) for name in _CHEAP}
    for name, value in _CHEAP.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)
