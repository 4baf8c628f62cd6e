"""Count distinct by tenant: where Spark spreads the work itself, and where it does not.

Run it with ``python examples/cookbook_distinct.py``.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

ROWS, WORKERS = 200_000, 8


def events(spark: SparkSession, rows: int) -> DataFrame:
    """Return events of which half are one tenant's; every tenth is of a user seen before."""
    tenant = sf.when(sf.col("id") % 2 == 0, 0).otherwise(sf.col("id") % 301)
    user = sf.when(sf.col("id") % 10 == 0, sf.col("id") % 1_000).otherwise(sf.col("id"))
    return spark.range(rows, numPartitions=4).select(tenant.alias("tenant"), user.alias("user"))


def values_of_busiest(df: DataFrame, *keys: str) -> float:
    """Return the distinct values of the busiest task, × mean, if they are shuffled by ``keys``."""
    task = sf.pmod(sf.hash(*keys), sf.lit(WORKERS))
    loads = [row["count"] for row in df.distinct().groupBy(task).count().collect()]
    return float(max(loads) * WORKERS / sum(loads))


def main(spark: SparkSession, rows: int = ROWS) -> dict[str, tuple[float, int]]:
    """Print how many values the busiest task has, and return it with the largest count."""
    df = events(spark, rows)
    by_tenant = df.groupBy("tenant")
    # Spark shuffles a distinct by tenant and value first; a set has to be whole in one task.
    ways = {
        "count_distinct": (["tenant", "user"], sf.count_distinct("user")),
        "size(collect_set)": (["tenant"], sf.size(sf.collect_set("user"))),
    }
    found = {}
    for name, (keys, distinct) in ways.items():
        users = by_tenant.agg(distinct.alias("n")).agg(sf.max("n")).collect()[0][0]
        found[name] = (values_of_busiest(df, *keys), int(users))
    print("| | values of the busiest task × mean | users of the largest tenant |\n|---|---|---|")
    for name, (times, users) in found.items():
        print(f"| `{name}` | {times:.2f} | {users:,} |")
    return found


if __name__ == "__main__":
    running = us.session(master="local[2]", spark__sql__shuffle__partitions=WORKERS)
    running.sparkContext.setLogLevel("ERROR")
    main(running)
    running.stop()
