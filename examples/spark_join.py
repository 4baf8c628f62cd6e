"""Join orders with customers where one customer has a third of all orders.

Run it with ``python examples/spark_join.py``.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

WORKERS = 8


def orders(spark: SparkSession) -> DataFrame:
    """Return 60,000 orders; a third of them are one customer's, a few have no customer."""
    number = sf.col("id")
    customer = sf.when(number % 3 == 0, "c0").when(number % 100 == 1, None)
    return spark.range(60_000).select(
        number.alias("order"),
        customer.otherwise(sf.concat(sf.lit("c"), number % 997)).alias("customer"),
    )


def addresses(spark: SparkSession) -> DataFrame:
    """Return two addresses of each of 900 customers."""
    number = sf.col("id")
    return spark.range(1_800).select(
        sf.concat(sf.lit("c"), number % 900).alias("customer"), number.alias("address")
    )


def main(spark: SparkSession) -> dict[str, DataFrame]:
    """Return the orders with all addresses of their customers, joined by Spark and by a plan."""
    left, right = orders(spark), addresses(spark)
    plan = us.plan(left, "customer", WORKERS, join=right, how="left")
    print(plan)
    return {
        "plain": left.join(right, "customer", "left"),
        "planned": us.join(left, right, "customer", "left", plan=plan),
    }


def rows_per_worker(df: DataFrame) -> list[int]:
    """Return how many rows each task has, the most first."""
    found = df.groupBy(sf.spark_partition_id()).count().collect()
    return sorted((row["count"] for row in found), reverse=True)


if __name__ == "__main__":
    running = us.session(
        master="local[2]",
        spark__sql__shuffle__partitions=WORKERS,
        spark__sql__autoBroadcastJoinThreshold=-1,  # as if the addresses were many
        spark__sql__adaptive__coalescePartitions__enabled=False,  # as if the rows were
    )
    running.sparkContext.setLogLevel("ERROR")
    for name, joined in main(running).items():
        print(f"{name}: rows per worker {rows_per_worker(joined)}")
    running.stop()
