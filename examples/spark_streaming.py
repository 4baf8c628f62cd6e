"""A stream whose hot user changes: the plan follows, the counts stay exact.

Run it with ``python examples/spark_streaming.py``.
"""

import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

ROWS = 50_000


def write_events(spark: SparkSession, folder: Path, number: int) -> None:
    """Write the events of a minute; half are one user's, another one's from minute 4 on."""
    hot = "ann" if number < 4 else "bob"
    user = sf.when(sf.col("id") % 2 == 0, hot).otherwise(sf.concat(sf.lit("u"), sf.col("id") % 997))
    events = spark.range(ROWS, numPartitions=1).select(user.alias("user"), "id")
    events.write.mode("append").parquet(str(folder))


def main(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the counts; ``folder / "plans"`` tells how they came about."""
    write_events(spark, folder / "events", 0)
    reader = spark.readStream.schema("user string, id long").option("maxFilesPerTrigger", 1)
    events = reader.parquet(str(folder / "events"))
    placed = us.balance_stream(events, "user", workers=8, plan_path=folder / "plans")
    counts = placed.groupBy("user").agg(sf.count("*").alias("n"))
    writer = counts.writeStream.format("memory").queryName("counts").outputMode("complete")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    for number in range(1, 8):
        write_events(spark, folder / "events", number)
        query.processAllAvailable()
    query.stop()
    return spark.table("counts")


if __name__ == "__main__":
    running = us.session(master="local[2]", spark__sql__shuffle__partitions=4)
    running.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as made:
        result = main(running, Path(made))
        result.orderBy(sf.desc("n")).show(3)
        for epoch in us.read_epochs(Path(made) / "plans"):
            changed = f"; plan {epoch.next_version}: {epoch.why}" if epoch.next_version else ""
            print(
                f"micro-batch {epoch.batch}: plan {epoch.version}, "
                f"imbalance {epoch.imbalance:.1f} %{changed}"
            )
        running.stop()
