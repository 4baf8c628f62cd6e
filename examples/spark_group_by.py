"""Three ways to group a skewed table by key, each with the result of plain Spark.

Run it with ``python examples/spark_group_by.py``.
"""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us


def sales(spark: SparkSession) -> DataFrame:
    """Return sales of which one user makes half."""
    return spark.range(20_000).select(
        sf.when(sf.col("id") % 2 == 0, "hot")
        .otherwise(sf.concat(sf.lit("u"), sf.col("id") % 97))
        .alias("user"),
        sf.concat(sf.lit("item"), sf.col("id") % 13).alias("item"),
        (sf.col("id") % 101).alias("price"),
        (sf.col("id") % 7 + 1).alias("qty"),
    )


def dearest(table: pa.Table) -> pa.Table:
    """Return the dearest item of a user, from all rows of the user at once."""
    ordered = table.sort_by([("price", "descending"), ("item", "ascending")])
    return ordered.slice(0, 1).select(["user", "item"])


def main(spark: SparkSession) -> dict[str, DataFrame]:
    """Return the three results."""
    df = sales(spark)
    return {
        # Spark's own aggregates; the hot user's rows are spread over two workers.
        "agg": us.group_by(df, "user", workers=8, grouping="partial-key").agg(
            sf.count("*").alias("n"),
            sf.sum("price").alias("total"),
            us.weighted_mean("price", "qty").alias("mean_price"),
        ),
        # An aggregator of one's own, in Python over Arrow batches; merged, so it may be split.
        "apply": us.group_by(df, "user", workers=8).apply(
            us.TopRows("price", "item", k=3), "prices array<double>, items array<string>"
        ),
        # Whole groups: no user is split, the others make room for the hot one.
        "apply_in_arrow": us.group_by(
            df, "user", workers=8, grouping="distribution-aware"
        ).apply_in_arrow(dearest, "user string, item string"),
    }


def loads_of(df: DataFrame, grouping: str) -> us.Loads:
    """Return what the eight workers had to do if rows are placed by ``grouping``."""
    loads = us.Loads()
    placed = us.group_by(df, "user", workers=8, grouping=grouping, loads=loads)
    placed.apply(
        us.TopRows("price", "item", k=3), "prices array<double>, items array<string>"
    ).collect()
    return loads


if __name__ == "__main__":
    running = us.session(master="local[2]", spark__sql__shuffle__partitions=4)
    running.sparkContext.setLogLevel("ERROR")
    for name, result in main(running).items():
        print(name)
        result.orderBy("user").show(3, truncate=False)
    for scheme in ("key", "wrap"):
        print(f"rows per worker by {scheme}: {loads_of(sales(running), scheme).epoch.loads}")
    running.stop()
