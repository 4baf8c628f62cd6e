"""`map_rows` and `map_batches` on Spark: the rows of a plain map, whatever the schedule."""

import asyncio
import logging
import re
import sys
import time
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from unskew.errors import InvalidParameterError
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.spark.loads import Loads
from unskew.spark.map_rows import map_batches, map_rows

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SCHEMA = "id long, label string"


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """3,000 rows of three kinds, among them null, one column with a dot in its name."""
    kind = sf.when(sf.col("id") % 50 == 0, "slow").when(sf.col("id") % 7 != 0, "fast")
    return spark.range(0, 3000, 1, 3).select("id", kind.alias("a.kind"), sf.lit(1.5).alias("x"))


def label(row: Row) -> list[tuple[int, str]] | None:
    """Return no row, one or two; a slow kind does more."""
    if row.id % 10 == 3:
        return None
    busy = sum(range(3000 if row["a.kind"] == "slow" else 10))
    return [(row.id, f"{row['a.kind']}{busy}")] * (1 + row.id % 2)


def label_all(batch: pa.RecordBatch) -> pa.Table:
    rows = [result for row in batch.to_pylist() for result in label(Row(**row)) or []]
    columns = {"id": [one for one, _ in rows], "label": [text for _, text in rows]}
    return pa.table(columns, schema=pa.schema([("id", pa.int64()), ("label", pa.string())]))


def expected(df: DataFrame) -> list[tuple[int, str]]:
    return sorted(result for row in df.collect() for result in label(row) or [])


@pytest.mark.matrix("map_rows")
@pytest.mark.parametrize("grouping", ["proactive-shuffle", "shuffle"])
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_the_rows_are_those_of_a_plain_map(
    spark: SparkSession, df: DataFrame, grouping: str, adaptive: str
) -> None:
    before = str(spark.conf.get("spark.sql.adaptive.enabled"))
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        out = map_rows(df, label, SCHEMA, cost_by="a.kind", workers=4, grouping=grouping)
        assert out.columns == ["id", "label"]
        assert sorted(map(tuple, out.collect())) == expected(df)
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


@pytest.mark.matrix("map_batches")
def test_batches_give_the_rows_of_a_plain_map(df: DataFrame) -> None:
    out = map_batches(
        df,
        label_all,
        SCHEMA,
        cost_by=["a.kind", "x"],
        workers=3,
        batch_rows=17,
        grouping="proactive-shuffle",
        seed=5,
    )
    assert sorted(map(tuple, out.collect())) == expected(df)


@pytest.mark.parametrize("rows", [0, 1, 5], ids=["no rows", "one row", "fewer rows than workers"])
def test_few_rows_will_do(spark: SparkSession, df: DataFrame, rows: int) -> None:
    few = df.where(sf.col("id") < rows)
    for out in (
        map_rows(few, label, SCHEMA, cost_by="a.kind", workers=8),
        map_batches(few, label_all, SCHEMA, cost_by="a.kind", workers=8),
    ):
        assert sorted(map(tuple, out.collect())) == expected(few)


def test_a_result_is_made_of_one_evaluation_of_its_input(spark: SparkSession) -> None:
    """Which rows ``limit`` takes, and what a random column holds, is another matter every time."""
    random = sf.udf(lambda: __import__("random").random(), "double").asNondeterministic()
    df = spark.range(0, 4000, 1, 4).withColumn("chance", random()).limit(2000)
    out = map_rows(df, lambda row: (row.id,), "id long", cost_by="chance", workers=2)
    found = out.collect()
    assert len(found) == len(set(found)) == 2000


