"""A stage of short Python tasks: Spark's own ``mapInArrow``, and a step of ours, tuned and not.

Spark sends small messages to a Python worker, some of which wait for an acknowledgement that Linux
holds back for 40 ms. With ``UNSKEW_TUNE_WORKERS=1`` our steps have it sent at once, and spare the
garbage collector what is loaded (`unskew.spark.worker.tuning`).
"""

import os
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from benchmarks._timing import interleaved, show
from unskew.spark import session
from unskew.spark.steps.running import map_in_arrow
from unskew.spark.worker.tuning import SWITCH

ROWS, ROUNDS = 4_000, 25
TASKS = (2, 4, 8)


def main(rounds: int = ROUNDS, all_tasks: Sequence[int] = TASKS) -> None:
    """Time jobs without a Python stage, with Spark's and with ours, one after the other."""
    spark = session(master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    table = []
    for tasks in all_tasks:
        rows = spark.range(0, ROWS, 1, tasks)
        jobs = {
            "none": rows,
            "mapInArrow": rows.mapInArrow(_as_they_are, "id long"),
            "ours": map_in_arrow(rows, _as_they_are, "id long"),
            "tuned": _tuned(rows),
        }
        found = interleaved({name: _written(job) for name, job in jobs.items()}, rounds)
        names = ("mapInArrow", "ours", "tuned")
        spark_s, ours, tuned = (found[name] - found["none"] for name in names)
        cells = [f"{1000 * seconds:.0f}" for seconds in (found["none"], spark_s, ours, tuned)]
        ratios = [f"{one / spark_s:.2f}" for one in (ours, tuned)]
        table.append([f"{tasks}", *cells, *ratios])
    spark.stop()
    more = ["more with mapInArrow", "with ours", "with ours, tuned"]
    columns = ["tasks", "job without Python, ms", *more, "ours ÷ Spark's", "tuned ÷ Spark's"]
    show(f"a stage that gives out {ROWS:,} rows as they are, two cores", columns, table)


def _tuned(rows: DataFrame) -> DataFrame:
    os.environ[SWITCH] = "1"
    try:
        return map_in_arrow(rows, _as_they_are, "id long")
    finally:
        del os.environ[SWITCH]


def _written(df: DataFrame) -> Callable[[], None]:
    return lambda: df.write.format("noop").mode("overwrite").save()


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    main()
