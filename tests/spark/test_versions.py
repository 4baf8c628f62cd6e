"""What a version of Spark cannot do, it says when it is asked; all else works without it."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession

import unskew.spark as us
from unskew.spark.steps.applying import STATE_STORE
from unskew.spark.versions import (
    CHECKSUMS,
    FREQUENT_ITEMS,
    QUANTILES,
    STATE_IN_PYTHON,
    SparkVersionError,
    local_rows,
    require,
    require_functions,
    schema_from_ddl,
    to_arrow,
    version_of,
)

pytestmark = pytest.mark.matrix("what is missing is refused by name")


def test_a_version_that_is_too_old_says_which_one_has_it(spark: SparkSession) -> None:
    with pytest.raises(SparkVersionError, match=r"^time travel needs Spark 99\.1 or newer; this"):
        require(spark, (99, 1), "time travel")
    with pytest.raises(SparkVersionError, match=r"^time travel needs Spark 99\.1 or newer; inst"):
        require_functions((99, 1), "time travel")
    require(spark, version_of(spark), "what it has")


@pytest.mark.parametrize(
    ("since", "words"),
    [
        (FREQUENT_ITEMS, "balance_stream with plan_path needs Spark 4.1"),
        (STATE_IN_PYTHON, "apply on a stream needs Spark 4.1"),
        (FREQUENT_ITEMS, "top_k needs Spark 4.1"),
        (QUANTILES, "quantiles needs Spark 4.1"),
    ],
)
def test_what_is_missing_is_refused_when_called_and_what_is_there_is_not(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    since: tuple[int, int],
    words: str,
) -> None:
    stream = spark.readStream.format("rate").load().withColumn("user", sf.col("value") % 3)
    calls: dict[str, Callable[[], object]] = {
        "balance": lambda: us.balance_stream(stream, "user", 4, plan_path=tmp_path),
        "apply": lambda: us.group_by(stream, "user", workers=4, grouping="key").apply(
            us.Mean("value"), "mean double"
        ),
        "top_k": lambda: us.top_k("value", 3),
        "quantiles": lambda: us.quantiles("value", [0.5]),
    }
    call = next(call for name, call in calls.items() if words.startswith(name))
    if version_of(spark) >= since:
        monkeypatch.setattr("unskew.spark.steps.applying.ROCKSDB", spark.conf.get(STATE_STORE))
        call()
        return
    with pytest.raises(SparkVersionError, match=words):
        call()


def test_rows_arrive_as_arrow_with_their_types_also_if_there_are_none(spark: SparkSession) -> None:
    rows = spark.range(5).select("id", sf.col("id").cast("string").alias("text"))
    kinds = [pa.int64(), pa.string()]
    assert to_arrow(rows).to_pydict() == {"id": [*range(5)], "text": [*"01234"]}
    for table in (to_arrow(rows), to_arrow(rows.where("id < 0"))):
        assert table.schema.types == kinds
    assert [tuple(row) for row in local_rows(rows).collect()] == [(n, str(n)) for n in range(5)]


def test_ddl_text_becomes_a_schema(spark: SparkSession) -> None:
    kind = schema_from_ddl("n bigint, `a b` array<string>")
    assert kind.simpleString() == "struct<n:bigint,a b:array<string>>"


def test_order_may_place_rows_but_not_in_silence(spark: SparkSession) -> None:
    numbers = spark.range(10)
    if version_of(spark) >= CHECKSUMS:
        us.balance(numbers, "id", 2, grouping="partial-key")
        return
    with pytest.warns(us.LostExecutorWarning, match=r"only from 4\.1 on"):
        us.balance(numbers, "id", 2, grouping="partial-key")
