"""A user's function: how it is called, how often it is tried, and what a row becomes that it fails.

The coroutines here serve both kinds of functions. For a plain one they never wait for anything, so
they are driven to their end by `finished`, without an event loop.
"""

import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from inspect import iscoroutinefunction
from time import perf_counter_ns
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.types import StringType, StructField, StructType

from unskew.spark.versions import row_conversions
from unskew.spark.worker.task import RowTimeout, TimeLimit, failure

T = TypeVar("T")

DEAD_LETTER = "dead_letter"
"""The column that holds rows whose calls failed, and why."""

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0
_NANOSECOND = 1e-9


class UserFunction(NamedTuple):
    """A user's function, how it is to be called, and what is said when it fails."""

    function: Callable[..., Any]
    name: str
    cost_by: Sequence[str]
    row_timeout: float | None = None
    retries: int = 0
    in_flight: int = 1
    """How many calls of an async function may wait at once."""

    @property
    def is_async(self) -> bool:
        """Whether what the function returns has to be waited for."""
        call = type(self.function).__call__  # of an object that is called like a function
        return iscoroutinefunction(self.function) or iscoroutinefunction(call)

    def failed(self, rows: pa.RecordBatch, error: Exception | RowTimeout) -> Exception:
        """Return the error to raise; ``rows`` begins with the row in question."""
        given = set(rows.schema.names)  # a field of a struct is shown with its struct
        names = [name if name in given else name.split(".")[0] for name in self.cost_by]
        keys = rows.select(list(dict.fromkeys(names)))
        return failure(self.name, "the call", "worker", keys, self._told(error))

    def reason(self, error: Exception | RowTimeout) -> str:
        """Return in words why a call failed.

        >>> UserFunction(print, "print", [], row_timeout=2.0).reason(RowTimeout())
        'TimeoutError: it took longer than row_timeout=2 s per row'
        """
        told = self._told(error)
        return f"{type(told).__name__}: {told}"

    def waits(self) -> Iterator[float]:
        """Yield the seconds to wait before each further try: twice as long each time.

        >>> [round(wait, 1) for wait in UserFunction(print, "print", [], retries=9).waits()]
        [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
        """
        return (min(_FIRST_WAIT * 2.0**number, _LONGEST_WAIT) for number in range(self.retries))

    async def tried(self, argument: Any, rows: int, use: Callable[[Any], T]) -> T:
        """Return what ``use`` makes of the result, or raise what the last try raised.

        Parameters
        ----------
        argument
            What the function is called with.
        rows
            How many rows that is: each has the time of ``row_timeout``.
        use
            Takes the result, within that time: an iterator does its work only now.
        """
        waits = self.waits()
        while True:
            try:
                return await self._once(argument, rows, use)
            except (Exception, RowTimeout):
                wait = next(waits, None)
                if wait is None:
                    raise
            if self.is_async:
                await _asyncio().sleep(wait)
            else:
                time.sleep(wait)

    async def _once(self, argument: Any, rows: int, use: Callable[[Any], T]) -> T:
        if not self.is_async:
            with TimeLimit(self.row_timeout) as limit:
                limit.start(rows)
                return use(self.function(argument))
        seconds = None if self.row_timeout is None else self.row_timeout * rows
        try:
            async with _asyncio().timeout(seconds) as limited:
                return use(await self.function(argument))
        except TimeoutError as error:
            # Its own time-outs are errors like any other.
            raise RowTimeout if limited.expired() else error from error

    def _told(self, error: Exception | RowTimeout) -> Exception:
        if isinstance(error, RowTimeout):
            return TimeoutError(f"it took longer than row_timeout={self.row_timeout:g} s per row")
        return error


