"""Rows of unequal cost, spread so that all workers finish together; calls that wait, and fail.

Run it with ``python examples/spark_map_rows.py``.
"""

import asyncio
import time

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

SECONDS = {"celebrity": 0.025, "company": 0.005, "other": 0.001}


def tweets(spark: SparkSession) -> DataFrame:
    """Return tweets, few of which mention someone about whom there is much to look up."""
    kind = (
        sf.when(sf.col("id") % 50 == 0, "celebrity")
        .when(sf.col("id") % 12 == 1, "company")
        .otherwise("other")
    )
    return spark.range(0, 4000, 1, 4).select("id", kind.alias("mention"))


def enrich(row: Row) -> dict[str, object]:
    """Look something up; it takes as long as there is much to find."""
    time.sleep(SECONDS[row.mention])
    return {"id": row.id, "label": row.mention.upper()}


async def ask(row: Row) -> dict[str, object]:
    """Ask a service, which answers later, or never for a few; others are asked meanwhile."""
    await asyncio.sleep(SECONDS[row.mention])
    if row.id % 1000 == 7:
        raise LookupError("the service knows nothing of it")
    return {"id": row.id, "label": row.mention.upper()}


def score(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Do the same for a batch of tweets at once."""
    mentions = batch["mention"].to_pylist()
    time.sleep(sum(SECONDS[mention] for mention in mentions))
    labels = pa.array([mention.upper() for mention in mentions])
    return pa.record_batch({"id": batch["id"], "label": labels})


def main(spark: SparkSession) -> dict[str, DataFrame]:
    """Return the results."""
    df, schema = tweets(spark), "id long, label string"
    return {
        "map_rows": us.map_rows(df, enrich, schema, cost_by="mention", workers=4, row_timeout=10),
        "map_batches": us.map_batches(
            df, score, schema, cost_by="mention", workers=4, batch_rows=32
        ),
        "map_rows, in flight": us.map_rows(
            df,
            ask,
            schema,
            cost_by="mention",
            workers=4,
            retries=1,
            on_error="dead-letter",
            in_flight=16,
        ),
    }


if __name__ == "__main__":
    running = us.session(master="local[4]")
    running.sparkContext.setLogLevel("ERROR")
    for name, result in main(running).items():
        print(name)
        result.groupBy("label").count().orderBy("label").show()
    running.stop()
