"""One slow API call holds up the stage: rows of unequal cost, before and after.

Run it with ``python examples/cookbook_calls.py``.
"""

import time

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

ROWS, WORKERS = 1_600, 4
SECONDS = {"slow": 0.05, "quick": 0.002}


def orders(spark: SparkSession, rows: int) -> DataFrame:
    """Return orders; those of one shop, a contiguous sixteenth, take 25 times as long."""
    shop = sf.when(sf.col("id") < rows // 16, "slow").otherwise("quick")
    return spark.range(0, rows, 1, WORKERS).select("id", shop.alias("shop"))


def look_up(row: Row) -> dict[str, object]:
    """Wait for an answer."""
    time.sleep(SECONDS[row.shop])
    return {"id": row.id, "answer": row.shop.upper()}


def main(spark: SparkSession, rows: int = ROWS) -> dict[str, float]:
    """Print, and return, how long the busiest worker is at it, as a multiple of the mean."""
    df, found = orders(spark, rows), {}
    # As it is read: each worker maps the rows of its own input partition.
    seconds = df.withColumn("task", sf.spark_partition_id()).groupBy("task", "shop").count()
    read = [0.0] * WORKERS
    for row in seconds.collect():
        read[row["task"]] += SECONDS[row["shop"]] * row["count"]
    found["as read"] = max(read) * WORKERS / sum(read)
    loads = us.Loads()
    # By default so short a job would go round-robin: learning takes a second or two.
    answers = us.map_rows(
        df,
        look_up,
        "id long, answer string",
        cost_by="shop",
        workers=WORKERS,
        grouping="proactive-shuffle",
        loads=loads,
    )
    if answers.count() != rows:
        raise AssertionError("an order got no answer")
    busy = loads.epoch.busy_seconds or ()
    found["us.map_rows"] = max(busy) * WORKERS / sum(busy)
    print("| | time of the busiest worker × mean |\n|---|---|")
    for name, times in found.items():
        print(f"| `{name}` | {times:.2f} |")
    return found


if __name__ == "__main__":
    running = us.session(master="local[4]")
    running.sparkContext.setLogLevel("ERROR")
    main(running)
    running.stop()
