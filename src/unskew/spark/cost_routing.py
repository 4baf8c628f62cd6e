"""Route rows to the worker with the least estimated work: one scheduler a source."""

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew.spark._row_dealer import RowDealer
from unskew.spark._task import partition_number
from unskew.spark.cost_messages import ControlSource, Matrices
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.placement import free_names
from unskew.spark.routing_step import Router, routed_column


def scheduled_worker(
    identity: Column, workers: int, matrices: Matrices, source: ControlSource
) -> Column:
    """Return the worker (int) of each row; a task schedules its own rows alone.

    Parameters
    ----------
    identity
        Of the columns that the cost depends on; a column of its own, as for `routed_column`.
    workers, matrices
        As for `cost_control.CostControl`.
    source
        Where a task finds the schedule when it begins; rows are dealt in turn where there is none.
    """

    def start() -> Router:
        control = source.read()
        schedule = None if control is None else control.schedule
        return RowDealer(workers, matrices, schedule, source=partition_number()).deal

    return routed_column(identity, start)


def place_by_schedule(
    df: DataFrame, workers: int, matrices: Matrices, source: ControlSource
) -> DataFrame:
    """Return ``df``, whose last column is the identity, with each row where the schedule says."""
    name = free_names(df, 1)[0]
    warn_if_unchecked(df.sparkSession)
    worker = scheduled_worker(sf.col(df.columns[-1]), workers, matrices, source)
    return df.withColumn(name, worker).repartitionById(workers, sf.col(name)).drop(name)
