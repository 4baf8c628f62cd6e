"""Build what `GroupedFrame.apply` and `GroupedFrame.apply_in_arrow` return out of placed rows."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from unskew.errors import InvalidParameterError, MissingExtraError
from unskew.spark.aggregators import Aggregator
from unskew.spark.columns import By, quoted, unused_name
from unskew.spark.steps.running import arrow_schema, map_in_arrow, map_with_stats, struct_type
from unskew.spark.versions import STATE_IN_PYTHON, require
from unskew.spark.worker.key_times import Timing
from unskew.spark.worker.partial_states import merge_step, with_names, work_step
from unskew.spark.worker.results import column_arrays
from unskew.spark.worker.task import Step
from unskew.spark.worker.whole_groups import GroupCall, gathered_groups_step, whole_groups_step

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class PlacedRows(NamedTuple):
    """Rows on their workers, and who wants to know what is done there."""

    df: DataFrame
    by: Sequence[str]
    report: Observation | str | None = None
    """Where the work step tells what it did; None if nobody asks."""
    watched: Callable[[DataFrame, By], DataFrame] | None = None
    """Counts keys in partial results where they were made, if somebody asks."""
    timing: Timing | None = None
    """How the work step times the calls for each key; None if it need not."""

    def worked(self, step: Step, schema: StructType) -> DataFrame:
        """Return what ``step`` makes of the rows of each worker."""
        named = with_names(step, self.df.columns)
        if self.report is None:
            return map_in_arrow(self.df, named, schema)
        return map_with_stats(self.df, named, schema, self.report)

    @property
    def key_fields(self) -> list[StructField]:
        """The key columns."""
        return [self.df.schema[key] for key in self.by]


def check_fit(aggregator: Aggregator, result: StructType) -> None:
    """Try the aggregator on no rows, so that a schema that cannot fit is refused before a run."""
    owner = aggregator.label
    empty = aggregator.init()
    column_arrays([empty], _nullable(_states_of(aggregator)), owner, "the state")
    try:
        finished = aggregator.finish(empty)
    except Exception:
        return  # the result of no rows is never asked for in a run
    column_arrays([finished], _nullable(result), owner, "the result")


def applied(placed: PlacedRows, aggregator: Aggregator, result: StructType) -> DataFrame:
    """Return the key columns and the row that ``aggregator`` makes of each key's rows."""
    states = _states_of(aggregator)
    if placed.df.isStreaming:
        return _applied_to_stream(placed, aggregator, states, result)
    name = unused_name("_state", placed.by)
    work = work_step(aggregator, placed.by, _state_field(name, states))
    partial = StructType([*placed.key_fields, StructField(name, states, False)])
    partials = placed.worked(work, partial)
    if placed.watched is not None:
        partials = placed.watched(partials, placed.by)
    merged = partials.groupBy(*(sf.col(quoted(key)) for key in placed.by)).agg(
        sf.collect_list(name)
    )
    merge = merge_step(aggregator, len(placed.by), list(arrow_schema(result)))
    return map_in_arrow(merged, merge, StructType([*placed.key_fields, *result.fields]))


def applied_to_groups(placed: PlacedRows, call: GroupCall, result: StructType) -> DataFrame:
    """Return what ``call`` makes of each whole group."""
    if placed.df.isStreaming:  # Spark sorts no stream
        gathered = gathered_groups_step(call, placed.by, timing=placed.timing)
        return placed.worked(gathered, result)
    ordered = placed.df.sortWithinPartitions(*(sf.col(quoted(key)) for key in placed.by))
    step = whole_groups_step(call, placed.by)
    return placed._replace(df=ordered).worked(step, result)


def _applied_to_stream(
    placed: PlacedRows, aggregator: Aggregator, states: StructType, result: StructType
) -> DataFrame:
    """Let Spark's state store keep every key's state, so that results go on from batch to batch."""
    from unskew.spark.worker.running_states import (
        PACKED,
        MergedStates,
        Packing,
        finish_step,
        packing_step,
    )

    keys = StructType(placed.key_fields)
    packing = Packing(arrow_schema(keys), arrow_schema(states))
    work = work_step(aggregator, placed.by, _state_field("state", states), timing=placed.timing)
    partials = placed.worked(packing_step(work, packing), from_arrow_schema(PACKED))
    merged = partials.groupBy("key").transformWithState(
        MergedStates(aggregator, packing), "row binary, state binary", "Update", "None"
    )
    finish = finish_step(aggregator, packing, list(arrow_schema(result)))
    return map_in_arrow(merged, finish, StructType([*keys.fields, *result.fields]))


def _state_field(name: str, states: StructType) -> pa.Field:
    return pa.field(name, pa.struct(list(arrow_schema(states))))


def check_state_store(spark: SparkSession) -> None:
    """Raise if the session could not keep the states of `GroupedFrame.apply` on a stream."""
    require(spark, STATE_IN_PYTHON, "apply on a stream")
    store = spark.conf.get(STATE_STORE)
    if store != ROCKSDB:
        raise InvalidParameterError(
            "apply",
            "df",
            "a stream of a session whose state store is RocksDB",
            f"one with {store}",
            hint=f'spark.conf.set("{STATE_STORE}", "{ROCKSDB}") before the query starts',
        )
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise MissingExtraError("apply on a stream", "protobuf", "spark")


def _states_of(aggregator: Aggregator) -> StructType:
    return struct_type(aggregator.label, "state_schema", aggregator.state_schema)


def _nullable(schema: StructType) -> list[pa.Field]:
    return [field.with_nullable(True) for field in arrow_schema(schema)]
