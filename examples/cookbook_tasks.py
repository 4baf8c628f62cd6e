"""199 of 200 tasks are done: Python work on skewed keys, before and after.

Run it with ``python examples/cookbook_tasks.py``.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

ROWS, WORKERS = 400_000, 16


def clicks(spark: SparkSession, rows: int) -> DataFrame:
    """Return clicks of which a third are one user's."""
    user = sf.when(sf.col("id") % 3 == 0, "hot").otherwise(
        sf.concat(sf.lit("u"), sf.col("id") % 997)
    )
    return spark.range(rows, numPartitions=4).select("id", user.alias("user"))


def measured(df: DataFrame) -> tuple[float, float]:
    """Return the rows of the busiest task, × mean, and on how many tasks a user is, on average."""
    places = df.groupBy(sf.spark_partition_id().alias("task"), "user").count()
    loads = [
        row["rows"] for row in places.groupBy("task").agg(sf.sum("count").alias("rows")).collect()
    ]
    users = places.select("user").distinct().count()
    return float(max(loads)) * WORKERS / sum(loads), places.count() / users


def main(spark: SparkSession, rows: int = ROWS) -> dict[str, tuple[float, float]]:
    """Print, and return, how much of the work the busiest task has, and where users are."""
    df = clicks(spark, rows)
    found = {
        f'df.repartition({WORKERS}, "user")': measured(df.repartition(WORKERS, "user")),
        f"df.repartition({WORKERS})": measured(df.repartition(WORKERS)),
        f'us.balance(df, "user", {WORKERS})': measured(us.balance(df, "user", WORKERS)),
    }
    print("| rows are placed by | busiest task × mean | tasks per user |\n|---|---|---|")
    for name, (times, places) in found.items():
        print(f"| `{name}` | {times:.2f} | {places:.2f} |")
    return found


if __name__ == "__main__":
    running = us.session(master="local[2]")
    running.sparkContext.setLogLevel("ERROR")
    main(running)
    running.stop()
