"""Small Spark jobs whose trouble is known by construction, each beside its true cause.

Time is spent by waiting in proportion to what a job says costs time, so that the truth is the same
on any machine. `HELD_OUT` were chosen before the rules of the advice were written for this bench
and were not looked at while that was done.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

SLOTS = 4
ROWS = 400
ROW_SECONDS = 0.006
NOTHING = "nothing"

HELD_OUT = (
    "a window of null keys",
    "a partitioned write of a hot country",
    "a join of which most comes out of one key",
    "one partition of a range",
    "nine even tasks on four slots",
)

Batches = Iterator[pa.RecordBatch]
Job = Callable[[SparkSession, Path], object]


@dataclass(frozen=True)
class Case:
    """A job and the truth about it.

    Parameters
    ----------
    cause
        What the advice has to name: a cause of `unskew.advisor.history`, or `NOTHING`.
    job
        Runs it; ``folder`` is for its files.
    settings
        Settings of its session.
    master
        Where it runs.
    """

    cause: str
    job: Job
    settings: Mapping[str, object] = field(default_factory=dict)
    master: str = f"local[{SLOTS}]"


def wait_for_rows(batches: Batches) -> Batches:
    """Take a time in proportion to the rows."""
    for batch in batches:
        time.sleep(ROW_SECONDS * batch.num_rows)
        yield batch


def wait_for_costs(batches: Batches) -> Batches:
    """Take the time that each row says it costs, in milliseconds."""
    for batch in batches:
        time.sleep(sum(batch["cost"].to_pylist()) / 1000)
        yield batch


def wait_for_group(group: pa.Table) -> pa.Table:
    """Take a time in proportion to the rows of the group."""
    time.sleep(ROW_SECONDS * group.num_rows)
    return group


def wait_for_key(group: pa.Table) -> pa.Table:
    """Take long for one key, whatever its rows."""
    time.sleep(2.0 if group["k"][0].as_py() == 7 else 0.02)
    return group


def wait_on_one_machine(batches: Batches) -> Batches:
    """Take eight times as long in the first executor: its folder ends in its number."""
    slow = 8 if Path.cwd().name == "0" else 1
    for batch in batches:
        time.sleep(slow * ROW_SECONDS * batch.num_rows)
        yield batch


class SlowStart:
    """Takes long to be unpickled, once: as the import of a large library on a fresh machine."""

    def __init__(self, lock: Path) -> None:
        self._lock = lock

    def __reduce__(self) -> tuple[object, ...]:
        return (_slow_start, (str(self._lock),))


def _slow_start(lock: str) -> "SlowStart":
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return SlowStart(Path(lock))
    time.sleep(2.5)
    return SlowStart(Path(lock))


def hot(spark: SparkSession, rows: int = ROWS) -> DataFrame:
    """Return rows of which six in ten have one key, and the others forty."""
    key = sf.when(sf.col("id") % 10 < 6, sf.lit(7)).otherwise(100 + sf.col("id") % 41)
    return spark.range(0, rows, 1, SLOTS).select(key.alias("k"), "id")


def even(spark: SparkSession, rows: int = ROWS) -> DataFrame:
    """Return rows spread over tasks one by one."""
    return spark.range(0, rows, 1, SLOTS).select((sf.col("id") % 97).alias("k"), "id")


def keyed_evenly(spark: SparkSession, rows: int = ROWS) -> DataFrame:
    """Return rows of keys of which each of four partitions gets as many."""
    found: dict[int, int] = {}
    numbers = spark.range(64).select("id", sf.pmod(sf.hash("id"), sf.lit(SLOTS)).alias("p"))
    for row in numbers.collect():
        found.setdefault(row["p"], row["id"])
    keys = sf.array(*(sf.lit(found[part]).cast("long") for part in range(SLOTS)))
    return spark.range(0, rows, 1, SLOTS).select(
        sf.element_at(keys, (sf.col("id") % SLOTS + 1).cast("int")).alias("k"), "id"
    )


def mapped(df: DataFrame, function: Callable[[Batches], Batches] = wait_for_rows) -> DataFrame:
    return df.mapInArrow(function, df.schema)


def saved(df: DataFrame, folder: Path) -> None:
    df.write.mode("overwrite").parquet(str(folder / "out"))


def grouped(df: DataFrame, function: Callable[[pa.Table], pa.Table]) -> DataFrame:
    return df.groupBy("k").applyInArrow(function, df.schema)


def files(folder: Path, *sizes: int) -> str:
    """Write a file for each number of rows."""
    (folder / "in").mkdir(parents=True)
    for number, size in enumerate(sizes):
        pq.write_table(pa.table({"k": list(range(size))}), folder / "in" / f"{number}.parquet")
    return str(folder / "in")


def small(spark: SparkSession) -> DataFrame:
    key = sf.when(sf.col("id") == 0, sf.lit(7)).otherwise(99 + sf.col("id"))
    return spark.range(0, 42, 1, SLOTS).select(key.alias("k"), sf.lit("name").alias("name"))


def left_join_of_nulls(spark: SparkSession, folder: Path) -> None:
    nulls = sf.when(sf.col("id") % 10 >= 6, 100 + sf.col("id") % 41)
    orders = spark.range(0, ROWS, 1, SLOTS).select(nulls.alias("k"), "id")
    mapped(orders.join(small(spark), "k", "left")).collect()


def collecting_garbage(spark: SparkSession, folder: Path) -> None:
    """Collect garbage all the time while rows are sorted."""
    jvm: Any = spark.sparkContext._jvm
    with _repeated(jvm.System.gc):
        numbers = even(spark, 1_000_000).repartition(SLOTS).sortWithinPartitions("k", "id")
        numbers.write.format("noop").mode("overwrite").save()


@contextmanager
def _repeated(call: Callable[[], object]) -> Iterator[None]:
    done = Event()

    def go_on() -> None:
        while not done.is_set():
            call()
            time.sleep(0.03)

    thread = Thread(target=go_on)
    thread.start()
    yield
    done.set()
    thread.join()


def two_stages_at_once(spark: SparkSession, folder: Path) -> None:
    """Run two even jobs of two tasks side by side: neither has four slots, and none is idle."""
    jobs = [Thread(target=mapped(even(spark).repartition(2)).collect) for _ in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()


PLAIN = {"spark.sql.adaptive.enabled": False}
ADAPTIVE = {"spark.sql.adaptive.enabled": True}
NO_BROADCAST = {**PLAIN, "spark.sql.autoBroadcastJoinThreshold": -1}
BY_FILE = {**PLAIN, "spark.sql.files.openCostInBytes": 128 << 20}
SPLITTING = {
    **ADAPTIVE,
    "spark.sql.autoBroadcastJoinThreshold": -1,
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": 2000,
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": 1.2,
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": 1500,
    "spark.sql.adaptive.coalescePartitions.enabled": False,
}

COSTS = "cast(if(id = 11, 2500, 2) as double) as cost"

CASES: dict[str, Case] = {
    "a map of hot rows, then a count": Case(
        "rows",
        lambda spark, _: mapped(hot(spark).repartition(SLOTS, "k")).groupBy().count().collect(),
        PLAIN,
    ),
    "a map of hot rows, then a count by key": Case(
        "rows",
        lambda spark, _: mapped(hot(spark).repartition(SLOTS, "k")).groupBy("k").count().collect(),
        PLAIN,
    ),
    "a map of hot rows, written": Case(
        "rows",
        lambda spark, folder: saved(mapped(hot(spark).repartition(SLOTS, "k")), folder),
        PLAIN,
    ),
    "whole groups with a hot key": Case(
        "rows", lambda spark, _: grouped(hot(spark), wait_for_group).collect(), PLAIN
    ),
    "a join with a hot key": Case(
        "rows", lambda spark, _: mapped(hot(spark).join(small(spark), "k")).collect(), NO_BROADCAST
    ),
    "a left join with null keys": Case("rows", left_join_of_nulls, NO_BROADCAST),
    "a window with a hot key": Case(
        "rows",
        lambda spark, _: mapped(
            hot(spark).withColumn("n", sf.row_number().over(Window.partitionBy("k").orderBy("id")))
        ).collect(),
        PLAIN,
    ),
    "a sort by a value that is frequent": Case(
        "rows", lambda spark, _: mapped(hot(spark).repartitionByRange(SLOTS, "k")).collect(), PLAIN
    ),
    "files of which one is large": Case(
        "input",
        lambda spark, folder: mapped(spark.read.parquet(files(folder, 20, 20, 20, 340))).collect(),
        BY_FILE,
    ),
    "rows of which one is dear": Case(
        "costs",
        lambda spark, _: mapped(
            even(spark).selectExpr("k", "id", COSTS).repartition(SLOTS), wait_for_costs
        ).collect(),
        PLAIN,
    ),
    "groups of which one is dear": Case(
        "costs",
        lambda spark, _: grouped(
            keyed_evenly(spark).withColumn(
                "k", sf.when(sf.col("id") % 97 == 3, 7).otherwise(200 + sf.col("id") % 97)
            ),
            wait_for_key,
        ).collect(),
        PLAIN,
    ),
    "a slow machine": Case(
        "machine",
        lambda spark, _: mapped(even(spark).repartition(SLOTS), wait_on_one_machine).collect(),
        PLAIN,
        "local-cluster[2,2,1024]",
    ),
    "one file on four slots": Case(
        "slots",
        lambda spark, folder: mapped(spark.read.parquet(files(folder, 300))).collect(),
        PLAIN,
    ),
    "partitions that adaptive execution coalesced": Case(
        "slots",
        lambda spark, _: mapped(
            keyed_evenly(spark).groupBy("k", sf.hash("id").alias("n")).count()
        ).collect(),
        ADAPTIVE,
    ),
    "a worker of Python that starts late": Case(
        NOTHING,
        lambda spark, folder: slow_start(spark, folder),
        {**PLAIN, "spark.python.worker.reuse": False},
    ),
    "memory that is too small": Case(
        "spill",
        lambda spark, _: (
            even(spark, 400_000)
            .repartition(SLOTS)
            .sortWithinPartitions(sf.xxhash64("id"))
            .groupBy()
            .agg(sf.bit_xor(sf.xxhash64("k", "id")))
            .collect()
        ),
        {**PLAIN, "spark.shuffle.spill.numElementsForceSpillThreshold": 20_000},
    ),
    "garbage that is collected all the time": Case("gc", collecting_garbage, PLAIN),
    "a count of a hot key": Case(
        NOTHING, lambda spark, _: hot(spark, 200_000).groupBy("k").count().collect(), PLAIN
    ),
    "a skewed join that adaptive execution split": Case(
        NOTHING,
        lambda spark, _: mapped(
            hot(spark).repartition(12).join(small(spark), "k", "left")
        ).collect(),
        {**SPLITTING, "spark.sql.shuffle.partitions": 4},
    ),
    "an even map": Case(
        NOTHING, lambda spark, _: mapped(even(spark).repartition(SLOTS)).collect(), PLAIN
    ),
    "even groups": Case(
        NOTHING, lambda spark, _: grouped(keyed_evenly(spark), wait_for_group).collect(), PLAIN
    ),
    "two stages side by side": Case(NOTHING, two_stages_at_once, PLAIN),
    "a window of null keys": Case(
        "rows",
        lambda spark, _: mapped(
            spark.range(0, ROWS, 1, SLOTS)
            .select(sf.when(sf.col("id") % 3 == 0, sf.col("id") % 50).alias("k"), "id")
            .withColumn("n", sf.sum("id").over(Window.partitionBy("k").orderBy("id")))
        ).collect(),
        PLAIN,
    ),
    "a partitioned write of a hot country": Case(
        "rows",
        lambda spark, folder: (
            mapped(hot(spark).repartition(SLOTS, "k"))
            .write.partitionBy("k")
            .parquet(str(folder / "out"))
        ),
        PLAIN,
    ),
    "a join of which most comes out of one key": Case(
        "costs",
        lambda spark, _: mapped(
            keyed_evenly(spark, 80).join(
                keyed_evenly(spark, 4)
                .select(
                    "k",
                    sf.explode(
                        sf.sequence(sf.lit(1), sf.when(sf.col("id") == 0, 20).otherwise(1))
                    ).alias("m"),
                )
                .repartition(1),
                "k",
            )
        ).collect(),
        NO_BROADCAST,
    ),
    "one partition of a range": Case(
        "slots", lambda spark, _: mapped(spark.range(0, 300, 1, 1)).collect(), PLAIN
    ),
    "nine even tasks on four slots": Case(
        NOTHING, lambda spark, _: mapped(even(spark, 450).repartition(9)).collect(), PLAIN
    ),
}


def slow_start(spark: SparkSession, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    slow = SlowStart(folder / "lock")

    def work(batches: Batches) -> Batches:
        assert slow is not None
        yield from batches

    mapped(even(spark).repartition(SLOTS), work).collect()