@pytest.mark.parametrize("call", [map_rows, map_batches])
def test_loads_show_what_was_estimated_and_what_it_took(df: DataFrame, call: Any) -> None:
    loads = Loads()
    function = label if call is map_rows else label_all
    scheme = "proactive-shuffle"
    out = call(df, function, SCHEMA, cost_by="a.kind", workers=3, grouping=scheme, loads=loads)
    assert sorted(map(tuple, out.collect())) == expected(df)
    epoch = loads.epoch
    assert sum(epoch.loads) == epoch.rows == 3000
    assert epoch.busy_seconds is not None
    assert epoch.estimated_seconds is not None
    assert len(epoch.busy_seconds) == len(epoch.estimated_seconds) == 3
    assert min(*epoch.busy_seconds, *epoch.estimated_seconds) > 0
    # Each round of learning brought three reports; its second one, and the job if the reports have
    # changed the estimates, three requests and three replies.
    asked = {"SEND_ALL": 2, "RUN": 1}[str(epoch.phase)]
    assert epoch.messages is not None
    assert epoch.messages >= 2 * 3 + asked * 6
    assert epoch.stats_rows == 3
    assert loads.epoch == epoch  # to look does not change it


def test_in_a_union_with_other_partitions_all_rows_are_counted(
    spark: SparkSession, df: DataFrame
) -> None:
    loads = Loads()
    out = map_rows(df, label, SCHEMA, cost_by="a.kind", workers=4, loads=loads)
    others = spark.range(10, numPartitions=5).selectExpr("id", "'other' AS label")
    assert len(others.union(out).collect()) == 10 + len(expected(df))
    assert sum(loads.epoch.loads) == 3000
    assert min(loads.epoch.loads) > 0


def test_loads_of_rows_that_go_round_robin_have_no_estimates(df: DataFrame) -> None:
    loads = Loads()
    out = map_rows(df, label, SCHEMA, cost_by="a.kind", workers=3, grouping="shuffle", loads=loads)
    assert sorted(map(tuple, out.collect())) == expected(df)
    epoch = loads.epoch
    assert epoch.loads == (1000, 1000, 1000)
    assert epoch.busy_seconds is not None
    assert (epoch.estimated_seconds, epoch.phase, epoch.messages) == (None, None, None)


def sleeps(row: Row) -> tuple[int, str]:
    time.sleep(0.02)
    return (row.id, "")


@pytest.mark.parametrize(("function", "learns"), [(label, False), (sleeps, True)])
def test_by_default_it_learns_only_where_that_can_pay(
    df: DataFrame, caplog: pytest.LogCaptureFixture, function: Any, learns: bool
) -> None:
    """3,000 rows of 20 ms are 30 s for each of two workers; those of `label` next to nothing."""
    with caplog.at_level(logging.INFO, "unskew.spark"):
        out = map_rows(df, function, SCHEMA, cost_by="a.kind", workers=2)
    told = [record.getMessage() for record in caplog.records]
    assert any("nothing is learned" in message for message in told) is not learns
    if not learns:  # the other job takes long
        assert sorted(map(tuple, out.collect())) == expected(df)


def test_to_ask_for_a_number_of_rows_is_to_learn(df: DataFrame) -> None:
    loads = Loads()
    out = map_rows(df, label, SCHEMA, cost_by="a.kind", workers=2, learn_rows=100, loads=loads)
    assert sorted(map(tuple, out.collect())) == expected(df)
    assert loads.epoch.estimated_seconds is not None


def fails(row: Row) -> tuple[int, str]:
    if row["a.kind"] == "slow":
        raise KeyError("price")
    return (row.id, "")


def hangs(batch: pa.RecordBatch) -> pa.RecordBatch:
    time.sleep(60)
    return batch


def test_errors_reach_the_user_with_function_worker_and_key(df: DataFrame) -> None:
    with pytest.raises(PySparkException, match=r"fails: .* worker \d at key a.kind='slow': KeyErr"):
        map_rows(df, fails, SCHEMA, cost_by="a.kind", workers=2)
    late = map_batches(
        df,
        hangs,
        SCHEMA,
        cost_by="x",
        workers=2,
        row_timeout=0.01,
        batch_rows=5,
        grouping="shuffle",
    )
    with pytest.raises(PySparkException, match=r"hangs: .* worker \d at key x=1.5: TimeoutError"):
        late.collect()


