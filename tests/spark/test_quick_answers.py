"""Python workers acknowledge at once what Spark sends."""

import socket
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from unskew.spark.steps.running import map_in_arrow
from unskew.spark.worker.tuning import answer_at_once

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="Linux alone has it")


def connections(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch([pa.array([answer_at_once()])], names=["connections"])


def test_a_worker_finds_its_connection_to_spark(spark: SparkSession) -> None:
    found = map_in_arrow(spark.range(2).coalesce(1), connections, "connections long").collect()
    assert all(row.connections >= 1 for row in found)


def test_connections_of_this_machine_alone_are_set_and_stay_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = answer_at_once()  # a server is no connection
        with socket.create_connection(server.getsockname()) as here, server.accept()[0] as there:
            assert answer_at_once() == before + 2
            here.sendall(b"still open")
            assert there.recv(10) == b"still open"
