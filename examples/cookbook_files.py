"""Thousands of tiny files: a partitioned write, before and after.

Run it with ``python examples/cookbook_files.py``.
"""

import tempfile
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

ROWS, WORKERS = 200_000, 8


def sales(spark: SparkSession, rows: int) -> DataFrame:
    """Return sales of 101 countries, of which one has 40 %, as 16 tasks read them."""
    country = sf.when(sf.col("id") % 5 < 2, 0).otherwise(sf.col("id") % 101)
    return spark.range(rows, numPartitions=16).select("id", country.alias("country"))


def written(df: DataFrame, folder: Path) -> tuple[int, float]:
    """Return the number of files, and the rows of the busiest task as a multiple of the mean."""
    df.write.partitionBy("country").parquet(str(folder))
    tasks: dict[str, int] = defaultdict(int)
    files = list(folder.rglob("*.parquet"))
    for path in files:
        tasks[path.name.split("-")[1]] += pq.ParquetFile(path).metadata.num_rows
    return len(files), max(tasks.values()) * len(tasks) / sum(tasks.values())


def main(spark: SparkSession, folder: Path, rows: int = ROWS) -> dict[str, tuple[int, float]]:
    """Print, and return, what each way makes."""
    df = sales(spark, rows)
    print(us.write_plan(df, "country", workers=WORKERS), "\n")
    ways = {
        "df": df,
        f'df.repartition({WORKERS}, "country")': df.repartition(WORKERS, "country"),
        f"df.repartition({WORKERS})": df.repartition(WORKERS),
        f'us.for_write(df, "country", workers={WORKERS})': us.for_write(
            df, "country", workers=WORKERS
        ),
    }
    found = {name: written(way, folder / str(at)) for at, (name, way) in enumerate(ways.items())}
    print('| before `.write.partitionBy("country")` | files | busiest task × mean |\n|---|---|---|')
    for name, (files, times) in found.items():
        print(f"| `{name}` | {files:,} | {times:.2f} |")
    return found


if __name__ == "__main__":
    running = us.session(master="local[2]", spark__sql__shuffle__partitions=WORKERS)
    running.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as made:
        main(running, Path(made))
    running.stop()
