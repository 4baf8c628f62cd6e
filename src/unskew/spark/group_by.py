"""Group by key without waiting for the hottest one: results are those of Spark's ``groupBy``."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping, LearnedGrouping
from unskew.groupings.plan import Plan
from unskew.groupings.registry import GROUPINGS
from unskew.metrics import imbalance_percent
from unskew.spark.aggregators import Aggregator
from unskew.spark.columns import quoted, with_key_columns
from unskew.spark.costs.sampling import Call, measured_costs
from unskew.spark.loads import Details, JobWatch, Loads, refuse_loads_on_stream
from unskew.spark.plans.saved import plan_files
from unskew.spark.routing.choosing import AUTO, settled
from unskew.spark.routing.placing import check_plan_for, route
from unskew.spark.routing.schemes import grouping_for, learning_on_streams, runnable
from unskew.spark.steps.applying import (
    PlacedRows,
    applied,
    applied_to_groups,
    check_fit,
    check_state_store,
)
from unskew.spark.steps.running import arrow_schema, read_stats, struct_type
from unskew.spark.stream.query import place_stream
from unskew.spark.worker.pandas_groups import PandasFunction, on_arrow
from unskew.spark.worker.partial_states import first_update
from unskew.spark.worker.row_costs import RowWeights
from unskew.spark.worker.whole_groups import GroupFunction, group_call, takes_key

_COMBINES = "aggregates before its shuffle: placing rows first would add one and save nothing"
_log = logging.getLogger("unskew.spark")

MEASURED = "measured"
"""The value of ``weight`` that evens out work instead of rows."""


def group_by(
    df: DataFrame,
    *by: str | Column | Sequence[str | Column],
    workers: int,
    grouping: str | Grouping = AUTO,
    plan: Plan | None = None,
    learn: str = "sample",
    plan_path: str | Path | None = None,
    seed: int = 0,
    loads: Loads | None = None,
    weight: str | None = None,
) -> "GroupedFrame":
    """Group rows by key and spread the work evenly, with the result of a plain ``groupBy``.

    Parameters
    ----------
    df
        The rows: a batch or a stream.
    by
        The key columns, as for ``groupBy``: names or Columns, or one list of them. An expression
        needs a name of its own (``.alias(…)``), under which functions see it. Null is a key like
        any other.
    workers
        How many partitions share the work, at least 1.
    grouping
        A scheme's name (``"partial-key"``, ``"wrap:decay=0.5"``) or object. By default ``auto``:
        ``wrap``, and for `GroupedFrame.apply_in_arrow` and `GroupedFrame.apply_in_pandas`, which
        may not split a key, ``distribution-aware`` or a ``wrap`` that keeps keys whole, whichever
        is more even; plain hashing where the sample shows that this is even enough. The log says
        which, and why. `GroupedFrame.agg` is left to Spark, which aggregates before it shuffles. A
        stream has no sample: there it is ``flow`` for `GroupedFrame.apply`, and with ``plan_path``
        the first of these for all else.
    plan, learn, seed
        As in `balance`. On a stream with ``plan_path`` the plan is only the one to start with.
    plan_path
        For a stream with a scheme that learns, or with ``flow``: the folder where the query keeps
        the plans, costs or workers of hot keys that it learns while it runs, and a record of its
        loads (see `balance_stream`).
    loads
        Takes in what the workers of a batch job got and did, after an action; see `Loads`.
    weight
        ``measured``: even out the time that workers are busy with the calls of `apply` or
        `apply_in_arrow`, where rows of some keys cost more than others, or a group costs something
        whatever its rows; by default, rows. For schemes that take weights (``unskew groupings``).
        In a batch, calls for a sample of at most a twentieth of the rows are timed first, in a job
        that runs at once; its results are thrown away, so these rows are worked on twice. A stream
        needs ``plan_path`` and learns from what each micro-batch took.

    Examples
    --------
    ``group_by(df, "user", workers=64).agg(sf.count_distinct("item"), us.top_k("item", 5))``
    """
    keyed, names = with_key_columns(df, by, owner="group_by")
    workers = check_int("group_by", "workers", workers, minimum=1)
    scheme = grouping_for(grouping, workers, seed=seed, owner="group_by")
    if plan is not None:
        check_plan_for("group_by", plan, keyed, names, workers)
    if plan_path is not None and not df.isStreaming:
        expected = "left out for a batch, which takes a plan"
        raise InvalidParameterError("group_by", "plan_path", expected, str(plan_path))
    measures = _check_weight(
        weight, df, scheme, has_plan=plan is not None, has_path=plan_path is not None
    )
    if loads is not None:
        refuse_loads_on_stream("group_by", df)
    return GroupedFrame(keyed, names, scheme, plan, learn, plan_path, loads, measures=measures)


class GroupedFrame:
    """Rows that are to be worked on by key; `group_by` makes it."""

    def __init__(
        self,
        df: DataFrame,
        by: list[str],
        scheme: Grouping,
        plan: Plan | None,
        learn: str,
        plan_path: str | Path | None,
        loads: Loads | None,
        *,
        measures: bool,
    ) -> None:
        self._df = df
        self._by = by
        self._scheme = scheme
        self._plan = plan
        self._learn = learn
        self._plan_path = plan_path
        self._loads = loads
        self._measures = measures

    def agg(self, *exprs: Column) -> DataFrame:
        """Return the key columns and one column per aggregate, computed by Spark alone.

        With ``auto``, the default, it is Spark's own ``groupBy(…).agg(…)`` and the log says why:
        Spark aggregates where the rows are before it shuffles them, and merges by key afterwards,
        so that placing the rows first costs a shuffle and takes nothing off the merge.

        With a scheme or plan that is named, with ``plan_path`` or with ``loads``, rows are placed:
        each worker aggregates the rows that it got, then Spark merges by the real key. No Python in
        the data path, and executors need nothing but Spark if the scheme makes a plan.

        On a stream too, in every output mode that Spark has for such an aggregation.

        Parameters
        ----------
        exprs
            Aggregates of Spark's own (``pyspark.sql.functions``) or of `unskew.spark.aggregates`.

        Notes
        -----
        Placing pays where aggregating one row is dear (an expensive expression under an aggregate)
        and the rows lie unevenly, in few or unequal files; only you can know that. ``apply`` is for
        work in Python.
        """
        if not exprs:
            raise InvalidParameterError("agg", "exprs", "at least one column", exprs)
        if self._measures:
            expected = "left out: the work is Spark's own, and no call is there to be timed"
            hint = "apply and apply_in_arrow measure what their functions take"
            raise InvalidParameterError("agg", "weight", expected, MEASURED, hint=hint)
        if self._is_left_to_spark():
            _log.info("grouping chosen for agg: plain Spark, which %s", _COMBINES)
            return self._df.groupBy(*self._keys()).agg(*exprs)
        placed, watch = self._placed("agg")
        rows = placed.df if watch is None else watch.with_rows(placed.df, self._by)
        return rows.groupBy(*self._keys()).agg(*exprs)

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

        Raises
        ------
        UnskewError
            When called, if what ``init`` or ``finish`` gives for no rows cannot fit the schemas;
            else when run, as the cause of Spark's error.

        Notes
        -----
        Memory of a worker: a round of rows (64 MiB), and the states of at most 100,000 keys more
        than a round has. Python workers need unskew and what the aggregator imports.

        On a stream the result of a key counts all its rows since the query first started, and
        each micro-batch gives out the keys that it changed: use the output mode ``update``
        (``append`` gives the same rows, ``complete`` is refused by Spark). States are kept by
        Spark's ``transformWithState``, which needs the state store RocksDB.
        """
        if not isinstance(aggregator, Aggregator):
            raise InvalidParameterError("apply", "aggregator", "an Aggregator", aggregator)
        result = self._checked_schema("apply", schema)
        check_fit(aggregator, result)
        if self._df.isStreaming:
            check_state_store(self._df.sparkSession)
        call = first_update(aggregator, self._by)
        placed, watch = self._placed("apply", call)
        if watch is not None:
            report = watch.of_work(details=self._details())
            placed = placed._replace(report=report, watched=watch.with_keys)
        return applied(placed, aggregator, result)

    def apply_in_arrow(
        self, func: GroupFunction, schema: StructType | pa.Schema | str
    ) -> DataFrame:
        """Return what ``func`` makes of each whole group, as ``groupBy.applyInArrow`` does.

        A key is never split: its rows are all brought to one worker, which sorts by key and calls
        ``func`` group by group. Rows are shuffled once.

        Parameters
        ----------
        func
            Takes the rows of a key (`pyarrow.Table`), or the key (a tuple of Arrow scalars) and
            the rows, and returns a `pyarrow.Table` with the columns of ``schema``, in any order.
            A group must fit into the memory of a worker.
        schema
            Names and types of the result.

        Notes
        -----
        Columns must be of types that Spark hands to Python in Arrow form; intervals of years and
        months are not among them (nor are they in `apply`, nor in Spark's own ``applyInArrow``).

        On a stream a group is the rows of a key in one micro-batch, as it is for Spark's own
        ``applyInArrow``; a worker holds all its rows of the micro-batch, since Spark sorts no
        stream. For results over all micro-batches use `apply`.

        Whether ``func`` returns what ``schema`` says shows when it is called, in the run; it
        is never called to find out.
        """
        with_key = self._check_group_function("apply_in_arrow", func)
        return self._applied_to_groups("apply_in_arrow", func, schema, with_key)

    def apply_in_pandas(
        self, func: PandasFunction, schema: StructType | pa.Schema | str
    ) -> DataFrame:
        """Return what ``func`` makes of each whole group, as ``groupBy.applyInPandas`` does.

        As `apply_in_arrow`, for a function that takes the rows of a key as a pandas DataFrame, or
        the key (a tuple) and the rows, and returns a DataFrame with the columns of ``schema``, by
        name, or by position where its columns have numbers for names.

        Parameters
        ----------
        func
            Works on one group, which must fit into the memory of a worker.
        schema
            Names and types of the result.
        """
        with_key = self._check_group_function("apply_in_pandas", func)
        promised = arrow_schema(struct_type("apply_in_pandas", "schema", schema))
        timezone = self._df.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
        on_tables = on_arrow(func, self._by, promised, timezone, with_key=with_key)
        return self._applied_to_groups("apply_in_pandas", on_tables, schema, with_key=False)

    def _is_left_to_spark(self) -> bool:
        """Return whether nobody asked for rows to be placed before Spark aggregates them."""
        asked = (self._plan, self._plan_path, self._loads)
        return self._scheme.chooses and all(each is None for each in asked)

    def _check_group_function(self, owner: str, func: Callable[..., object]) -> bool:
        """Return whether a function takes the key, too; raise if it or the scheme will not do."""
        if not callable(func):
            raise InvalidParameterError(owner, "func", "a function", func)
        with_key = takes_key(owner, func)
        self._refuse_splitting(owner)
        return with_key

    def _applied_to_groups(
        self,
        owner: str,
        function: GroupFunction,
        schema: StructType | pa.Schema | str,
        with_key: bool,
    ) -> DataFrame:
        result = struct_type(owner, "schema", schema)
        call = group_call(function, self._by, arrow_schema(result), with_key=with_key)
        placed, watch = self._placed(owner, call, whole_keys=True)
        if watch is not None:
            report = watch.of_work(whole_keys=True, details=self._details())
            placed = placed._replace(report=report)
        return applied_to_groups(placed, call, result)

    def _placed(
        self, owner: str, call: Call | None = None, *, whole_keys: bool = False
    ) -> tuple[PlacedRows, JobWatch | None]:
        """Return the rows on their workers, and who watches a batch job if somebody asked.

        ``call`` is the work on rows of one key, which is measured if it is to be. With
        ``whole_keys`` no key may be split.
        """
        scheme = self._suiting(whole_keys=whole_keys, in_python=call is not None)
        if self._plan_path is not None:
            stream = place_stream(
                self._df,
                self._by,
                scheme,
                owner="group_by",
                plan_path=self._plan_path,
                plan=self._plan,
                by_busy_time=self._measures,
            )
            work = stream.work_observation
            return PlacedRows(stream.df, self._by, work, timing=stream.timing), None
        self._refuse_learning_on_streams(owner, scheme)
        routed = route(
            self._df,
            self._by,
            self._scheme.workers,
            owner="group_by",
            grouping=scheme,
            plan=self._plan,
            learn=self._learn,
            seed=self._scheme.seed,
            costs=self._costs(call, whole_keys=whole_keys),
            whole_keys=whole_keys,
        )
        workers = self._scheme.workers
        placed = PlacedRows(routed.placed(workers), self._by)
        watch = None if self._loads is None else self._loads._watch(workers, routed.plan)
        return placed, watch

    def _suiting(self, *, whole_keys: bool, in_python: bool) -> Grouping:
        """Return the scheme; for ``auto`` on a stream, what suits the work.

        Where a query has followed plans so far, it goes on to.
        """
        if not self._df.isStreaming:
            return self._scheme
        has_plans = self._plan is not None
        if self._plan_path is not None:
            has_plans = has_plans or bool(plan_files(self._plan_path))
        in_python = in_python and not self._measures and not has_plans
        if self._plan_path is None and not in_python:
            return self._scheme
        return settled(self._scheme, whole_keys=whole_keys, in_python=in_python)

    def _costs(self, call: Call | None, *, whole_keys: bool) -> RowWeights | None:
        if not self._measures or call is None:
            return None
        workers, seed = self._scheme.workers, self._scheme.seed
        return measured_costs(self._df, self._by, workers, call, seed=seed, whole_keys=whole_keys)

    def _details(self) -> Details | None:
        return _busy_imbalance(self._scheme.workers) if self._measures else None

    def _keys(self) -> list[Column]:
        return [sf.col(quoted(key)) for key in self._by]

    def _checked_schema(self, owner: str, schema: StructType | pa.Schema | str) -> StructType:
        result = struct_type(owner, "schema", schema)
        twice = [name for name in result.fieldNames() if name in self._by]
        if twice:
            expected = "without the key columns, which come first anyway"
            raise InvalidParameterError(owner, "schema", expected, ", ".join(twice))
        return result

    def _refuse_splitting(self, owner: str) -> None:
        if not self._splits_keys():
            return
        got = (
            self._scheme.name
            if self._plan is None
            else f"a plan with {self._plan.n_split_keys} split keys"
        )
        whole = [name for name in runnable() if not GROUPINGS[name].splits_keys]
        expected = f"one that keeps keys whole ({', '.join(whole)})"
        hint = "a result that can be merged may be split: see apply"
        raise InvalidParameterError(owner, "grouping", expected, got, hint=hint)

    def _refuse_learning_on_streams(self, owner: str, scheme: Grouping) -> None:
        if not self._df.isStreaming or self._plan is not None:
            return
        planner = scheme.planner()
        if planner is None or (planner.is_built and not scheme.chooses):
            return
        ready = [name for name in runnable() if not GROUPINGS[name].learns_on_spark()]
        expected = f"one that need not learn first ({', '.join(ready)}) on a stream"
        learning = ", ".join(learning_on_streams())
        hint = f"with plan_path= {learning} learn while it runs; or give a plan"
        raise InvalidParameterError(owner, "grouping", expected, self._scheme.name, hint=hint)

    def _splits_keys(self) -> bool:
        if self._plan is not None:
            return bool(self._plan.n_split_keys)
        return self._scheme.splits_keys and not self._scheme.chooses

    def __repr__(self) -> str:
        return (
            f"GroupedFrame(by {', '.join(self._by)}; {self._scheme.workers} workers; "
            f"rows placed by {self._how()}, partial results merged by key)"
        )

    def _how(self) -> str:
        later = "" if self._plan_path is None else f", learned in {self._plan_path} while it runs"
        if self._plan is not None:
            return f"{self._plan!r}{later}"
        if self._scheme.chooses:
            suiting = self._suiting(whole_keys=False, in_python=True)
            merge = settled(suiting, whole_keys=False).name
            whole = settled(self._scheme, whole_keys=True).name
            of_groups = f"{whole!r} for apply_in_arrow and apply_in_pandas"
            return f"{merge!r} ({of_groups}) where hashing is uneven{later}"
        return f"{self._scheme.name!r}{later}"


