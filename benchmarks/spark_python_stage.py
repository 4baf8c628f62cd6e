"""A stage of short Python tasks: Spark's own ``mapInArrow``, and a step of ours.

Spark sends small rows to a Python worker, some of which wait for an acknowledgement that Linux
holds back for 40 ms. Our steps have it sent at once (`unskew.spark.worker.tuning`).
"""

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from benchmarks._timing import interleaved, show
from unskew.spark import session
from unskew.spark.steps.running import map_in_arrow

ROWS, ROUNDS = 4_000, 25
TASKS = (2, 4, 8)


def main() -> None:
    """Time jobs without a Python stage, with Spark's and with ours, in turn."""
    spark = session(master="local[2]")
    spark.sparkContext.setLogLevel("ERROR")
    table = []
    for tasks in TASKS:
        rows = spark.range(0, ROWS, 1, tasks)
        jobs = {
            "none": rows,
            "mapInArrow": rows.mapInArrow(_as_they_are, "id long"),
            "ours": map_in_arrow(rows, _as_they_are, "id long"),
        }
        found = interleaved({name: _written(job) for name, job in jobs.items()}, ROUNDS)
        spark_s, ours = (found[name] - found["none"] for name in ("mapInArrow", "ours"))
        cells = [f"{1000 * seconds:.0f}" for seconds in (found["none"], spark_s, ours)]
        table.append([f"{tasks}", *cells, f"{ours / spark_s:.2f}"])
    spark.stop()
    columns = ["tasks", "job without Python, ms", "more with mapInArrow", "more with ours", "ratio"]
    show(f"a stage that gives out {ROWS:,} rows as they are, two cores", columns, table)


def _written(df: DataFrame) -> Callable[[], None]:
    return lambda: df.write.format("noop").mode("overwrite").save()


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    main()
