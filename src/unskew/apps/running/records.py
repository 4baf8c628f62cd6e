"""Tell records that are rows of the application from those that are not."""

from functools import reduce

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from unskew.apps.running.opened import Opened
from unskew.spark.steps.running import struct_type

CORRUPT = "_corrupt_record"
"""The column in which Spark's readers put the text of a record that they cannot read."""
DEAD_LETTERS = "unskew_dead_letters"
"""Under which name a micro-batch reports how many records were no rows."""


def schema_of(ddl: str) -> StructType:
    """Return the columns of an application's rows, as objects."""
    return struct_type("application", "schema", ddl)


def with_corrupt(schema: StructType) -> StructType:
    """Return a schema for Spark's readers, with room for what they cannot read."""
    return StructType([*schema.fields, StructField(CORRUPT, StringType())])


def from_json_text(df: DataFrame, text: Column, schema: StructType) -> Opened:
    """Read each ``text`` as a JSON object with the application's columns."""
    read = sf.from_json(text, with_corrupt(schema), {"columnNameOfCorruptRecord": CORRUPT})
    unpacked = df.select(read.alias("row"), text.alias("text"))
    columns = [sf.col("row")[name].alias(name) for name in schema.fieldNames()]
    bad = sf.col("row").isNull() | sf.col("row")[CORRUPT].isNotNull()
    return separated(unpacked.select(*columns, bad.alias(CORRUPT), "text"), schema)


def from_reader(df: DataFrame, schema: StructType) -> Opened:
    """Take what a reader of Spark made of records, with the column `CORRUPT`."""
    columns = [sf.col(f"`{name}`") for name in schema.fieldNames()]
    text = sf.coalesce(CORRUPT, sf.to_json(sf.struct(*columns)))
    return separated(
        df.select(*columns, sf.col(CORRUPT).isNotNull().alias(CORRUPT), text.alias("text")), schema
    )


def separated(df: DataFrame, schema: StructType) -> Opened:
    """Keep what has all columns of the application, count and put aside what has not.

    ``df`` has those columns, `CORRUPT` (whether it could not be read) and ``text``.
    """
    missing = [sf.col(f"`{name}`").isNull() for name in schema.fieldNames()]
    bad = reduce(lambda left, right: left | right, missing, sf.col(CORRUPT))
    judged = df.withColumn(CORRUPT, bad)
    counted = judged.observe(DEAD_LETTERS, sf.count_if(CORRUPT).alias("records"))
    return Opened(
        counted.where(~sf.col(CORRUPT)).drop(CORRUPT, "text"),
        judged.where(CORRUPT).select(sf.col("text").alias("record")),
    )
