"""The Python step of `map_rows`: call a function with every row, and time each call.

Runs inside Spark's Python workers.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import perf_counter_ns
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.conversion import ArrowTableToRowsConversion, LocalDataToArrowConversion
from pyspark.sql.types import StructType

from unskew.errors import UnskewError
from unskew.spark._row_timeout import RowTimeout, TimeLimit
from unskew.spark._timed_step import Batches, IdentifiedBatch, Listener, TimedStep, UserFunction

Produced: TypeAlias = Row | tuple[Any, ...] | dict[str, Any]
RowFunction: TypeAlias = Callable[[Row], Produced | Iterable[Produced] | None]

_NANOSECOND = 1e-9


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
        self._called = called
        self._given = given
        self._promised = promised

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out what the function makes of the rows; tell ``listener`` what each one took."""
        for batch, ids in batches:
            rows = ArrowTableToRowsConversion.convert(pa.Table.from_batches([batch]), self._given)
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
        return LocalDataToArrowConversion.convert(rows, self._promised, False)

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
