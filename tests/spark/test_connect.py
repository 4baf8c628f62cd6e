"""What runs on a session of its own process runs through Spark Connect too."""

import importlib.util
import os
import subprocess
import sys

import pytest

PROGRAM = """
import pyspark.sql.functions as sf
from pyspark.sql import SparkSession
from unskew.spark import balance

spark = SparkSession.builder.remote("local[2]").getOrCreate()
df = spark.range(20_000).selectExpr("if(id % 2 = 0, 0, id) AS key", "id")
for grouping, most in (("wrap", 5200), ("shuffle", 5002), ("partial-key", 20_000)):
    placed = balance(df, "key", 4, grouping=grouping)
    counts = placed.groupBy(sf.spark_partition_id()).count().collect()
    print(grouping, len(counts), sum(row["count"] for row in counts),
          max(row["count"] for row in counts) <= most, placed.columns == df.columns)
spark.stop()
"""
MISSING = [name for name in ("grpc", "grpc_status") if importlib.util.find_spec(name) is None]


@pytest.mark.skipif(bool(MISSING), reason=f"Spark Connect needs {', '.join(MISSING)}")
def test_balance_runs_through_connect() -> None:
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == [
        "wrap 4 20000 True True",
        "shuffle 4 20000 True True",
        "partial-key 4 20000 True True",
    ], done.stderr[-3000:]
