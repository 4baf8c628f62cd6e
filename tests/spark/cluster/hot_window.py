"""A window over one hot key, and a step that holds the rows of its task, on executors of 1 GB.

Spark's window itself goes to disk where memory is short. What follows it in the same task often
cannot: here a model that needs a matrix of all rows of its task.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Window
from tests.spark.cluster.driver import cluster_session, report, stop

import unskew.spark as us

ROWS, FEATURES, WORKERS = 400_000, 512, 8


def score(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make a matrix of all rows of the task, 4 KB each, before the first of them goes out."""
    held = list(batches)
    matrix = np.empty((sum(batch.num_rows for batch in held), FEATURES))
    for batch in held:
        matrix[0, 0] = batch.num_rows
        yield batch


def totals(df: DataFrame) -> list[int]:
    """Return the number of rows, and sums by which any wrong one would be seen."""
    scored = df.mapInArrow(score, df.schema)
    row = scored.agg(
        sf.count("*"), sf.sum("number"), sf.sum("total"), sf.sum(sf.col("number") * sf.col("id"))
    ).collect()[0]
    return list(map(int, row))


def main() -> None:
    """Run the job with Spark's window, and with ours."""
    spark = cluster_session(
        **{
            "spark.executor.memory": "1g",
            "spark.executor.pyspark.memory": "1g",
            "spark.task.maxFailures": 1,
            "spark.sql.shuffle.partitions": WORKERS,
            # It would bring the other keys to the hot one's task, too.
            "spark.sql.adaptive.coalescePartitions.enabled": "false",
        }
    )
    key = sf.when(sf.col("id") % 10 < 9, 0).otherwise(sf.col("id"))
    rows = spark.range(ROWS, numPartitions=WORKERS)
    df = rows.select("id", key.alias("key"), (sf.col("id") % 100).alias("amount"))
    window = Window.partitionBy("key").orderBy("id")
    plain = df.withColumns(
        {"number": sf.row_number().over(window), "total": sf.sum("amount").over(window)}
    )
    try:
        report("Spark's window", totals=totals(plain))
    except PySparkException as error:
        report("Spark's window", error=str(error)[:20_000])
    ours = us.window(df, "key", "id", workers=WORKERS)
    cut = ours.with_columns(number=ours.row_number(), total=ours.sum("amount"))
    sums = plain.agg(
        sf.count("*"), sf.sum("number"), sf.sum("total"), sf.sum(sf.col("number") * sf.col("id"))
    )
    report("us.window", totals=totals(cut), expected=list(map(int, sums.collect()[0])))
    stop(spark)


if __name__ == "__main__":
    main()
