"""One Spark session for all tests of a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from unskew.spark.local_session import session

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two threads, four shuffle partitions, UTC; ANSI as Spark 4 has it: on."""
    running = session(
        master="local[2]",
        app_name="unskew tests",
        **{
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": 4,
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        },
    )
    running.sparkContext.setLogLevel("ERROR")
    yield running
    running.stop()
