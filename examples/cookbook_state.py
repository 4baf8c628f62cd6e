"""State of one partition grows: where a stream keeps what it remembers, before and after.

Run it with ``python examples/cookbook_state.py``.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

ROWS, WORKERS = 200_000, 8


def history(spark: SparkSession, rows: int) -> DataFrame:
    """Return what the stream has brought so far; half of it is one tenant's."""
    tenant = sf.when(sf.col("id") % 2 == 0, 0).otherwise(sf.col("id") % 301)
    return spark.range(rows, numPartitions=4).select(tenant.alias("tenant"), "id")


def largest_state(df: DataFrame, *keys: str) -> float:
    """Return the rows in the largest partition of a state by ``keys``, as a multiple of the mean.

    Spark's stateful operators put a row on partition ``pmod(hash(keys), n)``.
    """
    partition = sf.pmod(sf.hash(*keys), sf.lit(WORKERS))
    loads = [row["count"] for row in df.groupBy(partition).count().collect()]
    return float(max(loads) * WORKERS / sum(loads))


def main(spark: SparkSession, rows: int = ROWS) -> dict[str, float]:
    """Print, and return, how large the largest partition of the state is."""
    df = history(spark, rows)
    plan = us.plan(df, "tenant", WORKERS)  # from history; the stream follows it
    salted = us.salt(df, "tenant", WORKERS, plan=plan)
    found = {
        'groupBy("tenant")': largest_state(df, "tenant"),
        'us.salt, groupBy("tenant", "salt")': largest_state(salted, "tenant", "salt"),
    }
    print("| state by | largest partition × mean |\n|---|---|")
    for name, times in found.items():
        print(f"| `{name}` | {times:.2f} |")
    return found


if __name__ == "__main__":
    running = us.session(master="local[2]", spark__sql__shuffle__partitions=WORKERS)
    running.sparkContext.setLogLevel("ERROR")
    main(running)
    running.stop()
