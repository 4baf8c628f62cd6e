"""Learn a plan once, look at it, keep it, and place the rows of other days by it.

Run it with ``python examples/spark_plan.py``.
"""

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

WORKERS = 8


def events(spark: SparkSession, day: int) -> DataFrame:
    """Return the events of a day; a third of them are one user's, every day."""
    user = sf.when(sf.col("id") % 3 == 0, "hot").otherwise(
        sf.concat(sf.lit("u"), sf.col("id") % 997)
    )
    return spark.range(day * 100_000, (day + 1) * 100_000).select("id", user.alias("user"))


def main(spark: SparkSession, folder: Path) -> dict[str, us.Epoch]:
    """Return what the workers got on two days, hashed by key and placed by the first day's plan."""
    plan = us.plan(events(spark, 0), "user", WORKERS)
    print(plan)
    print(plan.why)
    plan.save(folder / "users.json")

    kept = us.load_plan(folder / "users.json")
    epochs: dict[str, us.Epoch] = {}
    for day in (0, 1):
        df = events(spark, day)
        by_key, by_plan = us.Loads(), us.Loads()
        work_on(us.balance(df, "user", WORKERS, grouping="key", loads=by_key))
        work_on(us.balance(df, "user", WORKERS, plan=kept, loads=by_plan))
        epochs |= {f"day {day} by key": by_key.epoch, f"day {day} by plan": by_plan.epoch}
    return epochs


def work_on(df: DataFrame) -> None:
    """Read all rows, and drop them."""
    df.write.format("noop").mode("overwrite").save()


if __name__ == "__main__":
    running = us.session(master="local[2]", spark__sql__shuffle__partitions=WORKERS)
    running.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as made:
        for what, epoch in main(running, Path(made)).items():
            print(f"{what}: imbalance {epoch.imbalance:.1f} %, rows per worker {epoch.loads}")
    running.stop()
