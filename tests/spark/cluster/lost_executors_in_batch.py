"""Kill an executor while rows are routed, and while they are worked on."""

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from tests.spark.cluster.driver import report, sorted_rows, work_folder
from tests.spark.cluster.trap import Trap, trapped
from tests.spark.cluster.trapped_totals import TrappedTotals

import unskew.spark as us
from unskew.groupings.plan import Plan
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.proactive.scheduler import SchedulerPhase
from unskew.sketches.cost_sketch import COST
from unskew.spark.columns import identity
from unskew.spark.costs.placement import place_by_cost
from unskew.spark.routing.learning import learn_placing
from unskew.spark.routing.schemes import grouping_for
from unskew.spark.worker.cost_messages import Schedule, matrices_of

WORKERS = 4
COSTS = "costs"
CASES = [
    ("wrap, while rows are routed", "wrap", "route"),
    ("wrap, while rows are worked on", "wrap", "work"),
    ("partial-key, while rows are routed", "partial-key", "route"),
    ("costs, while rows are routed", COSTS, "route"),
]


def skewed(spark: SparkSession) -> DataFrame:
    """Return rows of which every second has the key null."""
    key = sf.when(sf.col("id") % 2 == 1, sf.col("id") % 101)
    return spark.range(20_000, numPartitions=4).select(key.alias("key"), "id")


def split_plan(df: DataFrame) -> Plan:
    """Return a plan that splits the hot key."""
    key = identity(df, "key")
    plan = learn_placing(df, key, grouping_for("wrap", WORKERS), how="pass").plan
    if not plan.n_split_keys:
        raise RuntimeError(f"a plan that splits keys is needed, not {plan}")
    return plan


def placed_by_cost(df: DataFrame) -> DataFrame:
    """Return rows as `map_rows` places them when rows of some keys cost more than others."""
    matrices = matrices_of(ProactiveShuffle(WORKERS))
    cells = np.ones(matrices.shape)
    cells[:, ::2, COST] = 0.01
    registers = np.array([SchedulerPhase.RUN, 0, 1, 0, 0, 0])
    schedule = Schedule(cells, np.ones(WORKERS), registers, round_number=0)
    return place_by_cost(df.withColumn("identity", identity(df, "key")), matrices, schedule)


def totals() -> list[Column]:
    """Return the aggregates that a lost or doubled row changes."""
    return [sf.count("*").alias("n"), sf.sum("id").alias("total")]


def run_case(spark: SparkSession, name: str, grouping: str, phase: str) -> None:
    """Run one case and report it."""
    df = skewed(spark)
    route, work = (
        Trap(work_folder() / f"{grouping}-{phase}-{step}", armed=step == phase)
        for step in ("route", "work")
    )
    source = df.mapInArrow(trapped(route, turned=True), df.schema)
    if grouping == COSTS:
        result = placed_by_cost(source).groupBy("key").agg(*totals())
    else:
        plan = split_plan(df) if grouping == "wrap" else None
        grouped = us.group_by(source, "key", workers=WORKERS, grouping=grouping, plan=plan)
        if phase == "route":
            result = grouped.agg(*totals())
        else:
            result = grouped.apply(TrappedTotals(work), "n long, total long")
    got = sorted_rows(result)
    trap = route if phase == "route" else work
    report(
        name,
        exact=got == sorted_rows(df.groupBy("key").agg(*totals())),
        keys=len(got),
        killed=trap.victim() is not None,
        repeated=trap.was_repeated(),
        routed_again=len(route.visits()) > df.rdd.getNumPartitions(),
    )


def run_cases(spark: SparkSession) -> None:
    """Run all cases, with an executor that is killed in each."""
    for case in CASES:
        run_case(spark, *case)
