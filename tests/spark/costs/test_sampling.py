"""Learning and scheduling on Spark with costs that are told, not measured: no clock, no chance."""

import sys
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from numpy.typing import NDArray
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.proactive.scheduler import SchedulerPhase
from unskew.spark.costs.placement import place_by_cost
from unskew.spark.costs.sampling import learn_costs
from unskew.spark.costs.scheduler import CostControl, RoundReport
from unskew.spark.worker.cost_messages import matrices_of
from unskew.spark.worker.task import partition_number
from unskew.spark.worker.timed_functions import IdentifiedBatch, Listener, TimedStep

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

WORKERS, ROWS, PART = 4, 8000, 0.05
MATRICES = matrices_of(ProactiveShuffle(WORKERS))
Told = Callable[[NDArray[np.int64], int], NDArray[np.float64]]


class ToldCosts(TimedStep):
    """Does nothing, and says that it took what ``told`` makes of the rows' kinds and the worker."""

    def __init__(self, told: Told) -> None:
        self._told = told

    def run(
        self, batches: Iterator[IdentifiedBatch], listener: Listener | None
    ) -> Iterator[pa.RecordBatch]:
        for batch, ids in batches:
            if listener is not None:
                kinds = batch["kind"].to_numpy()
                listener.take_rows(ids, self._told(kinds, partition_number()))
            yield batch


def by_kind(kinds: NDArray[np.int64], _: int) -> NDArray[np.float64]:
    return np.where(kinds == 0, 0.025, 0.001)


def by_worker(kinds: NDArray[np.int64], worker: int) -> NDArray[np.float64]:
    return np.full(kinds.size, 0.004 if worker == 2 else 0.001)


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """One source; every 20th row is of kind 0, so round-robin all of them share a worker."""
    kind = (sf.col("id") % 20).alias("kind")
    return spark.range(0, ROWS, 1, 1).select(kind, sf.xxhash64(kind).alias("identity"))


def learned(df: DataFrame, told: Told) -> tuple[dict[tuple[int, int], int], list[RoundReport]]:
    """Return rows by worker and kind, and what the rounds of learning did."""
    control = CostControl(WORKERS, MATRICES)
    reports = learn_costs(df, ToldCosts(told), control, MATRICES, PART, seed=1)
    assert control.phase != SchedulerPhase.ROUND_ROBIN
    placed = place_by_cost(df, MATRICES, control.control().schedule)
    counts = placed.groupBy(sf.spark_partition_id().alias("worker"), "kind").count().collect()
    return {(row["worker"], row["kind"]): row["count"] for row in counts}, reports


def test_the_worker_with_slow_rows_gets_fewer_others(df: DataFrame) -> None:
    counts, reports = learned(df, by_kind)
    assert sum(counts.values()) == ROWS
    work = np.zeros(WORKERS)
    for (worker, kind), rows in counts.items():
        work[worker] += rows * float(by_kind(np.array([kind]), worker)[0])
    # The workers end within one slow row of each other, as greedy scheduling promises.
    assert work.max() - work.min() <= 0.025 + 1e-9
    assert [report.phase for report in reports] == ["ROUND_ROBIN", "SEND_ALL"]
    assert reports[1].estimated_seconds == pytest.approx(reports[1].busy_seconds, rel=0.01)


def test_a_slow_worker_gets_fewer_rows(df: DataFrame) -> None:
    counts, _ = learned(df, by_worker)
    rows = [sum(n for (at, _), n in counts.items() if at == worker) for worker in range(WORKERS)]
    # Four times as slow as three others: a share of 1/13 is even.
    assert rows[2] == pytest.approx(ROWS / 13, rel=0.05)
    assert max(rows) == pytest.approx(4 * ROWS / 13, rel=0.05)
