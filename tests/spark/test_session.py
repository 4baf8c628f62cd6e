import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from unskew.spark.session import session

FRESH = """
import sys
from unskew.spark import session
spark = session(master="local[1]", app_name="fresh", spark__sql__shuffle__partitions=3)
python = spark.range(1).mapInArrow(work, "python string").collect()[0][0]
conf = spark.sparkContext.getConf()
print(python == sys.executable, conf.get("spark.ui.enabled"), conf.get("spark.driver.host"),
      conf.get("spark.app.name"), spark.conf.get("spark.sql.shuffle.partitions"),
      conf.get("spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch"))
"""
WORK = """
def work(batches):
    import sys
    import pyarrow as pa
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"python": [sys.executable]})
"""


def test_workers_run_this_python_although_another_comes_first_on_the_path(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    env["PATH"] = f"{tmp_path}{os.pathsep}{env['PATH']}"
    env.pop("SPARK_LOCAL_IP", None)
    done = subprocess.run(
        [sys.executable, "-c", WORK + FRESH], env=env, capture_output=True, text=True, check=False
    )
    expected = ["True", "false", "127.0.0.1", "fresh", "3", "true"]
    assert done.stdout.split() == expected, done.stderr[-2000:]


def test_a_running_session_is_returned(spark: SparkSession) -> None:
    assert session(master="local[2]", app_name="unskew tests") is spark
