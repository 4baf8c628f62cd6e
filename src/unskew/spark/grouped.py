"""Group by key without waiting for the hottest one: results are those of Spark's ``groupBy``."""

from collections.abc import Sequence
from inspect import signature
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from unskew._validation import check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan
from unskew.groupings.registry import GROUPINGS
from unskew.spark._whole_groups import GroupFunction, whole_groups_step
from unskew.spark._work_step import Step, merge_step, with_names, work_step
from unskew.spark.aggregator import Aggregator
from unskew.spark.keys import By, check_by, quoted
from unskew.spark.placement import balance, check_plan_for
from unskew.spark.saved_plans import SavedPlan
from unskew.spark.schemes import ONLINE, RUNNABLE, grouping_for
from unskew.spark.streaming import balance_stream

_MERGED = "wrap"
_WHOLE = "distribution-aware"
_STREAM_SCHEMES = ("key", "universal", "single", *ONLINE)
_WHOLE_GROUP_SCHEMES = [name for name in RUNNABLE if not GROUPINGS[name].splits_keys]


def group_by(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping | None = None,
    plan: Plan | SavedPlan | None = None,
    learn: str = "sample",
    plan_path: str | Path | None = None,
    seed: int = 0,
) -> "GroupedFrame":
    """Group rows by key and spread the work evenly, with the result of a plain ``groupBy``.

    Parameters
    ----------
    df
        The rows; batch, or for `GroupedFrame.agg` also a stream.
    by
        Key column or columns. Null is a key like any other.
    workers
        How many partitions share the work, at least 1.
    grouping
        A scheme's name (``"partial-key"``, ``"wrap:decay=0.5"``) or object. By default ``wrap``,
        and ``distribution-aware`` for `GroupedFrame.apply_in_arrow`, which may not split a key.
    plan, learn, seed
        As in `balance`.
    plan_path
        For `GroupedFrame.agg` on a stream with a scheme that learns: the folder where the query
        keeps the plans that it learns while it runs (see `balance_stream`).

    Examples
    --------
    ``group_by(df, "user", workers=64).agg(count().alias("n"), sum("amount").alias("total"))``
    """
    return GroupedFrame(
        df,
        by,
        workers,
        grouping=grouping,
        plan=plan,
        learn=learn,
        plan_path=plan_path,
        seed=seed,
    )


