"""Run a Python step over the Arrow batches of a DataFrame and bring back what workers report."""

import base64
import json
import os
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark import cloudpickle
from pyspark.errors import ParseException
from pyspark.sql import DataFrame, Observation
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from unskew.errors import InvalidParameterError
from unskew.spark.columns import unused_name
from unskew.spark.versions import schema_from_ddl
from unskew.spark.worker.stats_rows import STATS_TYPE, with_stats
from unskew.spark.worker.task import Step
from unskew.spark.worker.tuning import SWITCH

_AnyStep: TypeAlias = Callable[[Iterator[Any]], Iterator[Any]]

STATS_FIELD = "busy"
"""The field of the observation: all stats rows as one text, which is the same text in a batch, in
the progress of a stream, and through Connect."""


def shipped(step: _AnyStep) -> _AnyStep:
    """Return ``step`` in a form that loads without unskew, and fails with advice if it must.

    Spark unpacks a function before it calls it. A step of ours refers to our modules, so that on
    an executor without them the user would read of an error inside of Spark's unpacking. This one
    refers to nothing: it unpacks the step itself.

    Parameters
    ----------
    step
        From an iterator of batches to one; for ``mapInArrow`` or `versions.column_step`.

    Examples
    --------
    >>> def double(numbers):
    ...     return (2 * number for number in numbers)
    >>> list(shipped(double)([1, 2]))
    [2, 4]
    """
    packed = cloudpickle.dumps(step)
    is_tuned = os.environ.get(SWITCH) == "1"

    # Only names of its own: a global of this module would have to be imported over there. Hints,
    # from which Spark reads the kind of an arrow_udf, are text for the same reason.
    def unpack_and_run(batches: "Iterator[pa.Array]") -> "Iterator[pa.Array]":
        import pickle
        import sys

        try:
            run = pickle.loads(packed)  # noqa: S301 (our own step, packed by our own driver)
            from unskew.spark.worker.tuning import tune_this_process
        except (ImportError, AttributeError) as error:
            raise ImportError(
                f"unskew: this step cannot start with {sys.executable} ({type(error).__name__}: "
                f"{error}). It runs in the Python of every executor, which needs unskew in the "
                "version of the driver, its libraries, and what your own functions import. Hint: "
                "see docs/cluster.md, for instance spark-submit --archives env.tar.gz#env"
            ) from error
        if is_tuned:
            tune_this_process()
        yield from run(batches)

    unpack_and_run.__name__ = step.__name__  # by which Spark calls a column
    return unpack_and_run


def struct_type(owner: str, parameter: str, schema: object) -> StructType:
    """Return a schema as Spark's type, however it was given.

    >>> struct_type("map_rows", "schema", pa.schema([("n", pa.int64())])).simpleString()
    'struct<n:bigint>'
    """
    if isinstance(schema, pa.Schema):
        schema = from_arrow_schema(schema)
    elif isinstance(schema, str):
        try:
            schema = schema_from_ddl(schema)
        except ParseException as error:
            raise InvalidParameterError(owner, parameter, "DDL text", schema) from error
    if not isinstance(schema, StructType) or not schema.fields:
        expected = "a StructType, an Arrow schema or DDL text with at least one column"
        raise InvalidParameterError(owner, parameter, expected, schema)
    return schema


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the schema of the batches that Spark expects for ``schema``."""
    # Spark 4.1 knows UTC alone, later versions take a parameter.
    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)


def map_in_arrow(df: DataFrame, step: Step, schema: StructType | str) -> DataFrame:
    """Return what ``step`` makes of each partition; it must not rely on names of columns."""
    # Spark's mapInArrow does not find columns with a dot in their name.
    numbered = df.toDF(*(f"c{number}" for number in range(len(df.columns))))
    return numbered.mapInArrow(shipped(step), schema)


class WorkerStats(NamedTuple):
    """What one worker said of itself."""

    worker: int
    rows: int
    """Rows that its step took in."""
    seconds: float
    """What the step took, waiting left out."""
    payload: bytes | None
    """What the step returned, if it did."""


def map_with_stats(
    df: DataFrame,
    step: Step,
    schema: StructType,
    report: Observation | str,
) -> DataFrame:
    """Return what ``step`` makes of the partitions of ``df``, observed.

    No job, pass or accumulator more: stats travel as one row per partition, which is taken out
    again behind the observation.

    Parameters
    ----------
    df
        Rows where they are to be worked on: partition w is worker w.
    step
        As `mapInArrow` takes it; see `with_stats` for its payload.
    schema
        What it gives; the result has this schema.
    report
        Where the stats go: an Observation for a batch, a name for a stream. `read_stats` reads
        what arrives there as the field `STATS_FIELD`.
    """
    name = unused_name("_stats", schema.fieldNames())
    noted = StructType([*schema.fields, StructField(name, from_arrow_type(STATS_TYPE), True)])
    mapped = map_in_arrow(df, with_stats(step, arrow_schema(schema), name), noted)
    stats = sf.to_json(sf.collect_list(name)).alias(STATS_FIELD)
    return mapped.observe(report, stats).where(sf.col(name).isNull()).drop(name)


def read_stats(text: str | None, workers: int) -> list[WorkerStats]:
    """Return what the tasks of ``workers`` workers reported, one entry per task, in their order.

    A task that Spark had to run again reports twice; its last report counts. Behind a union the
    partitions have higher numbers, and several may be one worker's (see `partition_number`).

    >>> read_stats('[{"worker": 5, "rows": 5, "seconds": 0.5, "payload": "aGk="}]', 4)
    [WorkerStats(worker=1, rows=5, seconds=0.5, payload=b'hi')]
    """
    last = {one["worker"]: one for one in json.loads(text or "[]")}
    return [
        WorkerStats(place % workers, one["rows"], one["seconds"], _decoded(one.get("payload")))
        for place, one in sorted(last.items())
    ]


def _decoded(payload: str | None) -> bytes | None:
    return None if payload is None else base64.b64decode(payload)
