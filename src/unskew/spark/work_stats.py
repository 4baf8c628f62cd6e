"""Run a Python step on placed rows and bring what each worker says of itself to the driver."""

import base64
import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Observation
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from unskew.spark._stats_rows import STATS_TYPE, Step, with_stats
from unskew.spark.arrow_steps import arrow_schema, map_in_arrow

STATS_FIELD = "busy"
"""The field of the observation: all stats rows as one text, which is the same text in a batch, in
the progress of a stream, and through Connect."""


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

    No job, pass or accumulator more: stats travel as one row a partition, which is taken out
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
        Where the stats go: an Observation for a batch, a name for a stream. `observed_stats` reads
        what arrives there.
    """
    name = unused_name("_stats", schema.fieldNames())
    noted = StructType([*schema.fields, StructField(name, from_arrow_type(STATS_TYPE), True)])
    mapped = map_in_arrow(df, with_stats(step, arrow_schema(schema), name), noted)
    stats = sf.to_json(sf.collect_list(name)).alias(STATS_FIELD)
    return mapped.observe(report, stats).where(sf.col(name).isNull()).drop(name)


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Return ``name``, longer if need be, so that it is none of ``taken``, whatever the case.

    >>> unused_name("state", ["user", "State"])
    'state_'
    """
    lower = {one.lower() for one in taken}
    while name in lower:
        name += "_"
    return name


def read_stats(text: str | None) -> list[WorkerStats]:
    """Return what the workers said, one entry a worker, in their order.

    A task that Spark had to run again speaks twice; what it said last counts.

    >>> read_stats('[{"worker": 1, "rows": 5, "seconds": 0.5, "payload": "aGk="}]')
    [WorkerStats(worker=1, rows=5, seconds=0.5, payload=b'hi')]
    """
    said = {
        one["worker"]: WorkerStats(
            one["worker"], one["rows"], one["seconds"], _decoded(one.get("payload"))
        )
        for one in json.loads(text or "[]")
    }
    return [said[worker] for worker in sorted(said)]


def observed_stats(row: Any) -> list[WorkerStats]:
    """Return the stats in what Spark observed: the dict of an Observation or a row of a progress.

    >>> observed_stats({"busy": "[]"})
    []
    """
    # Through Connect a query's own list of progress has the values without their names.
    return read_stats(row[STATS_FIELD] if STATS_FIELD in row else row["values"][0])


def _decoded(payload: str | None) -> bytes | None:
    return None if payload is None else base64.b64decode(payload)
