"""Map rows of unequal cost so that all workers finish together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew._validation import check_choice, check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.proactive.proactive_shuffle import ProactiveShuffle
from unskew.groupings.registry import make_grouping
from unskew.spark.balance import balance
from unskew.spark.columns import By, check_by, free_names, identity
from unskew.spark.costs.sampling import learned_batch
from unskew.spark.costs.streams import map_stream
from unskew.spark.loads import Loads, refuse_loads_on_stream
from unskew.spark.routing.choosing import AUTO
from unskew.spark.routing.schemes import runnable
from unskew.spark.steps.running import arrow_schema, map_in_arrow, map_with_stats, struct_type
from unskew.spark.worker.timed_functions import (
    BatchFunction,
    RowFunction,
    TimedBatches,
    TimedRows,
    TimedStep,
    results_of,
)
from unskew.spark.worker.user_function import DEAD_LETTER, FailedRows, UserFunction

_FOR_BATCHES = "left out for a stream, which learns while it runs"
_IN_FLIGHT = 32
Schema: TypeAlias = StructType | pa.Schema | str
RAISE = "raise"


def map_rows(
    df: DataFrame,
    func: RowFunction,
    schema: Schema,
    *,
    cost_by: By,
    workers: int,
    grouping: str | Grouping = AUTO,
    row_timeout: float | None = None,
    retries: int = 0,
    on_error: str = RAISE,
    in_flight: int | None = None,
    learn_rows: int | None = None,
    plan_path: str | Path | None = None,
    loads: Loads | None = None,
    seed: int = 0,
) -> DataFrame:
    """Return the rows that ``func`` makes of each row, the work spread by what rows cost.

    The result has the same rows as a plain map, in any order. A batch first runs ``func`` on a
    small sample of the rows, in this call, to learn what they cost; what it returns there is thrown
    away. Then rows of like cost are spread over the workers round-robin. A stream learns while it
    runs: each row of a micro-batch goes to the worker with the least work, as those before have
    cost.

    Parameters
    ----------
    df
        The rows: a batch or a stream.
    func
        Takes a `pyspark.sql.Row` and returns one row (a Row, a dict or a tuple), a list or iterator
        of rows, or None for no row; an ``async def`` function does the same and may wait for
        others meanwhile. Any row may be worked on anywhere, in any order.
    schema
        Names and types of what it returns.
    cost_by
        The column, or columns, that the cost of a row depends on: a class, a length, a customer.
    workers
        How many partitions share the work, at least 1.
    grouping
        ``proactive-shuffle`` learns, with parameters after a colon if need be, or as an object.
        ``shuffle`` spreads the rows round-robin and learns nothing. ``auto`` learns where a few
        rows show that the job is long enough for that to pay, which the log tells; streams always
        learn.
    row_timeout
        The most seconds that a call may take for a row; one that takes longer has failed.
    retries
        How many more times a row is tried whose call failed, after 0.1 s, 0.2 s, 0.4 s … up to
        10 s. A result that does not fit ``schema`` is not asked for again.
    on_error
        What becomes of a row whose every call failed, or whose result does not fit. ``raise``: the
        job fails. ``null``: the result has one row for it, in which columns that the input has, by
        name and type, keep their values and all others are null. ``dead-letter``: the same, and one
        more column ``dead_letter`` says why: a struct of ``error`` and the ``row``; it is null
        where nothing failed.
    in_flight
        For an ``async def`` function: the most calls that a worker has under way at once, 32 by
        default. Their results keep the order of the rows.
    learn_rows
        Rows to learn from: 128 per worker by default. Never more than a twentieth of all, and
        where that would be less than two per worker nothing is learned and rows go round-robin.
        Not for streams.
    plan_path
        For streams: a folder of the query's own, local, mounted or a URL, as for `balance_stream`.
        What was learned is kept there, and ``epochs.jsonl`` tells
        what every micro-batch did; a query that is started again goes on with it.
    loads
        For batches: takes in what each worker got and took.
    seed
        Picks the sample, and the hash functions of a grouping that is given by name.

    Raises
    ------
    InvalidParameterError
        When called: an unknown column, a schema that is none, fewer than one worker …
    UnskewError
        When run, as the cause of Spark's error: the function raised, returned what does not fit
        ``schema``, or took longer than ``row_timeout``. It names the function, the worker and the
        row's ``cost_by``.

    Examples
    --------
    ``map_rows(df, enrich, "id long, label string", cost_by="mention", workers=16)``
    """
    calls = _Calls(row_timeout, retries, on_error, in_flight)
    mapped = _checked("map_rows", df, func, schema, cost_by, workers, calls)
    step = TimedRows(mapped.called, df.schema, mapped.promised, mapped.failed)
    options = _Options(grouping, learn_rows, plan_path, loads, seed)
    return _map(mapped, step, df, options)


def map_batches(
    df: DataFrame,
    func: BatchFunction,
    schema: Schema,
    *,
    cost_by: By,
    workers: int,
    batch_rows: int = 256,
    grouping: str | Grouping = AUTO,
    row_timeout: float | None = None,
    retries: int = 0,
    on_error: str = RAISE,
    in_flight: int | None = None,
    learn_rows: int | None = None,
    plan_path: str | Path | None = None,
    loads: Loads | None = None,
    seed: int = 0,
) -> DataFrame:
    """Return the rows that ``func`` makes of batches, the work spread by what rows cost.

    As `map_rows`, for a function that works on many rows at once. A worker sorts the rows that it
    got, so that most calls have rows of one ``cost_by``; the time of any other call is divided
    among its rows as they are estimated so far.

    Parameters
    ----------
    df, schema, cost_by, workers, grouping, learn_rows, plan_path, loads, seed
        As for `map_rows`.
    func
        Takes a `pyarrow.RecordBatch` with the columns of ``df`` and returns a RecordBatch or Table
        with those of ``schema``, of any number of rows. What it returns may not depend on which
        rows come together.
    batch_rows
        The most rows of a call. Few make the learning exact and the balance fine, many make the
        calls few.
    row_timeout
        The most seconds that a call may take for each of its rows.
    retries, on_error, in_flight
        As for `map_rows`. A call that failed for good is made again with each half of its rows,
        and so on, unless ``on_error`` is ``raise``: only rows that fail alone have failed.

    Examples
    --------
    ``map_batches(df, score, "id long, score double", cost_by=["model", "n_tokens"], workers=16)``
    """
    calls = _Calls(row_timeout, retries, on_error, in_flight)
    mapped = _checked("map_batches", df, func, schema, cost_by, workers, calls)
    size = check_int("map_batches", "batch_rows", batch_rows, minimum=1)
    failed = None if mapped.failed is None else (mapped.failed, arrow_schema(mapped.schema))
    step = TimedBatches(mapped.called, arrow_schema(mapped.promised), size, failed)
    options = _Options(grouping, learn_rows, plan_path, loads, seed)
    return _map(mapped, step, df, options)


class _Calls(NamedTuple):
    """How a function is to be called, as it was asked for."""

    row_timeout: float | None
    retries: int
    on_error: str
    in_flight: int | None


class _Mapped(NamedTuple):
    """Parameters that were found good."""

    owner: str
    called: UserFunction
    promised: StructType
    workers: int
    failed: FailedRows | None

    @property
    def schema(self) -> StructType:
        """The columns of the results."""
        return self.promised if self.failed is None else self.failed.schema


def _checked(
    owner: str,
    df: DataFrame,
    func: Callable[..., Any],
    schema: Schema,
    cost_by: By,
    workers: int,
    calls: _Calls,
) -> _Mapped:
    if not callable(func):
        raise InvalidParameterError(owner, "func", "a function", func)
    promised = struct_type(owner, "schema", schema)
    workers = check_int(owner, "workers", workers, minimum=1)
    columns = check_by(df, cost_by, owner=owner, parameter="cost_by", nested=True)
    limit = calls.row_timeout
    if limit is not None:
        limit = check_real(owner, "row_timeout", limit, above=0)
    name = getattr(func, "__qualname__", type(func).__name__).rpartition(".")[2]
    retries = check_int(owner, "retries", calls.retries, minimum=0)
    called = UserFunction(func, name, columns, limit, retries)
    called = called._replace(in_flight=_in_flight(owner, called, calls.in_flight))
    failed = _failed(owner, df, promised, calls.on_error)
    return _Mapped(owner, called, promised, workers, failed)


def _in_flight(owner: str, called: UserFunction, wanted: int | None) -> int:
    if wanted is None:
        return _IN_FLIGHT if called.is_async else 1
    if not called.is_async:
        hint = "a plain function has one call at a time on each worker"
        expected = "left out, but for an async def function"
        raise InvalidParameterError(owner, "in_flight", expected, wanted, hint=hint)
    return check_int(owner, "in_flight", wanted, minimum=1)


def _failed(owner: str, df: DataFrame, promised: StructType, on_error: str) -> FailedRows | None:
    """Return what becomes of rows that fail; None where that is an error."""
    if check_choice(owner, "on_error", on_error, (RAISE, "null", "dead-letter")) == RAISE:
        return None
    if DEAD_LETTER in promised.names or len(set(df.columns)) < len(df.columns):
        expected = f"columns of different names, none of the result called {DEAD_LETTER}"
        names = ", ".join([*df.columns, *promised.names])
        raise InvalidParameterError(owner, "on_error", expected, names)
    failed = FailedRows(df.schema, promised, has_letters=on_error == "dead-letter")
    if failed.missing:
        expected = f"a schema whose columns may be null, for on_error={on_error!r}"
        hint = f"not so: {', '.join(failed.missing)}"
        raise InvalidParameterError(owner, "schema", expected, promised.simpleString(), hint=hint)
    return failed


class _Options(NamedTuple):
    """How rows are to be spread, as it was asked for."""

    grouping: str | Grouping
    learn_rows: int | None
    plan_path: str | Path | None
    loads: Loads | None
    seed: int


def _map(mapped: _Mapped, step: TimedStep, df: DataFrame, options: _Options) -> DataFrame:
    scheme = _scheme(mapped, options.grouping, options.seed)
    _check_options(mapped.owner, scheme, df, options)
    keyed = df.withColumn(free_names(df, 1)[0], identity(df, mapped.called.cost_by))
    if options.plan_path is not None and scheme is not None:
        return map_stream(
            mapped.owner,
            keyed,
            step,
            mapped.schema,
            cost_by=tuple(mapped.called.cost_by),
            scheme=scheme,
            plan_path=options.plan_path,
        )
    learned = None
    if scheme is not None:
        is_chosen = options.grouping == AUTO and options.learn_rows is None
        learned = learned_batch(
            keyed,
            step,
            scheme,
            options.learn_rows,
            options.seed,
            in_flight=mapped.called.in_flight if is_chosen else None,
        )
    if learned is not None:
        return learned.mapped(step, mapped.schema, options.loads)
    placed = _round_robin(keyed, mapped.workers)
    work = results_of(step, df.columns)
    if options.loads is None:
        return map_in_arrow(placed, work, mapped.schema)
    report = options.loads._watch(mapped.workers, None).of_work()
    return map_with_stats(placed, work, mapped.schema, report)


def _round_robin(keyed: DataFrame, workers: int) -> DataFrame:
    """Return the rows spread round-robin; a stream's have no numbers, but Spark can do it."""
    if keyed.isStreaming:
        return keyed.repartition(workers)
    return balance(keyed, keyed.columns[-1], workers, grouping="shuffle")


