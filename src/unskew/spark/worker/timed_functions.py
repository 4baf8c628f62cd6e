"""The steps of `map_rows` and `map_batches`: call a user's function and time each call."""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Row
from pyspark.sql.types import StructType

from unskew.errors import UnskewError
from unskew.spark.versions import row_conversions
from unskew.spark.worker.results import as_promised
from unskew.spark.worker.task import (
    Batches,
    RowTimeout,
    Step,
    TimeLimit,
    partition_number,
    renamed,
)
from unskew.spark.worker.user_function import Caller, FailedRows, UserFunction

if TYPE_CHECKING:
    from unskew.spark.worker.cost_machine import CostMachine
    from unskew.spark.worker.cost_messages import ControlSource, Matrices


MeasuredBatches: TypeAlias = Generator[pa.RecordBatch, None, bytes]
IdentifiedBatch: TypeAlias = tuple[pa.RecordBatch, NDArray[np.uint64]]
"""Rows, and the identity of what each one's cost depends on."""

WORK_DONE = "work_done"
"""The column of measures: a `cost_messages.WorkDone`, as bytes."""
PROBED = ["rows", "seconds"]
"""The columns of what `probe_of` measures, long and double."""

_NANOSECOND = 1e-9
# Rows are gathered before they are sorted: the more there are, the more calls have but one key.
_ROUND_ROWS = 131_072
_ROUND_BYTES = 64 * 2**20


class Listener(Protocol):
    """Takes in how long rows took."""

    def take_rows(self, ids: NDArray[np.uint64], seconds: NDArray[np.float64]) -> None:
        """Take in rows that were timed one by one."""

    def take_call(self, ids: NDArray[np.uint64], seconds: float) -> None:
        """Take in rows that were timed together."""


class TimedStep(Protocol):
    """Work on the rows of a partition; it travels to the task, so it must pickle."""

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out the results; tell ``listener``, if there is one, what rows took."""


def identified(batches: Batches, names: Sequence[str]) -> Iterator[IdentifiedBatch]:
    """Take the last column, the identity, off each batch and give the others their ``names``.

    >>> batch = pa.record_batch([pa.array(["a"]), pa.array([-1])], names=["c0", "c1"])
    >>> rows, ids = next(identified(iter([batch]), ["user"]))
    >>> rows.to_pylist(), ids.tolist()
    ([{'user': 'a'}], [18446744073709551615])
    """
    own = list(names)
    for batch in batches:
        if batch.num_rows:
            ids = batch.column(len(own)).to_numpy(zero_copy_only=False).astype(np.int64)
            yield renamed(batch.select(range(len(own))), own), ids.view(np.uint64)


def results_of(step: TimedStep, names: Sequence[str]) -> Step:
    """Return the function for Spark that gives out the results and measures nothing."""

    def work(batches: Batches) -> Batches:
        return step.run(identified(batches, names), None)

    return work


def measured_results_of(
    step: TimedStep, names: Sequence[str], matrices: "Matrices", source: "ControlSource"
) -> Callable[[Batches], MeasuredBatches]:
    """Return the function for Spark that gives out the results, and returns what it measured.

    What it returns are the bytes of a `cost_messages.WorkDone`, the payload for `with_stats`.
    ``source`` tells where the machine of this worker stands, and what was expected of it.
    """

    def work(batches: Batches) -> MeasuredBatches:
        machine = _machine(matrices, source)
        yield from step.run(identified(batches, names), machine)
        return machine.finish(flush=machine.is_waited_for).to_bytes()

    return work


def measures_of(
    step: TimedStep, names: Sequence[str], matrices: "Matrices", source: "ControlSource"
) -> Step:
    """Return the function for Spark that measures rows, and gives out the measures alone."""

    def work(batches: Batches) -> Batches:
        machine = _machine(matrices, source)
        for _ in step.run(identified(batches, names), machine):
            pass
        done = machine.finish(flush=True).to_bytes()
        yield pa.record_batch([pa.array([done], pa.binary())], names=[WORK_DONE])

    return work


def probe_of(step: TimedStep, names: Sequence[str], seconds: float) -> Step:
    """Return the function for Spark that works for about so long and says what rows took.

    The first call of a task, in which a function may load what it needs, counts only if there is
    no other.
    """

    def work(batches: Batches) -> Batches:
        watch, deadline = _Stopwatch(), monotonic() + seconds

        def one_by_one() -> Iterator[IdentifiedBatch]:
            for batch, ids in identified(batches, names):
                for number in range(batch.num_rows):
                    if monotonic() > deadline:
                        return
                    yield batch.slice(number, 1), ids[number : number + 1]

        for _ in step.run(one_by_one(), watch):
            if monotonic() > deadline:
                break
        calls = watch.calls[1:] or watch.calls
        rows, took = sum(rows for rows, _ in calls), sum(took for _, took in calls)
        yield pa.record_batch([pa.array([rows]), pa.array([float(took)])], names=PROBED)

    return work


class _Stopwatch(Listener):
    """Notes rows and seconds of each call."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, float]] = []

    def take_rows(self, ids: NDArray[np.uint64], seconds: NDArray[np.float64]) -> None:
        self.calls.append((ids.size, float(seconds.sum())))

    def take_call(self, ids: NDArray[np.uint64], seconds: float) -> None:
        self.calls.append((ids.size, seconds))


