"""Loads tell what every worker got and did, and cost nobody a job."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.grouped_cases import (
    SPREAD,
    SUMS,
    SumAndCount,
    file_stream,
    multiset,
    run_to_end,
    skewed_rows,
    spread,
    summed,
)

from unskew.errors import InvalidParameterError, UnskewError
from unskew.events import PLAN_RECORD, Epoch, append_epoch
from unskew.metrics import imbalance_percent
from unskew.spark.aggregators import State
from unskew.spark.balance import balance
from unskew.spark.columns import identity
from unskew.spark.group_by import GroupedFrame, group_by
from unskew.spark.loads import LOADS_SCHEMA, Loads
from unskew.spark.plans.saved import PlanStore
from unskew.spark.routing.learning import learn_placing
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.steps.applying import ROCKSDB, STATE_STORE

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

_WORKERS = 4


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    df = spark.createDataFrame(skewed_rows()).repartition(3).cache()
    df.count()
    yield df
    df.unpersist()


class Sleeps(SumAndCount):
    """Takes a millisecond a row: work that can be told from the rest."""

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        time.sleep(0.001 * batch.num_rows)
        return super().update(state, batch)


def _held(placed: DataFrame) -> tuple[dict[int, int], set[tuple[int, object]]]:
    """Rows of each worker, and which keys are where, by looking at every row."""
    where = placed.select(sf.spark_partition_id(), "user").collect()
    return dict(Counter(row[0] for row in where)), {(row[0], row[1]) for row in where}


@pytest.mark.parametrize("grouping", ["wrap", "partial-key", "key"])
def test_rows_are_exact_and_replication_is_what_was_placed(rows: DataFrame, grouping: str) -> None:
    loads = Loads()
    placed = balance(rows, "user", _WORKERS, grouping=grouping, loads=loads)
    assert placed.schema == rows.schema
    held, pieces = _held(placed)
    epoch = loads.epoch
    assert dict(enumerate(epoch.loads)) == {worker: held.get(worker, 0) for worker in range(4)}
    assert epoch.rows == rows.count()
    assert epoch.imbalance == imbalance_percent(epoch.loads)
    assert epoch.replication == pytest.approx(len(pieces) / len({key for _, key in pieces}), 0.05)
    assert epoch.busy_seconds is None


def test_a_python_step_tells_its_rows_and_its_seconds(rows: DataFrame) -> None:
    few, loads = rows.limit(400), Loads()
    got = group_by(few, "user", workers=_WORKERS, loads=loads).apply(Sleeps(), SUMS)
    assert multiset(got) == multiset(summed(few, "user"))
    epoch = loads.epoch
    assert sum(epoch.loads) == 400
    assert epoch.busy_seconds is not None
    # A sleep never ends before its time.
    assert all(
        busy >= 0.001 * load for busy, load in zip(epoch.busy_seconds, epoch.loads, strict=True)
    )
    assert epoch.split_keys
    assert epoch.replication is not None
    assert epoch.replication > 1


def test_every_way_to_group_tells_the_same_rows(rows: DataFrame) -> None:
    ways: dict[str, Callable[[GroupedFrame], DataFrame]] = {
        "agg": lambda grouped: grouped.agg(sf.count("*").alias("count")),
        "apply": lambda grouped: grouped.apply(SumAndCount(), SUMS),
        "apply_in_arrow": lambda grouped: grouped.apply_in_arrow(spread, SPREAD),
    }
    told = {}
    for name, way in ways.items():
        loads = Loads()
        way(group_by(rows, "user", workers=_WORKERS, grouping="key", loads=loads)).count()
        told[name] = loads.epoch
    held, _ = _held(balance(rows, "user", _WORKERS, grouping="key"))
    for epoch in told.values():
        assert dict(enumerate(epoch.loads)) == held
        assert epoch.replication == 1.0
        assert epoch.split_keys == 0
        assert epoch.predicted_imbalance is None


def test_the_table_has_a_row_a_worker_beside_what_was_predicted(
    spark: SparkSession, rows: DataFrame
) -> None:
    loads = Loads()
    balance(rows, "user", _WORKERS, learn="pass", loads=loads).count()
    table = loads.to_df(spark)
    assert table.columns == LOADS_SCHEMA.names
    told = table.orderBy("worker").collect()
    assert [row["worker"] for row in told] == list(range(_WORKERS))
    assert [row["rows"] for row in told] == list(loads.epoch.loads)
    # All keys were counted, so what is predicted adds up to what is there.
    assert sum(row["predicted_load"] for row in told) == pytest.approx(rows.count())
    assert {row["busy_seconds"] for row in told} == {None}
    assert {row["predicted_imbalance"] for row in told} == {loads.epoch.predicted_imbalance}


def test_asking_too_early_is_an_error_and_later_it_is_not(rows: DataFrame) -> None:
    with pytest.raises(UnskewError, match="watches no job yet"):
        _ = Loads().epoch
    loads = Loads(wait=0.2)
    placed = balance(rows, "user", 2, grouping="key", loads=loads)
    with pytest.raises(UnskewError, match="no action on the result has finished"):
        _ = loads.epoch
    assert loads._repr_html_() == "Loads(of a job on 2 workers)"
    placed.count()
    loads.wait = 10.0
    assert loads.epoch.rows == rows.count()
    assert loads._repr_html_().count("<rect") == 2


def test_a_result_has_loads_of_its_own(rows: DataFrame) -> None:
    loads = Loads()
    balance(rows, "user", 2, grouping="key", loads=loads)
    with pytest.raises(UnskewError, match="one Loads per result"):
        balance(rows, "user", 2, grouping="key", loads=loads)
    with pytest.raises(InvalidParameterError, match="left out to watch a batch"):
        balance(rows, "user", 2, grouping="key", loads=Loads("plans"))


def test_no_rows_are_no_load(rows: DataFrame) -> None:
    loads = Loads()
    nothing = rows.where("x < 0")
    group_by(nothing, "user", workers=2, grouping="key", loads=loads).apply(
        SumAndCount(), SUMS
    ).collect()
    assert loads.epoch.loads == (0, 0)
    assert loads.epoch.imbalance == 0.0


def test_a_stream_tells_the_seconds_of_its_steps(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    spark.conf.set(STATE_STORE, ROCKSDB)
    try:
        stream = file_stream(spark, rows.limit(600), tmp_path / "in", files=2)
        placed = group_by(stream, "user", workers=_WORKERS, plan_path=tmp_path / "plans")
        run_to_end(placed.apply(Sleeps(), SUMS), "timed", "update", tmp_path)
    finally:
        spark.conf.unset(STATE_STORE)
    loads = Loads(tmp_path / "plans")
    deadline = time.monotonic() + 30
    while len(loads.epochs) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)  # the record is written by a thread of its own
    assert sum(epoch.rows for epoch in loads.epochs) == 600
    for epoch in loads.epochs:
        assert epoch.busy_seconds is not None
        pairs = zip(epoch.busy_seconds, epoch.loads, strict=True)
        assert all(busy >= 0.001 * load for busy, load in pairs)
    assert loads.to_df(spark).count() == 2 * _WORKERS


def test_the_table_of_a_stream_takes_predictions_from_its_plans(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    plan = learn_placing(rows, identity(rows, "user"), grouping_for("wrap", 2), how="pass").plan
    PlanStore(tmp_path).save(plan, by="user")
    for batch, version in enumerate([0, 1]):
        append_epoch(
            tmp_path,
            Epoch(
                query="q",
                run="r",
                batch=batch,
                version=version,
                rows=10,
                loads=(6, 4),
                imbalance=20.0,
                predicted_imbalance=None,
                split_keys=0,
                next_version=None,
                why=None,
            ),
            PLAN_RECORD,
        )
    told = Loads(tmp_path).to_df(spark).orderBy("batch", "worker").collect()
    shares = plan.predicted_loads / np.sum(plan.predicted_loads)
    predicted = [row["predicted_load"] for row in told]
    assert predicted[:2] == [None, None]
    assert predicted[2:] == pytest.approx((10 * shares).tolist())
    with pytest.raises(UnskewError, match="no micro-batch is on record"):
        _ = Loads(tmp_path / "nowhere").epoch
