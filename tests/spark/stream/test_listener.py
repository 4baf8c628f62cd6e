"""What PySpark asks of every exception is looked up once, and answered as before."""

from typing import Any

import pytest
from py4j.java_gateway import JavaClass, is_instance_of  # type: ignore[import-untyped]  # no hints
from pyspark import SparkContext
from pyspark.sql import SparkSession

from unskew.spark.stream.listener import keep_class_lookups


@pytest.fixture
def jvm(spark: SparkSession) -> Any:
    keep_class_lookups()
    return SparkContext._jvm


def test_the_class_is_found_once(jvm: Any) -> None:
    assert isinstance(jvm.py4j.reflection.TypeUtil, JavaClass)
    assert jvm.py4j.reflection.TypeUtil is jvm.py4j.reflection.TypeUtil
    # As a rule every look is a new one, for a new object.
    assert jvm.java.lang.String is not jvm.java.lang.String


def test_answers_and_all_other_classes_are_as_before(jvm: Any) -> None:
    error = jvm.java.lang.NumberFormatException("x")
    kinds = ("NumberFormatException", "IllegalArgumentException", "ArithmeticException")
    gateway = SparkContext._gateway
    found = [is_instance_of(gateway, error, f"java.lang.{kind}") for kind in kinds]
    assert found == [True, True, False]
    assert isinstance(jvm.py4j.GatewayServer, JavaClass)
    assert isinstance(jvm.py4j.reflection.ReflectionEngine, JavaClass)


def test_collections_of_java_are_read_to_their_end(jvm: Any) -> None:
    numbers = jvm.java.util.ArrayList()
    for number in range(3):
        numbers.add(number)
    assert list(iter(numbers)) == [0, 1, 2]
