"""The steps of `map_rows` and `map_batches`: call a user's function and time each call."""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from time import perf_counter_ns
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
    failure,
    partition_number,
    renamed,
)

if TYPE_CHECKING:
    from unskew.spark.worker.cost_machine import CostMachine
    from unskew.spark.worker.cost_messages import ControlSource, Matrices


MeasuredBatches: TypeAlias = Generator[pa.RecordBatch, None, bytes]
IdentifiedBatch: TypeAlias = tuple[pa.RecordBatch, NDArray[np.uint64]]
"""Rows, and the identity of what each one's cost depends on."""

WORK_DONE = "work_done"
"""The column of measures: a `cost_messages.WorkDone`, as bytes."""

_NANOSECOND = 1e-9
# Rows are gathered before they are sorted: the more there are, the more calls have but one key.
_ROUND_ROWS = 131_072
_ROUND_BYTES = 64 * 2**20


class UserFunction(NamedTuple):
    """A user's function, and what is said when it fails."""

    function: Callable[..., Any]
    name: str
    cost_by: Sequence[str]
    row_timeout: float | None

    def failed(self, rows: pa.RecordBatch, error: Exception | RowTimeout) -> Exception:
        """Return the error to raise; ``rows`` begins with the row in question."""
        if isinstance(error, RowTimeout):
            error = TimeoutError(f"it took longer than row_timeout={self.row_timeout:g} s per row")
        return failure(self.name, "the call", "worker", rows.select(list(self.cost_by)), error)


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


def _machine(matrices: "Matrices", source: "ControlSource") -> "CostMachine":
    # Numba, which only those need who measure, takes a second to load.
    from unskew.spark.worker.cost_machine import CostMachine

    return CostMachine(partition_number(), matrices, source.read())


Produced: TypeAlias = Row | tuple[Any, ...] | dict[str, Any]
RowFunction: TypeAlias = Callable[[Row], Produced | Iterable[Produced] | None]


class TimedRows(TimedStep):
    """Call ``function`` row by row.

    Parameters
    ----------
    called
        The user's function and what is said of it in errors.
    given, promised
        The columns that it gets, and those that it has to return.
    """

    def __init__(self, called: UserFunction, given: StructType, promised: StructType) -> None:
        row_conversions()  # or raise where the call is made
        self._called = called
        self._given = given
        self._promised = promised

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out what the function makes of the rows; tell ``listener`` what each one took."""
        to_rows, _ = row_conversions()
        for batch, ids in batches:
            rows = to_rows(pa.Table.from_batches([batch]), self._given)
            produced, ends, nanoseconds = self._call(rows, batch)
            if listener is not None:
                listener.take_rows(ids, np.array(nanoseconds) * _NANOSECOND)
            if produced:
                yield from self._as_batches(produced, ends, batch)

    def _call(
        self, rows: Sequence[Row], batch: pa.RecordBatch
    ) -> tuple[list[Any], list[int], list[int]]:
        """Return what came out, how much of it there was after each row, and the times."""
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
        return produced, ends, nanoseconds

    def _as_batches(
        self, produced: list[Any], ends: list[int], batch: pa.RecordBatch
    ) -> list[pa.RecordBatch]:
        try:
            return list(self._converted(produced).to_batches())
        except Exception as error:
            raise self._misfit(produced, ends, batch, error) from error

    def _converted(self, produced: list[Any]) -> pa.Table:
        names = self._promised.names
        rows = [_values(result, names) for result in produced]
        _, to_batches = row_conversions()
        return to_batches(rows, self._promised)

    def _misfit(
        self, produced: list[Any], ends: list[int], batch: pa.RecordBatch, error: Exception
    ) -> Exception:
        """Return the error of the first row that does not fit, which is looked for one by one."""
        for number, result in enumerate(produced):
            try:
                self._converted([result])
            except Exception as why:
                expected = self._promised.simpleString().removeprefix("struct")
                words = f"it returned {result!r}, which is no row of {expected}: {why}"
                origin = batch.slice(bisect_right(ends, number))
                return self._called.failed(origin, UnskewError(words))
        return self._called.failed(batch, error)


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


BatchFunction: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch | pa.Table]


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
    """

    def __init__(self, called: UserFunction, promised: pa.Schema, batch_rows: int) -> None:
        self._called = called
        self._promised = promised
        self._batch_rows = batch_rows

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out what the function makes of the rows; tell ``listener`` what each call took."""
        for rows, ids in _sorted_rounds(batches):
            for begin in _begins(rows.num_rows, self._batch_rows):
                part = rows.slice(begin, self._batch_rows)
                result, seconds = self._call(part)
                if listener is not None:
                    listener.take_call(ids[begin : begin + self._batch_rows], seconds)
                yield from result.to_batches()

    def _call(self, part: pa.RecordBatch) -> tuple[pa.Table, float]:
        called = self._called
        try:
            with TimeLimit(called.row_timeout) as limit:
                begin = perf_counter_ns()
                limit.start(part.num_rows)
                result = called.function(part)
                seconds = (perf_counter_ns() - begin) * 1e-9
            return as_promised(result, self._promised, called.name), seconds
        except (Exception, RowTimeout) as error:
            raise called.failed(part, error) from error


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
