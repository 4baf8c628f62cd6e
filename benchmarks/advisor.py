"""What `us.diagnose` predicts beside what then happened on Spark: twenty jobs that wait for rows.

Each job is diagnosed with what a row costs, then run as recommended and as plain Spark runs it. A
row is worked on by waiting, and there is a slot for every worker, so that a job takes what its
busiest worker takes, and what Spark adds.
"""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from benchmarks._timing import show
from unskew.advisor.predict import ATOMIC, MERGE, STATELESS, plain_for
from unskew.spark.aggregators import State
from unskew.streams import parse_stream

# Spark's Python workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SECONDS, WORKERS, SEED = 8.0, 8, 1
"""Of work for each worker if all had the same; rows cost 2 ms."""
COST = 0.002
NEAR, SLOWER = 0.20, 0.05
"""How far a prediction may be off, and how much slower than plain Spark a job may be."""


class Job(NamedTuple):
    """A stream of keys and the work on it."""

    stream: str
    work: str
    workers: int = WORKERS


JOBS = (
    Job("zipf:keys=2000,exponent=0.6", MERGE),
    Job("zipf:keys=2000,exponent=1.0", MERGE),
    Job("zipf:keys=2000,exponent=1.2", MERGE, 4),
    Job("zipf:keys=2000,exponent=1.4", MERGE),
    Job("zipf:keys=500,exponent=2.0", MERGE),
    Job("zipf:keys=5,exponent=1.0", MERGE),
    Job("uniform:keys=1", MERGE),
    Job("uniform:keys=2000", MERGE),
    Job("lognormal:mu=5,sigma=1", MERGE),
    Job("drift:keys=2000,every=4000", MERGE),
    Job("countries", MERGE),
    Job("countries", MERGE, 3),
    Job("zipf:keys=2000,exponent=0.5", ATOMIC),
    Job("zipf:keys=2000,exponent=0.9", ATOMIC),
    Job("zipf:keys=300,exponent=1.4", ATOMIC),
    Job("uniform:keys=12", ATOMIC),
    Job("uniform:keys=300", ATOMIC, 4),
    Job("countries", ATOMIC),
    Job("uniform:keys=2000", STATELESS),
    Job("zipf:keys=2000,exponent=1.4", STATELESS),
)


class Waiting(us.Aggregator):
    """Counts rows, and takes its time for each."""

    state_schema = pa.schema([("rows", pa.int64())])

    def init(self) -> tuple[int]:
        """Return no rows."""
        return (0,)

    def update(self, state: State, batch: pa.RecordBatch) -> tuple[int]:
        """Wait for the rows of ``batch``."""
        time.sleep(COST * batch.num_rows)
        return (state[0] + batch.num_rows,)

    def merge(self, a: State, b: State) -> tuple[int]:
        """Return the rows of both."""
        return (a[0] + b[0],)

    def finish(self, state: State) -> State:
        """Return the rows."""
        return state


def wait(group: pa.Table) -> pa.Table:
    """Wait for the rows of a group, or of a batch, and count them."""
    time.sleep(COST * group.num_rows)
    return pa.table({"rows": pa.array([group.num_rows], pa.int64())})


def main(seconds: float = SECONDS, jobs: tuple[Job, ...] = JOBS, seed: int = SEED) -> None:
    """Diagnose and run all jobs, each after a short one of its kind that warms Spark."""
    spark = us.session(
        master=f"local[{WORKERS}]",
        spark__driver__memory="2g",
        spark__sql__adaptive__coalescePartitions__enabled="false",
    )
    spark.sparkContext.setLogLevel("ERROR")
    table, near, slower = [], 0, 0
    for job in jobs:
        spark.conf.set("spark.sql.shuffle.partitions", str(job.workers))
        run(spark, job, 0.2, seed)
        predicted, took, plain, grouping = run(spark, job, seconds, seed)
        near += abs(took / predicted - 1) <= NEAR
        slower += took > (1 + SLOWER) * plain
        table.append(
            [f"{job.stream}, {job.work}", f"{job.workers}", grouping]
            + [f"{value:.2f}" for value in (predicted, took, took / predicted, plain)]
        )
    columns = ["job", "workers", "advice", "predicted s", "took s", "ratio", "plain Spark s"]
    show("What was advised, what was predicted, what it took", columns, table)
    print(f"predicted within {100 * NEAR:.0f} %: {near} of {len(jobs)}")
    print(f"slower than plain Spark by more than {100 * SLOWER:.0f} %: {slower} of {len(jobs)}")
    spark.stop()


def run(
    spark: SparkSession, job: Job, seconds: float, seed: int
) -> tuple[float, float, float, str]:
    """Return the seconds that were predicted, that it took, and of plain Spark; and the advice."""
    df = rows_of(spark, job, int(seconds * job.workers / COST), seed)
    found = us.diagnose(df, "key", job.workers, work=job.work, cost_per_row=1000 * COST, seed=seed)
    grouping = found.recommendation.grouping
    (said,) = (
        one for one in found.predictions if one.grouping == (grouping or plain_for(job.work))
    )
    if said.job_seconds is None:
        raise AssertionError("a cost was given, and no seconds were predicted")
    plain = seconds_of(lambda: plainly(df, job))
    took = plain if grouping is None else seconds_of(lambda: advised(df, job, grouping))
    df.unpersist()
    return said.job_seconds, took, plain, grouping or "as it is"


def rows_of(spark: SparkSession, job: Job, rows: int, seed: int) -> DataFrame:
    """Return the first rows of the job's stream, in memory, in as many parts as it has workers."""
    keys: list[object] = []
    for batch in parse_stream(job.stream, seed=seed).batches():
        keys += batch.keys[: rows - len(keys)].tolist()
        if len(keys) == rows:
            break
    table = pa.table({"key": pa.array(keys)})
    df = spark.createDataFrame(table).repartition(job.workers).cache()
    df.count()
    return df


def plainly(df: DataFrame, job: Job) -> DataFrame:
    """Return the work as Spark does it by itself."""
    if job.work == STATELESS:
        return df.mapInArrow(lambda batches: map(wait_in_batch, batches), "rows long")
    return df.groupBy("key").applyInArrow(wait, "rows long")


def wait_in_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Wait for the rows of a batch and count them."""
    return wait(pa.Table.from_batches([batch])).to_batches()[0]


def advised(df: DataFrame, job: Job, grouping: str) -> DataFrame:
    """Return the work as the recommended line does it, with the job's own function in it."""
    if job.work == STATELESS:
        return plainly(us.balance(df, "key", job.workers, grouping=grouping), job)
    groups = us.group_by(df, "key", workers=job.workers, grouping=grouping)
    if job.work == ATOMIC:
        return groups.apply_in_arrow(wait, "rows long")
    return groups.apply(Waiting(), "rows long")


def seconds_of(make: Callable[[], DataFrame]) -> float:
    """Return how long it takes to make and to work through a DataFrame."""
    start = time.perf_counter()
    make().agg(sf.sum("rows")).collect()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
