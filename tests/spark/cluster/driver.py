"""What the driver programs of this folder share: a cluster of this machine, and how they report."""

import json
import shutil
import sys
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us

ROOT = Path(__file__).parents[3]


def cluster_session(**config: object) -> SparkSession:
    """Return a session on two executors of one core, which are processes of their own."""
    spark = us.session(
        master="local-cluster[2,1,1024]",
        app_name="unskew cluster tests",
        **{
            "spark.sql.shuffle.partitions": 4,
            "spark.executorEnv.PYTHONPATH": str(ROOT),
            # A dead executor is known to be dead: neither wait for it nor ask it thrice.
            "spark.shuffle.io.maxRetries": 1,
            "spark.shuffle.io.retryWait": "200ms",
            "spark.locality.wait": 0,
            **config,
        },
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def stop(spark: SparkSession) -> None:
    """Stop the cluster and remove what its workers leave behind in Spark's own folder."""
    left = Path(_find_spark_home()) / "work" / spark.sparkContext.applicationId
    spark.stop()
    shutil.rmtree(left, ignore_errors=True)


def work_folder() -> Path:
    """Return the folder that the test has given this program."""
    return Path(sys.argv[1])


def report(case: str, **facts: object) -> None:
    """Tell the test what came out of a case."""
    print("REPORT", json.dumps({"case": case, **facts}), flush=True)


def sorted_rows(df: DataFrame) -> list[str]:
    """Return all rows in an order that depends on nothing but the rows."""
    return sorted(map(repr, df.collect()))