class Caller:
    """Finish coroutines within a ``with`` block: one by one, or several at a time if they wait.

    Parameters
    ----------
    called
        Whose calls they are: of an async function ``in_flight`` are under way at once, in one
        event loop for the whole partition, so that what the function keeps open stays usable.

    Examples
    --------
    >>> async def double(number):
    ...     return 2 * number
    >>> with Caller(UserFunction(double, "double", [], in_flight=2)) as caller:
    ...     [result for result, seconds in caller.outcomes(double, [1, 2, 3])]
    [2, 4, 6]
    """

    def __init__(self, called: UserFunction) -> None:
        self._in_flight = called.in_flight
        self._runner = _asyncio().Runner() if called.is_async else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._runner is not None:
            self._runner.close()

    def outcomes(
        self, call: Callable[[Any], Coroutine[Any, Any, T]], arguments: Sequence[Any]
    ) -> Iterator[tuple[T, float]]:
        """Yield, in their order, what came of all calls, and the seconds that each one took.

        Where several were under way at once, the time that all took together is divided among
        them in proportion: their sum is what the worker was busy for.
        """
        if self._runner is not None:
            yield from self._runner.run(self._at_once(call, arguments))
            return
        for argument in arguments:
            begin = perf_counter_ns()
            outcome = finished(call(argument))
            yield outcome, (perf_counter_ns() - begin) * _NANOSECOND

    async def _at_once(
        self, call: Callable[[Any], Coroutine[Any, Any, T]], arguments: Sequence[Any]
    ) -> list[tuple[T, float]]:
        found: dict[int, tuple[T, float]] = {}
        waiting = iter(enumerate(arguments))

        async def work() -> None:
            for number, argument in waiting:
                begin = perf_counter_ns()
                outcome = await call(argument)
                found[number] = (outcome, (perf_counter_ns() - begin) * _NANOSECOND)

        begin = perf_counter_ns()
        try:
            async with _asyncio().TaskGroup() as group:
                for _ in range(min(self._in_flight, len(arguments))):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        elapsed = (perf_counter_ns() - begin) * _NANOSECOND
        share = elapsed / max(sum(seconds for _, seconds in found.values()), _NANOSECOND)
        results = (found[number] for number in range(len(arguments)))
        return [(outcome, seconds * share) for outcome, seconds in results]


def _asyncio() -> Any:
    # Plain functions do without: it takes a Python worker a twentieth of a second to load.
    import asyncio

    return asyncio


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that waits for nothing.

    >>> async def three():
    ...     return 3
    >>> finished(three())
    3
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError("a plain function cannot wait for others")


class FailedRows:
    """What becomes of a row whose every call has failed, where that is not to fail the job.

    It gives one row. Columns that its own row has, by name and type, keep their values; all others
    are null.

    Parameters
    ----------
    given, promised
        The columns of the rows, and those that the function has to return.
    has_letters
        Whether there is one more column that says which rows failed and why: `DEAD_LETTER`.

    Examples
    --------
    >>> given = StructType().add("id", "long").add("text", "string")
    >>> promised = StructType().add("id", "long").add("label", "string")
    >>> FailedRows(given, promised, has_letters=False).row(Row(id=7, text="a"), "KeyError: 'b'")
    (7, None)
    >>> letters = FailedRows(given, promised, has_letters=True)
    >>> letters.schema.names, letters.row(Row(id=7, text="a"), "KeyError: 'b'")
    (['id', 'label', 'dead_letter'], (7, None, ("KeyError: 'b'", (7, 'a'))))
    """

    def __init__(self, given: StructType, promised: StructType, *, has_letters: bool) -> None:
        row_conversions()  # or raise where the call is made
        own = {field.name: field for field in given.fields}
        self._given = given
        self._kept: list[str | None] = []
        self.missing: list[str] = []
        """Columns that would have to be null and may not be."""
        for field in promised.fields:
            mine = own.get(field.name)
            is_kept = mine is not None and mine.dataType == field.dataType
            is_kept &= field.nullable or (mine is not None and not mine.nullable)
            self._kept.append(field.name if is_kept else None)
            if not (is_kept or field.nullable):
                self.missing.append(field.name)
        letter = StructType(
            [
                StructField("error", StringType()),
                StructField("row", given),
            ]
        )
        self.schema = promised
        """The columns of the results."""
        self._has_letters = has_letters
        if has_letters:
            self.schema = StructType([*promised.fields, StructField(DEAD_LETTER, letter)])

    def row(self, row: Row, error: str) -> tuple[Any, ...]:
        """Return the values that stand for ``row``."""
        values = tuple(None if name is None else row[name] for name in self._kept)
        return (*values, (error, tuple(row))) if self._has_letters else values

    def answered(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of a result of a call that did not fail."""
        return (*values, None) if self._has_letters else values

    def table(self, part: pa.RecordBatch, error: str) -> pa.Table:
        """Return the rows that stand for those of ``part``."""
        to_rows, to_table = row_conversions()
        rows = to_rows(pa.Table.from_batches([part]), self._given)
        return to_table([self.row(row, error) for row in rows], self.schema)
