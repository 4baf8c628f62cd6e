"""Group by key without waiting for the hottest one: results are those of Spark's ``groupBy``."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from unskew._validation import check_int
from unskew.errors import InvalidParameterError
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan
from unskew.groupings.popularity import Popularity
from unskew.groupings.registry import GROUPINGS
from unskew.spark._whole_groups import GroupFunction, group_call, takes_key
from unskew.spark._work_step import first_update
from unskew.spark.aggregator import Aggregator
from unskew.spark.applying import (
    PlacedRows,
    applied,
    applied_to_groups,
    check_fit,
    check_state_store,
)
from unskew.spark.arrow_steps import arrow_schema, struct_type
from unskew.spark.choosing import AUTO, SPLITTING, WHOLE, fixed, is_auto
from unskew.spark.cost_sampling import Call, measured_costs
from unskew.spark.job_watch import Details, JobWatch, refuse_stream
from unskew.spark.key_costs import KeyCosts
from unskew.spark.keys import By, check_by, quoted
from unskew.spark.loads import Loads
from unskew.spark.placement import check_plan_for, route
from unskew.spark.plan_makers import LEARNING
from unskew.spark.saved_plans import SavedPlan, key_types
from unskew.spark.schemes import IN_TURN, ONLINE, RUNNABLE, grouping_for
from unskew.spark.streaming import place_stream
from unskew.spark.weighting import busy_imbalance, check_weight, not_measurable

_STREAM_SCHEMES = ("key", "universal", "single", *IN_TURN, *ONLINE)
_WHOLE_GROUP_SCHEMES = [name for name in RUNNABLE if not GROUPINGS[name].splits_keys]


def group_by(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping = AUTO,
    plan: Plan | SavedPlan | None = None,
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
        Key column or columns. Null is a key like any other.
    workers
        How many partitions share the work, at least 1.
    grouping
        A scheme's name (``"partial-key"``, ``"wrap:decay=0.5"``) or object. By default ``auto``:
        ``wrap``, and for `GroupedFrame.apply_in_arrow`, which may not split a key,
        ``distribution-aware`` or a ``wrap`` that keeps keys whole, whichever is more even; plain
        hashing where the sample shows that this is even enough. The log says which, and why. A
        stream has no sample: with ``plan_path`` it starts with the first of these.
    plan, learn, seed
        As in `balance`.
    plan_path
        For a stream with a scheme that learns: the folder where the query keeps the plans, or
        costs, that it learns while it runs, and a record of its loads (see `balance_stream`).
    loads
        Told what the workers of a batch job got and did, after an action; see `Loads`.
    weight
        ``measured``: even out the time that workers are busy with the calls of `apply` or
        `apply_in_arrow`, where rows of some keys cost more than others; by default, rows. For
        ``wrap``, ``distribution-aware``, ``popularity`` and ``partial-key``. In a batch, calls
        for a sample of at most a twentieth of the rows are timed first, in a job that runs at
        once; its results are thrown away, so these rows are worked on twice. A stream needs
        ``plan_path`` and learns from what each micro-batch took.

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
        loads=loads,
        weight=weight,
    )


class GroupedFrame:
    """Rows that are to be worked on by key; see `group_by`, which makes it."""

    def __init__(
        self,
        df: DataFrame,
        by: By,
        workers: int,
        *,
        grouping: str | Grouping,
        plan: Plan | SavedPlan | None,
        learn: str,
        plan_path: str | Path | None,
        seed: int,
        loads: Loads | None,
        weight: str | None = None,
    ) -> None:
        self._df = df
        self._by = check_by(df, by)
        self._workers = check_int("group_by", "workers", workers, minimum=1)
        self._grouping = grouping
        self._given_plan = plan
        if isinstance(plan, SavedPlan):
            plan = plan.plan_for(self._by, self._workers, types=key_types(df, self._by))
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
        scheme = None if is_auto(grouping) else grouping_for(grouping, self._workers, seed=seed)
        self._measures = check_weight(
            weight, df, scheme, has_plan=plan is not None, has_path=plan_path is not None
        )
        self._loads = loads
        if loads is not None:
            refuse_stream("group_by", df)

    def agg(self, *aggregates: Column) -> DataFrame:
        """Return the key columns and one column an aggregate, computed by Spark alone.

        Each worker aggregates the rows that it got, then Spark merges by the real key: no Python
        in the data path, and executors need nothing but Spark if the scheme is a table
        (all but partial-key, d-choices, w-choices and dynamic-key).

        On a stream too, in every output mode that Spark has for such an aggregation.

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
        if self._measures:
            raise not_measurable()
        placed, watch = self._placed("agg", SPLITTING)
        rows = placed.df if watch is None else watch.with_rows(placed.df, self._by)
        return rows.groupBy(*self._keys()).agg(*aggregates)

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
        placed, watch = self._placed("apply", SPLITTING, call)
        if watch is not None:
            report = watch.of_work(details=self._details())
            placed = placed._replace(report=report, watched=watch.with_keys)
        return applied(placed, aggregator, result)

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

        On a stream a group is the rows of a key in one micro-batch, as it is for Spark's own
        ``applyInArrow``; a worker holds all its rows of the micro-batch, since Spark sorts no
        stream. For results over all micro-batches use `apply`.

        Whether ``function`` returns what ``schema`` says shows when it is called, in the run; it
        is never called to find out.
        """
        if not callable(function):
            raise InvalidParameterError("apply_in_arrow", "function", "a function", function)
        takes_key(function)
        self._refuse_splitting()
        result = struct_type("apply_in_arrow", "schema", schema)
        call = group_call(function, self._by, arrow_schema(result))
        placed, watch = self._placed("apply_in_arrow", WHOLE, call)
        if watch is not None:
            report = watch.of_work(whole_keys=True, details=self._details())
            placed = placed._replace(report=report)
        return applied_to_groups(placed, function, result)

    def _placed(
        self, owner: str, candidates: Sequence[str], call: Call | None = None
    ) -> tuple[PlacedRows, JobWatch | None]:
        """Return the rows on their workers, and who watches a batch job if somebody asked.

        ``candidates`` are what ``auto`` chooses from. ``call`` is the work on rows of one key,
        which is measured if it is to be.
        """
        grouping = fixed(self._grouping, candidates[0])
        if self._plan_path is not None:
            stream = place_stream(
                self._df,
                self._by,
                self._workers,
                plan_path=self._plan_path,
                grouping=grouping,
                seed=self._seed,
                by_busy_time=self._measures,
            )
            work = stream.work_observation
            return PlacedRows(stream.df, self._by, work, timing=stream.timing), None
        self._refuse_learning_on_streams(owner, grouping)
        routed = route(
            self._df,
            self._by,
            self._workers,
            grouping=self._grouping,
            plan=self._plan,
            learn=self._learn,
            seed=self._seed,
            costs=self._costs(call),
            candidates=candidates,
        )
        placed = PlacedRows(routed.placed(self._workers), self._by)
        watch = None if self._loads is None else self._loads.watch(self._workers, routed.plan)
        return placed, watch

    def _costs(self, call: Call | None) -> KeyCosts | None:
        if not self._measures or call is None:
            return None
        return measured_costs(self._df, self._by, self._workers, call, seed=self._seed)

    def _details(self) -> Details | None:
        return busy_imbalance(self._workers) if self._measures else None

    def _keys(self) -> list[Column]:
        return [sf.col(quoted(key)) for key in self._by]

    def _checked_schema(self, owner: str, schema: StructType | pa.Schema | str) -> StructType:
        result = struct_type(owner, "schema", schema)
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

    def _refuse_learning_on_streams(self, owner: str, grouping: str | Grouping) -> None:
        if not self._df.isStreaming or self._plan is not None:
            return
        scheme = grouping_for(grouping, self._workers, seed=self._seed)
        must_learn = isinstance(scheme, PlannedGrouping) and not scheme.is_built
        if must_learn or isinstance(scheme, Popularity):
            expected = f"one that need not learn first ({', '.join(_STREAM_SCHEMES)}) on a stream"
            hint = f"with plan_path= {', '.join(LEARNING)} learn while it runs; or give a plan"
            raise InvalidParameterError(owner, "grouping", expected, scheme.name, hint=hint)

    def _splits_keys(self) -> bool:
        if self._plan is not None:
            return bool(self._plan.n_split_keys)
        if is_auto(self._grouping):
            return False
        return grouping_for(self._grouping, self._workers, seed=self._seed).splits_keys

    def __repr__(self) -> str:
        return (
            f"GroupedFrame(by {', '.join(self._by)}; {self._workers} workers; "
            f"rows placed by {self._how()}, partial results merged by key)"
        )

    def _how(self) -> str:
        if self._given_plan is not None:
            return repr(self._given_plan)
        later = "" if self._plan_path is None else f", learned in {self._plan_path} while it runs"
        if is_auto(self._grouping):
            return f"{SPLITTING[0]!r} ({WHOLE[0]!r} for apply_in_arrow) if need be{later}"
        return f"{self._grouping!r}{later}"
