"""Write skewed rows into Delta Lake or Apache Iceberg and merge into them; print what came of it.

``python -m tests.spark.lakehouse.tables_program delta FOLDER JAR …``
"""

import json
import sys
from collections import Counter
from pathlib import Path

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us

WORKERS, ROWS = 8, 60_000
_ICEBERG = "org.apache.iceberg.spark"
SETTINGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": f"{_ICEBERG}.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": f"{_ICEBERG}.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
}


def report(case: str, **facts: object) -> None:
    """Print what the test reads."""
    print("REPORT", json.dumps({"case": case, **facts}), flush=True)


def sales(spark: SparkSession) -> DataFrame:
    """Return rows of 41 countries, of which one has almost half."""
    country = sf.when(sf.col("id") % 7 < 3, sf.lit("hot")).otherwise(
        sf.concat(sf.lit("c"), sf.col("id") % 40)
    )
    amount = (sf.col("id") % 1_000).cast("double")
    return spark.range(ROWS, numPartitions=4).select(
        "id", country.alias("country"), amount.alias("amount")
    )


def files_of(spark: SparkSession, kind: str, table: str) -> list[tuple[str, int]]:
    """Return partition and rows of every file that the table has now."""
    if kind == "iceberg":
        found = spark.table(f"{table}.files").select("partition.country", "record_count").collect()
        return [(row[0], row[1]) for row in found]
    rows = spark.table(table).groupBy(sf.input_file_name(), "country").count().collect()
    return [(row["country"], row["count"]) for row in rows]


def create(spark: SparkSession, kind: str, table: str, mode: str) -> None:
    """Create an empty table by country; Iceberg as asked, with the shuffle before a write."""
    options = f"TBLPROPERTIES ('write.distribution-mode'='{mode}')" if kind == "iceberg" else ""
    spark.sql(
        f"CREATE TABLE {table} (id bigint, country string, amount double) USING {kind} "
        f"PARTITIONED BY (country) {options}"
    )


def write(spark: SparkSession, kind: str, table: str) -> us.WritePlan:
    """Write the sales, and tell files and what was predicted."""
    df = sales(spark)
    plan = us.write_plan(df, "country", workers=WORKERS)
    us.for_write(df, "country", plan=plan).writeTo(table).append()
    found = files_of(spark, kind, table)
    report(
        f"write {table}",
        files=len(found),
        predicted=plan.files,
        partitions=plan.partitions,
        extra=plan.plan.extra_pieces,
        per_partition=sorted(Counter(country for country, _ in found).values(), reverse=True),
        rows=sorted((rows for _, rows in found), reverse=True),
        predicted_rows=plan.file_rows.tolist(),
    )
    return plan


def merge(spark: SparkSession, table: str, plan: us.WritePlan) -> None:
    """Merge changes, placed by the same plan, and compare with what must be there."""
    changed = sales(spark).where("id % 3 = 0").withColumn("amount", sf.col("amount") + 1)
    added = sales(spark).withColumn("id", sf.col("id") + ROWS).where("id % 5 = 0")
    changes = changed.union(added)
    # A row number is not deterministic, and Iceberg takes no source for a merge that is not.
    placed = us.for_write(changes, "country", plan=plan, spread_by="id")
    placed.createOrReplaceTempView("changes")
    spark.sql(
        f"MERGE INTO {table} AS old USING changes AS new "
        "ON old.id = new.id AND old.country = new.country "
        "WHEN MATCHED THEN UPDATE SET amount = new.amount WHEN NOT MATCHED THEN INSERT *"
    )
    expected = sales(spark).where("id % 3 != 0").union(changes)
    found = spark.table(table).select("id", "country", "amount")
    report(
        "merge",
        rows=found.count(),
        expected=expected.count(),
        missing=expected.exceptAll(found).count(),
        surplus=found.exceptAll(expected).count(),
    )


def main(kind: str, folder: Path, jars: list[str]) -> None:
    """Run all for one format."""
    settings = {**SETTINGS[kind], "spark.sql.warehouse.dir": str(folder / "warehouse")}
    if kind == "iceberg":
        settings["spark.sql.catalog.lake.warehouse"] = str(folder / "lake")
    settings["spark.sql.shuffle.partitions"] = str(WORKERS)
    spark = us.session(master="local[2]", **{"spark.jars": ",".join(jars), **settings})
    spark.sparkContext.setLogLevel("ERROR")
    space = "lake.db" if kind == "iceberg" else "default"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {space}")
    create(spark, kind, f"{space}.sales", "none")
    plan = write(spark, kind, f"{space}.sales")
    merge(spark, f"{space}.sales", plan)
    if kind == "iceberg":
        create(spark, kind, f"{space}.shuffled", "hash")
        write(spark, kind, f"{space}.shuffled")
    report("version", spark=spark.version)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