def _check_weight(
    weight: str | None, df: DataFrame, scheme: Grouping, *, has_plan: bool, has_path: bool
) -> bool:
    """Return whether work is to be measured, or raise where it cannot change anything."""
    if weight is None:
        return False
    check_choice("group_by", "weight", weight, (MEASURED,))
    is_built = isinstance(scheme, LearnedGrouping) and scheme.is_built
    if has_plan or is_built:
        raise InvalidParameterError("group_by", "weight", "left out where a plan is given", weight)
    if not scheme.takes_weights:
        weighable = [name for name in runnable() if GROUPINGS[name].takes_weights]
        expected = f"left out, or with one of {', '.join(weighable)}"
        raise InvalidParameterError("group_by", "weight", expected, f"it with {scheme.name}")
    if df.isStreaming and not has_path:
        raise InvalidParameterError(
            "group_by",
            "weight",
            "left out on a stream without plan_path",
            weight,
            hint="with plan_path the query learns what keys cost while it runs",
        )
    return True


def _busy_imbalance(workers: int) -> Details:
    """Return the function that makes fields of an `Epoch` out of the text of all stats.

    >>> text = '[{"worker": 1, "rows": 7, "seconds": 3.0}, {"worker": 0, "rows": 1, "seconds": 1}]'
    >>> _busy_imbalance(2)(text)
    {'imbalance': 50.0, 'imbalance_of': 'busy_seconds'}
    """

    def fields(text: str) -> Mapping[str, Any]:
        seconds = np.zeros(workers)
        for stats in read_stats(text, workers):
            seconds[stats.worker] += stats.seconds
        return {"imbalance": imbalance_percent(seconds), "imbalance_of": "busy_seconds"}

    return fields
