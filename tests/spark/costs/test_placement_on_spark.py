"""Placing a batch by classes of cost on Spark: how even it is, and by which estimates."""

import numpy as np
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.proactive.scheduler import SchedulerPhase
from unskew.hashing import identities
from unskew.sketches.cost_sketch import CostSketch
from unskew.spark.costs.placement import class_text, cost_classes, place_by_cost
from unskew.spark.worker.cost_machine import CostMachine
from unskew.spark.worker.cost_messages import Schedule, matrices_of

WORKERS, SOURCES, ROWS, KINDS = 5, 3, 4000, 40
MATRICES = matrices_of(ProactiveShuffle(WORKERS, epsilon=0.2))
RUN = np.array([SchedulerPhase.RUN, 0, 1, 0, 0, 0])


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    """Rows of some kinds; the matrices are so small that the costs of kinds mix."""
    kind = sf.pmod(sf.xxhash64(sf.lit(5), "id"), sf.lit(KINDS)).alias("kind")
    keyed = spark.range(0, ROWS, 1, SOURCES).select("id", kind, sf.xxhash64(kind).alias("identity"))
    return keyed.cache()


def schedule_for(df: DataFrame, speeds: list[float]) -> Schedule:
    """Know all kinds but the last four: they cost from 1 to 4 ms, and one of them 60 ms."""
    kinds = df.select("kind", "identity").distinct().where(sf.col("kind") < KINDS - 4).collect()
    machine = CostMachine(0, MATRICES, None)
    for row in kinds:
        seconds = 0.06 if row["kind"] == 0 else 0.001 * (1 + row["kind"] % 4)
        machine.take_rows(identities(np.full(4, row["identity"])), np.full(4, seconds))
    cells = machine.finish().machine.cells[0]
    return Schedule(cells, np.array(speeds), RUN, round_number=3)


def estimates(df: DataFrame, schedule: Schedule) -> dict[int, float]:
    """Return what the sketch of the paper estimates for each kind."""
    sketch = CostSketch(epsilon=0.2)
    sketch._parameters, sketch._cells = MATRICES.parameters, schedule.pooled
    kinds = df.select("kind", "identity").distinct().collect()
    ids = identities(np.array([row["identity"] for row in kinds]))
    return dict(zip([row["kind"] for row in kinds], sketch.estimate_many(ids), strict=True))


def test_spark_finds_the_class_that_holds_the_estimate_of_the_sketch(df: DataFrame) -> None:
    schedule = schedule_for(df, [1.0] * WORKERS)
    classes, known = cost_classes(schedule.pooled), estimates(df, schedule)
    assert classes.size > 3
    name = sf.expr(class_text("identity", MATRICES, classes)).alias("class")
    found = {row["kind"]: row["class"] for row in df.select("kind", name).distinct().collect()}
    assert found.keys() == known.keys()
    for kind, estimate in known.items():
        top = classes.tops[found[kind]]
        assert top / classes.ratio <= estimate * (1 + 1e-9) <= top * (1 + 2e-9)


@pytest.mark.parametrize("speeds", [[1.0] * WORKERS, [1.0, 1.0, 4.0, 1.0, 0.5]], ids=str)
def test_a_source_spreads_each_class_in_proportion_to_speeds(
    df: DataFrame, adaptive: None, speeds: list[float]
) -> None:
    schedule = schedule_for(df, speeds)
    classes = cost_classes(schedule.pooled)
    name = sf.expr(class_text("identity", MATRICES, classes))
    rows = df.select("id", sf.spark_partition_id().alias("source"), name.alias("class"), "identity")
    placed = place_by_cost(rows, MATRICES, schedule)
    assert placed.rdd.getNumPartitions() == WORKERS
    assert sorted(row["id"] for row in placed.select("id").collect()) == list(range(ROWS))
    counts = np.zeros((SOURCES, classes.size, WORKERS))
    where = ("source", "class", sf.spark_partition_id().alias("worker"))
    for row in placed.groupBy(*where).count().collect():
        counts[row["source"], row["class"], row["worker"]] = row["count"]
    seconds = counts * speeds
    # In the time of a row of this class, no two workers are further apart than two of their rows.
    assert (np.ptp(seconds, axis=2) <= 2 * max(speeds)).all()
    if len(set(speeds)) == 1:
        assert (np.ptp(counts, axis=2) <= 1).all()
        work = (counts * classes.tops[:, np.newaxis]).sum(axis=(0, 1))
        assert np.ptp(work) <= SOURCES * classes.tops.sum()
        # Sources and classes begin with other workers, so that what is left over meets.
        assert np.ptp(counts.sum(axis=(0, 1))) <= SOURCES * classes.size / 2