class GroupedFrame:
    """Rows that are to be worked on by key; see `group_by`, which makes it."""

    def __init__(
        self,
        df: DataFrame,
        by: By,
        workers: int,
        *,
        grouping: str | Grouping | None,
        plan: Plan | SavedPlan | None,
        learn: str,
        plan_path: str | Path | None,
        seed: int,
    ) -> None:
        self._df = df
        self._by = check_by(df, by)
        self._workers = check_int("group_by", "workers", workers, minimum=1)
        self._grouping = grouping
        if isinstance(plan, SavedPlan):
            plan = plan.plan_for(self._by, self._workers)
        self._plan = None if plan is None else check_plan_for(plan, self._workers)
        self._learn = learn
        self._plan_path = plan_path
        if plan_path is not None and plan is not None:
            expected = "left out where plan is given"
            raise InvalidParameterError("group_by", "plan_path", expected, str(plan_path))
        if plan_path is not None and not df.isStreaming:
            raise InvalidParameterError(
                "group_by", "plan_path", "left out for a batch, which takes a plan", str(plan_path)
            )
        self._seed = seed
        if grouping is not None:
            grouping_for(grouping, self._workers, seed=seed)

    def agg(self, *aggregates: Column) -> DataFrame:
        """Return the key columns and one column an aggregate, computed by Spark alone.

        Each worker aggregates the rows that it got, then Spark merges by the real key: no Python
        in the data path, and executors need nothing but Spark if the scheme is a table
        (all but partial-key, d-choices, w-choices and dynamic-key).

        On a stream too: with ``plan_path`` wrap and distribution-aware learn while it runs;
        without, schemes that need not learn before it starts: key, universal, single, the four
        above, or a ``plan`` that splits no key.

        Parameters
        ----------
        aggregates
            Columns of `unskew.spark.aggregates`, or any aggregate of Spark's own.

        Notes
        -----
        Spark's cheap aggregates (count, sum, min …) combine rows before they are shuffled and do
        not suffer from skew; a plain ``groupBy`` is the better choice for those alone. What gains
        is heavy: large sketches, sets, expensive expressions under an aggregate.
        """
        if not aggregates:
            raise InvalidParameterError("agg", "aggregates", "at least one column", aggregates)
        self._refuse_learning_on_streams()
        return self._placed(_MERGED).groupBy(*self._keys()).agg(*aggregates)

    def apply(self, aggregator: Aggregator, schema: StructType | pa.Schema | str) -> DataFrame:
        """Return the key columns and the row that ``aggregator`` makes of each key's rows.

        Each worker makes states of the keys that it got, in Python over Arrow batches; the states
        are brought together by the real key and merged. A key of any heat may be split.

        Parameters
        ----------
        aggregator
            What to compute; `check_laws` tells whether it may be split.
        schema
            Names and types of what ``aggregator.finish`` returns, without the key columns.

        Notes
        -----
        Memory of a worker: a round of rows (64 MiB), and the states of at most 100,000 keys more
        than a round has. Python workers need unskew and what the aggregator imports.
        """
        if not isinstance(aggregator, Aggregator):
            raise InvalidParameterError("apply", "aggregator", "an Aggregator", aggregator)
        self._refuse_streams("apply")
        result = self._checked_schema("apply", schema)
        states = _struct_type(aggregator.label, "state_schema", aggregator.state_schema)
        name = _unused("_state", self._by)
        key_fields = [self._df.schema[key] for key in self._by]
        partial = StructType([*key_fields, StructField(name, states, False)])
        work = work_step(aggregator, self._by, pa.field(name, pa.struct(list(_arrow(states)))))
        merge = merge_step(aggregator, len(self._by), list(_arrow(result)))
        partials = _map_in_arrow(self._placed(_MERGED), work, partial)
        merged = partials.groupBy(*self._keys()).agg(sf.collect_list(name))
        return _map_in_arrow(merged, merge, StructType([*key_fields, *result.fields]))

    def apply_in_arrow(
        self, function: GroupFunction, schema: StructType | pa.Schema | str
    ) -> DataFrame:
        """Return what ``function`` makes of each whole group, as ``groupBy.applyInArrow`` does.

        A key is never split: its rows are all brought to one worker, which sorts by key and calls
        ``function`` group by group. Rows are shuffled once.

        Parameters
        ----------
        function
            Takes the rows of a key (`pyarrow.Table`), or the key (a tuple of Arrow scalars) and
            the rows, and returns a `pyarrow.Table` with the columns of ``schema``, in any order.
            A group must fit into the memory of a worker.
        schema
            Names and types of the result.

        Notes
        -----
        Columns must be of types that Spark hands to Python in Arrow form; intervals of years and
        months are not among them (nor are they in `apply`, nor in Spark's own ``applyInArrow``).
        """
        if not callable(function):
            raise InvalidParameterError("apply_in_arrow", "function", "a function", function)
        self._refuse_streams("apply_in_arrow")
        self._refuse_splitting()
        result = _struct_type("apply_in_arrow", "schema", schema)
        step = whole_groups_step(function, self._by, _arrow(result))
        placed = self._placed(_WHOLE).sortWithinPartitions(*self._keys())
        return _map_in_arrow(placed, step, result)

    def _placed(self, default: str) -> DataFrame:
        if self._plan_path is not None:
            return balance_stream(
                self._df,
                self._by,
                self._workers,
                plan_path=self._plan_path,
                grouping=default if self._grouping is None else self._grouping,
                seed=self._seed,
            )
        return balance(
            self._df,
            self._by,
            self._workers,
            grouping=default if self._grouping is None else self._grouping,
            plan=self._plan,
            learn=self._learn,
            seed=self._seed,
        )

    def _keys(self) -> list[Column]:
        return [sf.col(quoted(key)) for key in self._by]

    def _checked_schema(self, owner: str, schema: StructType | pa.Schema | str) -> StructType:
        result = _struct_type(owner, "schema", schema)
        twice = [name for name in result.fieldNames() if name in self._by]
        if twice:
            expected = "without the key columns, which come first anyway"
            raise InvalidParameterError(owner, "schema", expected, ", ".join(twice))
        return result

    def _refuse_splitting(self) -> None:
        if not self._splits_keys():
            return
        got = (
            self._grouping
            if self._plan is None
            else f"a plan with {self._plan.n_split_keys} split keys"
        )
        expected = f"one that keeps keys whole ({', '.join(_WHOLE_GROUP_SCHEMES)})"
        hint = "a result that can be merged may be split: see apply"
        raise InvalidParameterError("apply_in_arrow", "grouping", expected, got, hint=hint)

    def _refuse_streams(self, owner: str) -> None:
        if self._df.isStreaming:
            hint = "agg works on streams; in foreachBatch all of them do"
            raise InvalidParameterError(owner, "df", "a batch", "a stream", hint=hint)

    def _refuse_learning_on_streams(self) -> None:
        if not self._df.isStreaming or self._plan_path is not None:
            return
        grouping = _MERGED if self._grouping is None else self._grouping
        name = grouping_for(grouping, self._workers, seed=self._seed).name
        # Spark does not number the rows of a stream, by which those of a split key are dealt.
        fits = name in _STREAM_SCHEMES if self._plan is None else not self._plan.n_split_keys
        if not fits:
            expected = f"one of {', '.join(_STREAM_SCHEMES)}, or a plan that splits no key,"
            hint = "with plan_path= wrap and distribution-aware learn while the stream runs"
            raise InvalidParameterError(
                "agg", "grouping", f"{expected} on a stream", name, hint=hint
            )

    def _splits_keys(self) -> bool:
        if self._plan is not None:
            return bool(self._plan.n_split_keys)
        if self._grouping is None:
            return False
        return grouping_for(self._grouping, self._workers, seed=self._seed).splits_keys

    def __repr__(self) -> str:
        keys = ", ".join(self._by)
        merged, whole = (
            repr(default) if self._grouping is None else repr(self._grouping)
            for default in (_MERGED, _WHOLE)
        )
        how = merged if merged == whole else f"{merged} ({whole} for apply_in_arrow)"
        return (
            f"GroupedFrame(by {keys}; {self._workers} workers; rows placed by {how}, "
            "partial results merged by key)"
        )


def _struct_type(owner: str, parameter: str, schema: object) -> StructType:
    """Return the schema as Spark's type, however it was given."""
    if isinstance(schema, pa.Schema):
        schema = from_arrow_schema(schema)
    elif isinstance(schema, str):
        schema = StructType.fromDDL(schema)
    if not isinstance(schema, StructType) or not schema.fields:
        expected = "a StructType, an Arrow schema or DDL text with at least one column"
        raise InvalidParameterError(owner, parameter, expected, schema)
    return schema


def _arrow(schema: StructType) -> pa.Schema:
    # Spark 4.1 knows UTC alone, later versions have to be told.
    if "timezone" in signature(to_arrow_schema).parameters:
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)


def _map_in_arrow(df: DataFrame, step: Step, schema: StructType) -> DataFrame:
    """Run ``step`` on batches with the columns of ``df``, whatever they are called."""
    # Spark's mapInArrow does not find columns with a dot in their name.
    numbered = df.toDF(*(f"c{i}" for i in range(len(df.columns))))
    return numbered.mapInArrow(with_names(step, df.columns), schema)


def _unused(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