def _machine(matrices: "Matrices", source: "ControlSource") -> "CostMachine":
    # Numba, which only those need who measure, takes a second to load.
    from unskew.spark.worker.cost_machine import CostMachine

    return CostMachine(partition_number(), matrices, source.read())


Produced: TypeAlias = Row | tuple[Any, ...] | dict[str, Any]
Answers: TypeAlias = Produced | Iterable[Produced] | None
RowFunction: TypeAlias = Callable[[Row], Answers | Awaitable[Answers]]


class TimedRows(TimedStep):
    """Call ``function`` row by row.

    Parameters
    ----------
    called
        The user's function and what is said of it in errors.
    given, promised
        The columns that it gets, and those that it has to return.
    failed
        What becomes of rows that it fails on; None where that is an error.
    """

    def __init__(
        self,
        called: UserFunction,
        given: StructType,
        promised: StructType,
        failed: FailedRows | None = None,
    ) -> None:
        row_conversions()  # or raise where the call is made
        self._called = called
        self._given = given
        self._promised = promised
        self._failed = failed

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out what the function makes of the rows; tell ``listener`` what each one took."""
        to_rows, _ = row_conversions()
        called = self._called
        is_simple = self._failed is None and not called.retries and not called.is_async
        with Caller(called) as caller:
            for batch, ids in batches:
                rows = to_rows(pa.Table.from_batches([batch]), self._given)
                call = self._call(rows, batch) if is_simple else self._tried(rows, batch, caller)
                produced, ends, seconds = call
                if listener is not None:
                    listener.take_rows(ids, seconds)
                if produced:
                    yield from self._as_batches(produced, ends, rows, batch)

    def _call(self, rows: Sequence[Row], batch: pa.RecordBatch) -> "_Produced":
        """Call the function once per row; any failure is an error."""
        function, has_limit = self._called.function, self._called.row_timeout is not None
        produced: list[Any] = []
        ends: list[int] = []
        nanoseconds: list[int] = []
        try:
            with TimeLimit(self._called.row_timeout) as limit:
                for row in rows:
                    begin = perf_counter_ns()
                    if has_limit:
                        limit.start()
                    result: Any = function(row)
                    if isinstance(result, tuple | dict):
                        produced.append(result)
                    elif result is not None:
                        # An iterator does its work here: it is timed, too.
                        produced.extend(_several(result))
                    nanoseconds.append(perf_counter_ns() - begin)
                    ends.append(len(produced))
        except (Exception, RowTimeout) as error:
            raise self._called.failed(batch.slice(len(ends)), error) from error
        return _Produced(produced, ends, np.array(nanoseconds) * _NANOSECOND)

    def _tried(self, rows: Sequence[Row], batch: pa.RecordBatch, caller: Caller) -> "_Produced":
        """Call the function as often as it may be, and several rows at a time if it waits."""

        async def answer(number: int) -> list[Any]:
            try:
                return await self._called.tried(rows[number], 1, _answers)
            except (Exception, RowTimeout) as error:
                if self._failed is None:
                    raise self._called.failed(batch.slice(number), error) from error
                return [self._in_place_of(self._failed, rows[number], error)]

        produced: list[Any] = []
        ends: list[int] = []
        seconds: list[float] = []
        for answers, took in caller.outcomes(answer, range(len(rows))):
            produced += answers
            ends.append(len(produced))
            seconds.append(took)
        return _Produced(produced, ends, np.array(seconds))

    def _in_place_of(
        self, failed: FailedRows, row: Row, error: Exception | RowTimeout
    ) -> "_InPlace":
        return _InPlace(failed.row(row, self._called.reason(error)))

    def _as_batches(
        self, produced: list[Any], ends: list[int], rows: Sequence[Row], batch: pa.RecordBatch
    ) -> list[pa.RecordBatch]:
        try:
            return list(self._converted(produced).to_batches())
        except Exception as error:
            if self._failed is None:
                raise self._misfit(produced, ends, batch, error) from error
            failed = self._failed
        # Slower, but once: those of each row by themselves.
        fitting: list[Any] = []
        for row, begin, end in zip(rows, [0, *ends], ends, strict=False):
            try:
                self._converted(produced[begin:end])
                fitting += produced[begin:end]
            except Exception as error:
                why = self._unfit(produced[begin:end], error)
                fitting.append(self._in_place_of(failed, row, why))
        return list(self._converted(fitting).to_batches())

    def _converted(self, produced: list[Any]) -> pa.Table:
        _, to_batches = row_conversions()
        names, failed = self._promised.names, self._failed
        if failed is None:
            return to_batches([_values(result, names) for result in produced], self._promised)
        rows = [
            tuple(result)
            if isinstance(result, _InPlace)
            else failed.answered(_values(result, names))
            for result in produced
        ]
        return to_batches(rows, failed.schema)

    def _misfit(
        self, produced: list[Any], ends: list[int], batch: pa.RecordBatch, error: Exception
    ) -> Exception:
        """Return the error of the first row that does not fit, which is looked for one by one."""
        for number, result in enumerate(produced):
            try:
                self._converted([result])
            except Exception as why:
                origin = batch.slice(bisect_right(ends, number))
                return self._called.failed(origin, self._unfit([result], why))
        return self._called.failed(batch, error)

    def _unfit(self, results: list[Any], why: Exception) -> Exception:
        expected = self._promised.simpleString().removeprefix("struct")
        shown = ", ".join(map(repr, results))
        return UnskewError(f"it returned {shown}, which is no row of {expected}: {why}")


class _Produced(NamedTuple):
    """What came out, how much of it there was after each row, and the seconds of each row."""

    rows: list[Any]
    ends: list[int]
    seconds: NDArray[np.float64]


class _InPlace(tuple[Any, ...]):
    """The values that stand for a row that failed."""

    __slots__ = ()


def _answers(result: Any) -> list[Any]:
    """Return as a list what a call returned.

    >>> _answers((1, 2)), _answers(None), _answers(iter([(1,), (2,)]))
    ([(1, 2)], [], [(1,), (2,)])
    """
    if isinstance(result, tuple | dict):
        return [result]
    return [] if result is None else list(_several(result))


def _several(result: object) -> Iterable[Any]:
    if isinstance(result, Iterable) and not isinstance(result, str | bytes):
        return result
    raise UnskewError(
        f"it returned {result!r}; expected a Row, a dict, a tuple, a list of these, or None."
    )


def _values(result: Any, names: Sequence[str]) -> tuple[Any, ...]:
    """Return the values of a row in the order of ``names``, or raise if it has others.

    >>> _values(Row(b=2, a=1), ["a", "b"]), _values((1, 2), ["a", "b"])
    ((1, 2), (1, 2))
    >>> _values({"a": 1}, ["a", "b"])
    Traceback (most recent call last):
    ValueError: its columns are a.
    """
    own = list(result) if isinstance(result, dict) else getattr(result, "__fields__", None)
    if own is None:
        if not isinstance(result, tuple) or len(result) != len(names):
            raise ValueError(f"expected {len(names)} values in a Row, a dict or a tuple.")
        return tuple(result)
    if sorted(own) != sorted(names):
        raise ValueError(f"its columns are {', '.join(map(str, own))}.")
    if own == list(names):
        return tuple(result.values()) if isinstance(result, dict) else tuple(result)
    return tuple(result[name] for name in names)


Answer: TypeAlias = pa.RecordBatch | pa.Table
BatchFunction: TypeAlias = Callable[[pa.RecordBatch], Answer | Awaitable[Answer]]


class TimedBatches(TimedStep):
    """Call ``function`` with up to ``batch_rows`` rows at a time, those of a key together.

    Parameters
    ----------
    called
        The user's function and what is said of it in errors.
    promised
        The columns that it has to return.
    batch_rows
        The most rows of a call.
    failed
        What becomes of rows that it fails on, and the columns with these; None where that is an
        error.
    """

    def __init__(
        self,
        called: UserFunction,
        promised: pa.Schema,
        batch_rows: int,
        failed: tuple[FailedRows, pa.Schema] | None = None,
    ) -> None:
        self._called = called
        self._promised = promised
        self._batch_rows = batch_rows
        self._failed = failed

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out what the function makes of the rows; tell ``listener`` what each call took."""
        with Caller(self._called) as caller:
            for rows, ids in _sorted_rounds(batches):
                begins = _begins(rows.num_rows, self._batch_rows)
                parts = [rows.slice(begin, self._batch_rows) for begin in begins]
                outcomes = caller.outcomes(self._table, parts)
                for begin, (result, seconds) in zip(begins, outcomes, strict=True):
                    if listener is not None:
                        listener.take_call(ids[begin : begin + self._batch_rows], seconds)
                    yield from result.to_batches()

    async def _table(self, part: pa.RecordBatch) -> pa.Table:
        """Return what a call makes of rows; of those that it fails on by halves, down to one."""
        called, failed = self._called, self._failed
        try:
            result = await called.tried(part, part.num_rows, self._as_promised)
        except (Exception, RowTimeout) as error:
            if failed is None:
                raise called.failed(part, error) from error
            half = part.num_rows // 2
            if half:
                halves = (part.slice(0, half), part.slice(half))
                return pa.concat_tables([await self._table(one) for one in halves])
            policy, schema = failed
            stand_in = policy.table(part, called.reason(error))
            return as_promised(stand_in, schema, called.name)
        if failed is None:
            return result
        for field in list(failed[1])[len(self._promised) :]:
            result = result.append_column(field, pa.nulls(result.num_rows, field.type))
        return result

    def _as_promised(self, result: object) -> pa.Table:
        return as_promised(result, self._promised, self._called.name)


def _sorted_rounds(
    batches: Iterator[IdentifiedBatch],
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint64]]]:
    """Gather batches and sort their rows by identity."""
    held: list[IdentifiedBatch] = []
    rows = size = 0
    for batch, ids in batches:
        held.append((batch, ids))
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROUND_ROWS or size >= _ROUND_BYTES:
            yield _sorted(held)
            held, rows, size = [], 0, 0
    if held:
        yield _sorted(held)


def _sorted(held: list[IdentifiedBatch]) -> tuple[pa.RecordBatch, NDArray[np.uint64]]:
    ids = np.concatenate([ids for _, ids in held])
    order = np.argsort(ids, kind="stable")
    table = pa.Table.from_batches([batch for batch, _ in held]).take(pa.array(order))
    # One batch: gathered rows are far fewer than would make Arrow cut a column.
    return table.combine_chunks().to_batches()[0], ids[order]


def _begins(rows: int, batch_rows: int) -> list[int]:
    """Return where the calls begin, on every worker from another one on.

    What the first call of a task takes is not learned from; so it must not be the same keys' on
    all workers.
    """
    begins = list(range(0, rows, batch_rows))
    first = partition_number() % len(begins)
    return begins[first:] + begins[:first]