def _scheme(mapped: _Mapped, grouping: str | Grouping, seed: int) -> ProactiveShuffle | None:
    """Return the scheme that learns what rows cost; None where rows are to go round-robin."""
    made = (
        make_grouping(grouping, mapped.workers, seed=seed)
        if isinstance(grouping, str)
        else grouping
    )
    if isinstance(made, Grouping) and made.chooses:
        made = ProactiveShuffle(mapped.workers, seed=made.seed)
    if not isinstance(made, Grouping) or made.spark not in ("costs", "round-robin"):
        expected = f"{', '.join(runnable('costs', 'round-robin'))} or auto"
        raise InvalidParameterError(mapped.owner, "grouping", expected, grouping)
    if made.workers != mapped.workers:
        expected = f"one for {mapped.workers} workers"
        raise InvalidParameterError(mapped.owner, "grouping", expected, grouping)
    return made if isinstance(made, ProactiveShuffle) else None


def _check_options(
    owner: str, scheme: ProactiveShuffle | None, df: DataFrame, options: _Options
) -> None:
    learns_in_stream = df.isStreaming and scheme is not None
    if options.learn_rows is not None:
        check_int(owner, "learn_rows", options.learn_rows, minimum=1)
        if df.isStreaming:
            raise InvalidParameterError(owner, "learn_rows", _FOR_BATCHES, options.learn_rows)
    if learns_in_stream and options.plan_path is None:
        hint = "grouping='shuffle' needs none: it spreads rows round-robin and learns nothing"
        expected = "a folder, for proactive-shuffle on a stream"
        raise InvalidParameterError(owner, "plan_path", expected, None, hint=hint)
    if options.plan_path is not None and not learns_in_stream:
        expected = "left out, but for proactive-shuffle on a stream"
        raise InvalidParameterError(owner, "plan_path", expected, str(options.plan_path))
    if options.loads is not None:
        refuse_loads_on_stream(owner, df)
