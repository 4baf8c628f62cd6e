"""Run a Python step over the Arrow batches of a DataFrame, whatever its columns are called."""

from collections.abc import Callable, Iterator
from inspect import signature

import pyarrow as pa
from pyspark.errors import ParseException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from unskew.errors import InvalidParameterError
from unskew.spark._shipping import shipped

Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def struct_type(owner: str, parameter: str, schema: object) -> StructType:
    """Return a schema as Spark's type, however it was given.

    >>> struct_type("map_rows", "schema", pa.schema([("n", pa.int64())])).simpleString()
    'struct<n:bigint>'
    """
    if isinstance(schema, pa.Schema):
        schema = from_arrow_schema(schema)
    elif isinstance(schema, str):
        try:
            schema = StructType.fromDDL(schema)
        except ParseException as error:
            raise InvalidParameterError(owner, parameter, "DDL text", schema) from error
    if not isinstance(schema, StructType) or not schema.fields:
        expected = "a StructType, an Arrow schema or DDL text with at least one column"
        raise InvalidParameterError(owner, parameter, expected, schema)
    return schema


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema of the batches that Spark expects for ``schema``."""
    # Spark 4.1 knows UTC alone, later versions have to be told.
    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)


def map_in_arrow(df: DataFrame, step: Step, schema: StructType | str) -> DataFrame:
    """Return what ``step`` makes of each partition; it must not rely on names of columns."""
    # Spark's mapInArrow does not find columns with a dot in their name.
    numbered = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
    return numbered.mapInArrow(shipped(step), schema)
