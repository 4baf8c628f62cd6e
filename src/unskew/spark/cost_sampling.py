"""Measure what rows of each key cost before a batch is placed, on a bounded sample."""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from unskew.hashing import identities
from unskew.spark._measuring_step import MEASURED, measuring_step
from unskew.spark.arrow_steps import map_in_arrow
from unskew.spark.key_costs import KeyCosts
from unskew.spark.keys import identity
from unskew.spark.learning import sample_size
from unskew.spark.placement import free_names

Call: TypeAlias = Callable[[pa.Table], object]

_LARGEST_PART = 20
_FEWEST_ROWS_A_WORKER = 2


def measured_costs(
    df: DataFrame, by: list[str], workers: int, call: Call, *, seed: int
) -> KeyCosts | None:
    """Return what rows of the keys of ``df`` cost, or None if there are too few to measure.

    Runs a job that works on a sample, dealt to the workers in turn; what it returns is thrown
    away. Cost is taken to be in proportion to rows.

    Parameters
    ----------
    df, by
        The rows, and their key columns.
    workers
        How many tasks share the sample.
    call
        What is to be timed, on rows of one key.
    seed
        Picks the sample.
    """
    part = part_to_measure(df.count(), workers)
    if not part:
        return None
    name = free_names(df, 1)[0]
    sample = df.withColumn(name, identity(df, by)).sample(fraction=part, seed=seed)
    step = measuring_step(call, [*df.columns, name], by)
    found = map_in_arrow(sample.repartition(workers), step, from_arrow_schema(MEASURED)).toArrow()
    if not found.num_rows:
        return None
    rows, seconds = found["rows"].to_numpy(), found["seconds"].to_numpy()
    return KeyCosts(identities(found["id"]), rows, seconds)


def part_to_measure(total: int, workers: int) -> float:
    """Return the share of ``total`` rows to work on, 0 if that would be too few.

    >>> [part_to_measure(total, 8) for total in (20_000_000, 10_000, 100)]
    [0.01, 0.05, 0.0]
    """
    size = min(sample_size(workers), total // _LARGEST_PART)
    return size / total if size >= _FEWEST_ROWS_A_WORKER * workers else 0.0
