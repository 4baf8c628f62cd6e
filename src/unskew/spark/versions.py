"""What versions of Spark lack: how we do without it, or since when it is there."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, cast

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from unskew.errors import UnskewError

STATE_IN_PYTHON = (4, 1)
"""``transformWithState`` over rows in Python, which `GroupedFrame.apply` on a stream needs; 4.0 has
it over pandas alone."""
CHECKSUMS = (4, 1)
"""Checksums of shuffled rows, by which Spark notices that rows came in another order."""


FREQUENT_ITEMS = (4, 1)
"""``approx_top_k``, the summary of frequent items that loops on streams, and `top_k`, stand on."""
OBSERVED_ONCE = (4, 1)
"""An observation below a sort counts its rows once; before, again for the sort's sample."""
QUANTILES = (4, 1)
"""``kll_sketch_agg_double``, of which `quantiles` is made."""
ARROW_COLUMNS = (4, 1)
"""``arrow_udf``, through which tasks get what a store has for them."""


class SparkVersionError(UnskewError):
    """What was asked for needs another version of Spark, which the message names."""


def version_of(spark: SparkSession) -> tuple[int, int]:
    """Return the version of Spark that runs the queries: through Connect, the server's."""
    major, minor, *_ = spark.version.split(".")
    return int(major), int(minor)


def require(spark: SparkSession, since: tuple[int, int], what: str) -> None:
    """Raise if Spark is older than ``since``, in the name of ``what`` was asked for."""
    if version_of(spark) < since:
        raise SparkVersionError(
            f"{what} needs Spark {since[0]}.{since[1]} or newer; this session runs Spark "
            f"{spark.version}."
        )


def lacking(spark: SparkSession) -> list[str]:
    """Return what this version of Spark is too old for, each with the version that has it."""
    known = {
        "apply on streams": STATE_IN_PYTHON,
        "streams with plan_path, top_k": FREQUENT_ITEMS,
        "quantiles": QUANTILES,
        "map_rows and map_batches with plan_path in a store": ARROW_COLUMNS,
        "check of rows that a lost executor makes Spark compute again in another order": CHECKSUMS,
    }
    own = version_of(spark)
    return [
        f"{what} (from Spark {since[0]}.{since[1]} on)"
        for what, since in known.items()
        if own < since
    ]


def require_functions(since: tuple[int, int], what: str) -> None:
    """Raise if this PySpark is older than ``since``; for expressions, which know no session."""
    installed = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if installed < since:
        raise SparkVersionError(
            f"{what} needs Spark {since[0]}.{since[1]} or newer; installed is PySpark "
            f"{pyspark.__version__}."
        )


def to_arrow(df: DataFrame) -> pa.Table:
    """Return all rows on the driver as an Arrow table (``DataFrame.toArrow``, Spark 4.0)."""
    if hasattr(df, "toArrow"):
        return df.toArrow()
    old: Any = df
    if not hasattr(old, "_collect_as_arrow"):  # Connect
        client = old._session.client
        return client.to_table(old._plan.to_proto(client))[0]
    schema, batches = to_arrow_schema(df.schema), old._collect_as_arrow()
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def local_rows(df: DataFrame) -> DataFrame:
    """Return a small DataFrame as rows that the driver holds, so that it is not computed again."""
    rows: Any = df.toArrow() if hasattr(df, "toArrow") else df.collect()
    return df.sparkSession.createDataFrame(rows, schema=df.schema)


def schema_from_ddl(text: str) -> StructType:
    """Return the schema that ``text`` describes (``StructType.fromDDL``, Spark 4.0)."""
    if hasattr(StructType, "fromDDL"):
        return cast(StructType, StructType.fromDDL(text))
    session: Any = SparkSession
    if SparkSession.getActiveSession() is None:  # Connect has its own
        session = import_module("pyspark.sql.connect.session").SparkSession
    schema: StructType = session.active().createDataFrame([], text).schema
    return schema


def column_step(step: Callable[[Iterator[pa.Array]], Iterator[pa.Array]], kind: str) -> Any:
    """Return a UDF of two columns for ``step``, which takes pairs of Arrow arrays in batches.

    Before ``arrow_udf`` (Spark 4.1) it is an iterator ``pandas_udf``, for which executors need
    pandas, too.
    """
    functions: Any = import_module("pyspark.sql.pandas.functions")
    if hasattr(functions, "arrow_udf"):
        # Its overloads want the kind by name, and then it warns: hints, which are text, suffice.
        return functions.arrow_udf(step, kind)
    import pandas as pd

    def in_pandas(batches):  # type: ignore[no-untyped-def] # hints are set below, as types
        import pandas as pd
        import pyarrow as pa

        pairs = ((pa.array(one), pa.array(two)) for one, two in batches)
        for result in step(pairs):
            yield pd.Series(result.to_numpy(zero_copy_only=False))

    in_pandas.__name__ = step.__name__
    in_pandas.__annotations__ = {
        "batches": Iterator[tuple[pd.Series, pd.Series]],
        "return": Iterator[pd.Series],
    }
    return functions.pandas_udf(in_pandas, kind)


def row_conversions() -> tuple[
    Callable[[pa.Table, StructType], list[Row]], Callable[[list[Any], StructType], pa.Table]
]:
    """Return Spark's conversions from Arrow to rows and back (``sql.conversion``, Spark 4.0)."""
    plain: tuple[bool, ...] = (False,)  # strings and bytes of 2 GB at most, as in other steps
    try:
        module: Any = import_module("pyspark.sql.conversion")
    except ModuleNotFoundError:
        try:
            module, plain = import_module("pyspark.sql.connect.conversion"), ()
        except ImportError as error:
            raise SparkVersionError(
                "map_rows needs Spark 4.0 or newer or, on 3.5, the libraries of Spark Connect on "
                f"the driver and on executors: {error} Hint: pip install 'pyspark[connect]', or "
                "use map_batches"
            ) from error
    to_arrow = module.LocalDataToArrowConversion.convert
    return module.ArrowTableToRowsConversion.convert, partial(_converted, to_arrow, plain)


def _converted(
    convert: Callable[..., pa.Table], plain: tuple[bool, ...], rows: list[Any], schema: StructType
) -> pa.Table:
    return convert(rows, schema, *plain)