async def answers(row: Row) -> list[tuple[int, str]] | None:
    await asyncio.sleep(0.001)
    fails(row)
    return label(row)


async def answers_all(batch: pa.RecordBatch) -> pa.Table:
    for row in batch.to_pylist():
        fails(Row(**row))
    return label_all(batch)


@pytest.mark.parametrize("grouping", ["proactive-shuffle", "shuffle"])
@pytest.mark.parametrize(("call", "function"), [(map_rows, answers), (map_batches, answers_all)])
def test_rows_that_fail_are_kept_and_all_others_are_those_of_a_plain_map(
    df: DataFrame, call: Any, function: Any, grouping: str
) -> None:
    out = call(
        df,
        function,
        SCHEMA,
        cost_by="a.kind",
        workers=3,
        grouping=grouping,
        retries=0,
        on_error="dead-letter",
        in_flight=8,
    )
    assert out.columns == ["id", "label", "dead_letter"]
    rows = out.cache()
    slow = sf.col("`a.kind`") == "slow"
    fine = df.where(~sf.coalesce(slow, sf.lit(False)))
    found = rows.where("dead_letter IS NULL").drop("dead_letter").collect()
    assert sorted(map(tuple, found)) == expected(fine)
    letters = rows.where("dead_letter IS NOT NULL").orderBy("id")
    failed = df.where(slow).orderBy("id").collect()
    assert [row.dead_letter.row for row in letters.collect()] == failed
    assert [row.id for row in letters.collect()] == [row.id for row in failed]
    why = letters.select("label", "dead_letter.error").distinct().collect()
    assert [tuple(row) for row in why] == [(None, "KeyError: 'price'")]
    rows.unpersist()


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"func": 5}, "func"),
        ({"schema": pa.schema([])}, "schema"),
        ({"schema": 5}, "schema"),
        ({"cost_by": "user"}, "cost_by"),
        ({"cost_by": []}, "cost_by"),
        ({"workers": 0}, "workers"),
        ({"row_timeout": 0}, "row_timeout"),
        ({"row_timeout": "long"}, "row_timeout"),
        ({"retries": -1}, "retries"),
        ({"on_error": "ignore"}, "on_error"),
        ({"on_error": "dead-letter", "schema": "id long, dead_letter string"}, "on_error"),
        ({"on_error": "null", "schema": "id long, label string NOT NULL"}, "schema"),
        ({"in_flight": 4}, "in_flight"),
        ({"func": answers, "in_flight": 0}, "in_flight"),
        ({"learn_rows": 0}, "learn_rows"),
        ({"grouping": "wrap"}, "grouping"),
        ({"grouping": ProactiveShuffle(3)}, "grouping"),
        ({"grouping": 7}, "grouping"),
        ({"plan_path": "plans"}, "plan_path"),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", str(value)),  # the same in every process
)
def test_bad_parameters_are_refused_when_called(
    df: DataFrame, change: dict[str, Any], parameter: str
) -> None:
    given = {"func": label, "schema": SCHEMA, "cost_by": "a.kind", "workers": 2, **change}
    for call in (map_rows, map_batches):
        with pytest.raises(InvalidParameterError) as caught:
            call(df, given.pop("func"), given.pop("schema"), **given)
        assert (caught.value.owner, caught.value.parameter) == (call.__name__, parameter)
        given = {"func": label, "schema": SCHEMA, "cost_by": "a.kind", "workers": 2, **change}


def test_a_stream_is_mapped_in_turn(spark: SparkSession, df: DataFrame, tmp_path: Any) -> None:
    df.drop("a.kind").write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("id long, x double").parquet(str(tmp_path / "in"))
    out = map_batches(
        stream,
        lambda batch: batch.select(["id"]),
        "id long",
        cost_by="x",
        workers=2,
        grouping="shuffle",
    )
    query = out.writeStream.format("memory").queryName("mapped").trigger(availableNow=True).start()
    query.awaitTermination()
    assert spark.table("mapped").count() == 3000
    spark.sql("DROP VIEW mapped")
