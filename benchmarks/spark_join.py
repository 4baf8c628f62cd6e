"""Skewed joins: plain, AQE as it is and tuned by hand, salted by hand, and `us.join`, in one run.

The left side's keys are drawn from Zipf distributions; the right side has two rows of every key, or
is drawn from the same distribution. Workers wait 50 µs for each row that comes out. What each task
read, and what was shuffled (for learning, too), is taken from Spark's event log.
"""

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from benchmarks._timing import interleaved, show

KEYS = 50_000
SKEWED_RIGHT_ROWS = 2_000
SECONDS_PER_ROW = 50e-6
IDEAL_SECONDS = 20.0
BARE_ROWS = 8_000_000
SKEW = "spark.sql.adaptive.skewJoin"
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"


class Found(NamedTuple):
    """What became of one way to join."""

    seconds: float
    rows: int
    check: int
    out: dict[int, int]
    copies: float | None


def main(
    exponents: Sequence[float] = (0.8, 1.2, 1.6, 2.0),
    rights: Sequence[str] = ("uniform", "zipf"),
    all_workers: Sequence[int] = (8, 64),
    ideal: float = IDEAL_SECONDS,
    bare: int = BARE_ROWS,
) -> None:
    """Join by five ways for each number of workers, right side and exponent; then a bare join."""
    for workers in all_workers:
        for right in rights:
            for exponent in exponents:
                show_case(workers, right, exponent, ideal)
    show_bare(bare)


def show_case(workers: int, right: str, exponent: float, ideal: float) -> None:
    """Run all ways on the same tables and show them beside each other."""
    with tempfile.TemporaryDirectory() as folder:
        rows = write_tables(Path(folder), workers, right, exponent, ideal)
        spark = session(workers, Path(folder))
        left, other = (spark.read.parquet(f"{folder}/{side}") for side in ("left", "right"))
        found: dict[str, Found] = {}
        for turn in ("warm", "measured"):
            for name, way in ways(left, other, workers, rows).items():
                spark.sparkContext.setJobGroup(f"{turn} {name}", name)
                found[name] = way()
        spark.stop()
        tasks = read_log(Path(folder) / "log")
    first = found["plain"]
    wrong = [n for n, one in found.items() if (one.rows, one.check) != (first.rows, first.check)]
    assert not wrong, f"other rows than the plain join: {wrong}"
    least = first.rows * SECONDS_PER_ROW / workers
    table = []
    for name, one in found.items():
        group = tasks[f"measured {name}"]
        work = group.work(one.out, workers)
        copies = "" if one.copies is None else f"{one.copies:,.0f}"
        ratios = f"{one.seconds / least:.2f}", f"{found['us.join'].seconds / one.seconds:.2f}"
        load = f"{max(work) / (sum(work) / len(work)):.3f}"
        table.append([name, f"{one.seconds:.2f}", *ratios, load, copies, f"{group.written:,}"])
    columns = ["way", "seconds", "× ideal", "us.join / it", "busiest × mean", "copies", "bytes"]
    title = (
        f"Zipf {exponent:g}, right side {right}: {rows:,} rows joined to {first.rows:,}, "
        f"{workers} workers, 50 µs per row out, ideal {least:.1f} s"
    )
    show(title, columns, table)


