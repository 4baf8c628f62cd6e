"""The window never ends: row numbers and running totals of a hot key, before and after.

Run it with ``python examples/cookbook_windows.py``.
"""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

import unskew.spark as us

ROWS, WORKERS = 200_000, 8


def payments(spark: SparkSession, rows: int) -> DataFrame:
    """Return payments of which 40 % are one account's."""
    account = sf.when(sf.col("id") % 5 < 2, 0).otherwise(sf.col("id") % 1009)
    return spark.range(rows, numPartitions=4).select(
        account.alias("account"), sf.col("id").alias("at"), (sf.col("id") % 100).alias("amount")
    )


def busiest(df: DataFrame) -> float:
    """Return the rows of the busiest task as a multiple of the mean over all tasks."""
    used = df.where("number > 0 and total is not null")  # or Spark would leave the window out
    loads = [row["count"] for row in used.groupBy(sf.spark_partition_id()).count().collect()]
    return float(max(loads) * WORKERS / sum(loads))


def main(spark: SparkSession, rows: int = ROWS) -> tuple[DataFrame, DataFrame]:
    """Print how even both are, and return both results."""
    df = payments(spark, rows)
    window = Window.partitionBy("account").orderBy("at")
    plain = df.withColumns(
        {"number": sf.row_number().over(window), "total": sf.sum("amount").over(window)}
    )
    ours = us.window(df, "account", "at", workers=WORKERS)
    cut = ours.with_columns(number=ours.row_number(), total=ours.sum("amount"))
    print("| window | busiest task × mean |\n|---|---|")
    print(f"| `Window.partitionBy` | {busiest(plain):.2f} |")
    print(f"| `us.window` | {busiest(cut):.2f} |")
    return plain, cut


if __name__ == "__main__":
    running = us.session(
        master="local[2]",
        spark__sql__shuffle__partitions=WORKERS,
        spark__sql__adaptive__coalescePartitions__enabled="false",
    )
    running.sparkContext.setLogLevel("ERROR")
    main(running)
    running.stop()
