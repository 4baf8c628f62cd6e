"""Route rows to the worker with the least estimated work: one scheduler a source."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.pandas.functions import arrow_udf

from unskew.hashing import identities
from unskew.spark._row_dealer import RowDealer
from unskew.spark._shipping import shipped
from unskew.spark._task import partition_number
from unskew.spark.cost_messages import ControlSource, Matrices
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.placement import free_names


def scheduled_worker(
    identity: Column, workers: int, matrices: Matrices, source: ControlSource
) -> Column:
    """Return the worker (int) of each row; a task schedules its own rows alone.

    Eight bytes a row go to Python and four come back. Executors need unskew.

    Parameters
    ----------
    identity
        A column of what `keys.identity` returns for the columns that the cost depends on.
    workers, matrices
        As for `cost_control.CostControl`.
    source
        Where a task finds the schedule when it begins; rows are dealt in turn where there is none.
    """

    def route(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        control = source.read()
        schedule = None if control is None else control.schedule
        dealer = RowDealer(workers, matrices, schedule, source=partition_number())
        for batch, _ in batches:
            yield pa.array(dealer.deal(identities(batch)))

    # Rows that come in another order go elsewhere: not deterministic, and evaluated once a row.
    make: Any = arrow_udf  # its overloads want the kind by name, and then it warns: hints suffice
    udf = make(shipped(route), "int").asNondeterministic()
    # Given twice, and sent once: the optimiser would put what is used but once back in its place.
    worker: Column = udf(identity, identity)
    return worker


def place_by_schedule(
    df: DataFrame, workers: int, matrices: Matrices, source: ControlSource
) -> DataFrame:
    """Return ``df``, whose last column is the identity, with each row where the schedule says."""
    name = free_names(df, 1)[0]
    warn_if_unchecked(df.sparkSession)
    worker = scheduled_worker(sf.col(df.columns[-1]), workers, matrices, source)
    return df.withColumn(name, worker).repartitionById(workers, sf.col(name)).drop(name)
