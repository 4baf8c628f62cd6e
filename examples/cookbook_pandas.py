"""One executor runs out of memory in applyInPandas: what the largest call holds.

Run it with ``python examples/cookbook_pandas.py``.
"""

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us
from unskew.spark.aggregators import Aggregator, State

ROWS, WORKERS = 200_000, 8


def readings(spark: SparkSession, rows: int) -> DataFrame:
    """Return readings of which half are one sensor's."""
    sensor = sf.when(sf.col("id") % 2 == 0, 0).otherwise(sf.col("id") % 501)
    return spark.range(rows, numPartitions=4).select(
        sensor.alias("sensor"), (sf.col("id") % 100).cast("double").alias("value")
    )


def whole_group(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of a sensor, from all its rows at once; and how many they were."""
    return pd.DataFrame(
        {
            "sensor": frame["sensor"].iloc[:1],
            "mean": [frame["value"].mean()],
            "held": [len(frame)],
        }
    )


class MeanAndHeld(Aggregator):
    """The mean of a sensor, batch by batch; and the rows of the largest batch."""

    state_schema = pa.schema([("total", pa.float64()), ("n", pa.int64()), ("held", pa.int64())])

    def init(self) -> State:
        """Return the state of no rows."""
        return (0.0, 0, 0)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Add the rows of a batch."""
        total = state[0] + sum(batch["value"].to_pylist())
        return (total, state[1] + batch.num_rows, max(state[2], batch.num_rows))

    def merge(self, a: State, b: State) -> State:
        """Add the states of two workers."""
        return (a[0] + b[0], a[1] + b[1], max(a[2], b[2]))

    def finish(self, state: State) -> State:
        """Return the mean."""
        return (state[0] / state[1], state[2])


def main(spark: SparkSession, rows: int = ROWS) -> dict[str, tuple[int, int]]:
    """Print, and return, the rows that the largest call holds and those of the busiest worker."""
    df, schema = readings(spark, rows), "sensor long, mean double, held long"
    loads = us.Loads()
    ways = {
        "groupBy().applyInPandas": df.groupBy("sensor").applyInPandas(whole_group, schema),
        "us.group_by().apply": us.group_by(df, "sensor", workers=WORKERS, loads=loads).apply(
            MeanAndHeld(), "mean double, held long"
        ),
    }
    held = {name: result.agg(sf.max("held")).collect()[0][0] for name, result in ways.items()}
    # Where Spark's groupBy brings the rows of a sensor.
    task = sf.pmod(sf.hash("sensor"), sf.lit(WORKERS))
    hashed = df.groupBy(task).count().agg(sf.max("count")).collect()[0][0]
    busiest = {"groupBy().applyInPandas": hashed, "us.group_by().apply": max(loads.epoch.loads)}
    print("| | rows that the largest call holds | rows of the busiest worker |\n|---|---|---|")
    for name in ways:
        print(f"| `{name}` | {held[name]:,} | {busiest[name]:,} |")
    return {name: (held[name], busiest[name]) for name in ways}


if __name__ == "__main__":
    running = us.session(master="local[2]", spark__sql__shuffle__partitions=WORKERS)
    running.sparkContext.setLogLevel("ERROR")
    main(running)
    running.stop()