def ways(
    left: DataFrame, right: DataFrame, workers: int, rows: int
) -> dict[str, Callable[[], Found]]:
    """Return the ways to join, each with its settings."""
    small = max(16_384, 12 * rows // (4 * workers))
    tuned = {
        f"{SKEW}.skewedPartitionThresholdInBytes": str(small),
        f"{SKEW}.skewedPartitionFactor": "1.2",
        ADVISORY: str(small),
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
    }

    def by_hand() -> DataFrame:
        salts = right.crossJoin(left.sparkSession.range(workers).withColumnRenamed("id", "salt"))
        salt = sf.floor(sf.rand(1) * workers)
        return left.withColumn("salt", salt).join(salts, ["k", "salt"]).drop("salt")

    def plain() -> DataFrame:
        return left.join(right, "k")

    off = {"spark.sql.adaptive.enabled": "false"}
    return {
        "plain": lambda: waited(left.sparkSession, plain, off),
        "AQE": lambda: waited(left.sparkSession, plain, {}),
        "AQE tuned": lambda: waited(left.sparkSession, plain, tuned),
        "salted by hand": lambda: waited(left.sparkSession, by_hand, off),
        "us.join": lambda: planned(left, right, workers),
    }


def planned(left: DataFrame, right: DataFrame, workers: int) -> Found:
    """Learn a plan, join by it; learning is part of the time."""
    start = time.perf_counter()
    plan = us.plan(left, "k", workers, join=right)
    learned = time.perf_counter() - start
    found = waited(left.sparkSession, lambda: us.join(left, right, "k", plan=plan), {})
    return found._replace(seconds=found.seconds + learned, copies=plan.copies)


def waited(spark: SparkSession, joined: Callable[[], DataFrame], settings: dict[str, str]) -> Found:
    """Run a join whose workers wait for every row that comes out."""
    for name, value in settings.items():
        spark.conf.set(name, value)
    start = time.perf_counter()
    counted = joined().select("k", "x", "y").mapInArrow(wait, "n long, c long")
    rows = counted.withColumn("p", sf.spark_partition_id()).groupBy("p")
    found = rows.agg(sf.sum("n").alias("n"), sf.bit_xor("c").alias("c")).collect()
    seconds = time.perf_counter() - start
    for name in settings:
        spark.conf.unset(name)
    check = int(np.bitwise_xor.reduce([row["c"] for row in found]))
    out = {row["p"]: row["n"] for row in found}
    return Found(seconds, sum(out.values()), check, out, None)


def wait(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Wait for each row, and give out how many there were, with a checksum."""
    for batch in batches:
        time.sleep(batch.num_rows * 50e-6)
        sums = [batch.column(name).to_numpy() for name in ("k", "x", "y")]
        mixed = (sums[0] * 1_000_003 + sums[1] * 8_191) ^ (sums[2] * 131)
        check = int(np.bitwise_xor.reduce(mixed)) if batch.num_rows else 0
        yield pa.RecordBatch.from_arrays(
            [pa.array([batch.num_rows]), pa.array([check])], ["n", "c"]
        )


class Tasks:
    """What the tasks of one way read and wrote."""

    def __init__(self) -> None:
        self.read: dict[int, dict[int, int]] = defaultdict(dict)
        self.written = 0

    def work(self, out: dict[int, int], workers: int) -> list[int]:
        """Return rows in + rows out of each task of the join; a worker without any has none."""
        joining = max(self.read.values(), key=lambda tasks: sum(tasks.values()))
        found = [joining.get(task, 0) + out.get(task, 0) for task in {*joining, *out}]
        busy = [work for work in found if work]
        return busy + [0] * (workers - len(busy))


def read_log(folder: Path) -> dict[str, Tasks]:
    """Return what the event log tells of each group of jobs."""
    groups: dict[str, Tasks] = defaultdict(Tasks)
    group_of: dict[int, str] = {}
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    for line in (line for file in files for line in file.read_text().splitlines()):
        if '"SparkListenerStageSubmitted"' in line:
            event = json.loads(line)
            name = event["Properties"].get("spark.jobGroup.id", "")
            group_of[event["Stage Info"]["Stage ID"]] = name
        elif '"SparkListenerTaskEnd"' in line and '"Task Metrics"' in line:
            event = json.loads(line)
            metrics, stage = event["Task Metrics"], event["Stage ID"]
            tasks = groups[group_of.get(stage, "")]
            read = metrics["Shuffle Read Metrics"]["Total Records Read"]
            tasks.read[stage][event["Task Info"]["Index"]] = read
            tasks.written += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return groups


def write_tables(folder: Path, workers: int, right: str, exponent: float, ideal: float) -> int:
    """Write both sides so that the join takes ``ideal`` seconds; return the rows of the left."""
    rng = np.random.default_rng(1)
    weights = 1.0 / np.arange(1, KEYS + 1) ** exponent
    weights /= weights.sum()
    names = rng.permutation(KEYS)
    if right == "uniform":
        right_keys, per_row = np.repeat(np.arange(KEYS), 2), 2.0
    else:
        right_keys = names[rng.choice(KEYS, SKEWED_RIGHT_ROWS, p=weights)]
        per_row = float((weights * np.bincount(right_keys, minlength=KEYS)[names]).sum())
    rows = int(ideal * workers / SECONDS_PER_ROW / per_row)
    left_keys = names[rng.choice(KEYS, rows, p=weights)]
    for name, keys, value, files in (
        ("left", left_keys, "x", 4 * workers), ("right", right_keys, "y", 4)
    ):  # fmt: skip
        (folder / name).mkdir()
        columns = {"k": keys.astype(np.int64), value: rng.integers(0, 1 << 40, keys.size)}
        table = pa.table(columns)
        for number, part in enumerate(np.array_split(np.arange(keys.size), files)):
            piece = table.slice(part[0] if part.size else 0, part.size)
            pq.write_table(piece, folder / name / f"{number}.parquet")
    return rows


def session(workers: int, folder: Path) -> SparkSession:
    """Return a session with a task slot per worker, a task per file, and an event log."""
    (folder / "log").mkdir()
    config: dict[str, Any] = {
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": workers,
        "spark.sql.autoBroadcastJoinThreshold": -1,
        "spark.sql.files.openCostInBytes": "128m",
        "spark.eventLog.enabled": True,
        "spark.eventLog.compress": False,
        "spark.eventLog.dir": f"file://{folder}/log",
    }
    spark = us.session(master=f"local[{workers}]", **config)
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def show_bare(rows: int) -> None:
    """Join two even tables without any work after it: what looking costs."""
    config: dict[str, Any] = {
        "spark.driver.memory": "4g",
        "spark.sql.shuffle.partitions": 8,
        "spark.sql.autoBroadcastJoinThreshold": -1,
        "spark.eventLog.enabled": False,  # a setting outlives its session
    }
    spark = us.session(master="local[2]", **config)
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        key = (sf.col("id") * 7919 % (rows // 4)).alias("k")
        spark.range(rows).select(key, sf.col("id").alias("x")).write.parquet(f"{folder}/left")
        spark.range(rows // 4).select(
            sf.col("id").alias("k"), (-sf.col("id")).alias("y")
        ).write.parquet(f"{folder}/right")
        left, right = (spark.read.parquet(f"{folder}/{side}") for side in ("left", "right"))
        plan = us.plan(left, "k", 8, join=right, grouping="wrap")
        seconds = interleaved(
            {
                "plain": lambda: to_noop(left.join(right, "k")),
                "us.join, auto": lambda: to_noop(us.join(left, right, "k", workers=8)),
                "us.join by a plan that was there": lambda: to_noop(
                    us.join(left, right, "k", plan=plan)
                ),
            },
            rounds=3,
        )
    spark.stop()
    base = seconds["plain"]
    table = [
        [name, f"{took:.2f}", f"{took / base:.2f}", f"≤ 1.25 {'✓' if took <= 1.25 * base else '✗'}"]
        for name, took in seconds.items()
    ]
    show(f"A bare join without skew, {rows:,} rows", ["way", "seconds", "× plain", "target"], table)


def to_noop(df: DataFrame) -> None:
    """Run a query and throw its rows away."""
    df.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    main(ideal=float(sys.argv[1]) if len(sys.argv) > 1 else IDEAL_SECONDS)
