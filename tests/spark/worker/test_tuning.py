"""Tuning of Python workers: off by default; acknowledges at once, and spares the collector."""

import gc
import socket
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from unskew.spark.steps.running import map_in_arrow, shipped
from unskew.spark.worker import tuning
from unskew.spark.worker.tuning import SWITCH, answer_at_once, rest_what_is_loaded

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

on_linux = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="Linux alone has it")


class Node:
    """Refers to itself, so that only the collector can free it."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_only_new_modules_put_things_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    rest_what_is_loaded()
    resting = gc.get_freeze_count()
    assert resting > 0
    assert not rest_what_is_loaded()
    monkeypatch.setitem(sys.modules, "a_new_module", ModuleType("a_new_module"))
    assert rest_what_is_loaded()


def test_what_comes_later_is_collected_as_ever() -> None:
    rest_what_is_loaded()
    gc.disable()  # it would now and then come between
    try:
        node = weakref.ref(Node())
        assert node() is not None
    finally:
        gc.enable()
    gc.collect()
    assert node() is None


def frozen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch([pa.array([gc.get_freeze_count()])], names=["frozen"])


@pytest.mark.parametrize("switch", [None, "0", "1"])
def test_the_users_process_is_left_alone_unless_asked(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, switch: str | None
) -> None:
    monkeypatch.delenv(SWITCH, raising=False)
    if switch is not None:
        monkeypatch.setenv(SWITCH, switch)
    step = shipped(frozen)

    def thawed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Workers are used again: another test may have left this one frozen.
        gc.unfreeze()
        tuning._modules = 0
        yield from step(batches)

    [found] = spark.range(1).coalesce(1).mapInArrow(thawed, "frozen long").collect()
    assert (found.frozen > 0) == (switch == "1")


def connections(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch([pa.array([answer_at_once()])], names=["connections"])


@on_linux
def test_a_worker_finds_its_connection_to_spark(spark: SparkSession) -> None:
    found = map_in_arrow(spark.range(2).coalesce(1), connections, "connections long").collect()
    assert all(row.connections >= 1 for row in found)


@on_linux
def test_connections_of_this_machine_alone_are_set_and_stay_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        before = answer_at_once()  # a server is no connection
        with socket.create_connection(server.getsockname()) as here, server.accept()[0] as there:
            assert answer_at_once() == before + 2
            here.sendall(b"still open")
            assert there.recv(10) == b"still open"
