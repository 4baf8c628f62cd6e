"""Rows are mapped through Spark Connect as they are on a session of one's own process."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from pyspark.sql import SparkSession
from unskew.spark import read_epochs
from unskew.spark.mapping import map_batches, map_rows

spark = SparkSession.builder.remote("local[2]").getOrCreate()
df = spark.range(0, 2000, 1, 2).selectExpr("id", "if(id % 50 = 0, 'slow', 'fast') AS kind")

def double(row):
    sum(range(20_000 if row.kind == "slow" else 10))
    return (2 * row.id,)

def first_column(batch):
    return batch.select(["id"])

def fails(row):
    raise KeyError("price")

def rows(df):
    return sorted(row.id for row in df.collect())

print(rows(map_rows(df, double, "id long", cost_by="kind", workers=4)) == list(range(0, 4000, 2)))
out = map_batches(df, first_column, "id long", cost_by="kind", workers=4)
print(rows(out) == list(range(2000)))
try:
    map_rows(df, fails, "id long", cost_by="kind", workers=1, grouping="shuffle").collect()
except Exception as error:
    print("fails: the call failed on worker 0 at key kind='slow': KeyError: 'price'" in str(error))

folder = sys.argv[1]
df.write.parquet(f"{folder}/in")
files = spark.readStream.schema(df.schema).option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
out = map_rows(
    files,
    double,
    "id long",
    cost_by="kind",
    workers=2,
    plan_path=f"{folder}/plans",
    grouping="proactive-shuffle:window=100",
)
sink = out.writeStream.format("parquet").option("path", f"{folder}/out")
query = sink.option("checkpointLocation", f"{folder}/checkpoint").start()
query.processAllAvailable()
deadline = time.monotonic() + 30
while len(read_epochs(f"{folder}/plans")) < 2 and time.monotonic() < deadline:
    time.sleep(0.1)
query.stop()
print(rows(spark.read.parquet(f"{folder}/out")) == list(range(0, 4000, 2)))
epochs = read_epochs(f"{folder}/plans")
print(sum(epoch.rows for epoch in epochs) == 2000, epochs[0].phase)
spark.stop()
"""
MISSING = [name for name in ("grpc", "grpc_status") if importlib.util.find_spec(name) is None]


@pytest.mark.skipif(bool(MISSING), reason=f"Spark Connect needs {', '.join(MISSING)}")
def test_mapping_runs_through_connect(tmp_path: Path) -> None:
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [*["True"] * 4, "True ROUND_ROBIN"], done.stderr[-3000:]
