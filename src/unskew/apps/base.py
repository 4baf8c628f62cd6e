"""The contract of an application: rows in, the same result from plain Spark and from workers."""

import inspect
import re
from abc import ABC, abstractmethod
from typing import ClassVar

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew.apps.placing import Placing, delayed
from unskew.errors import InvalidParameterError
from unskew.spark.routing.schemes import runnable

_PART = r"\d+ (microsecond|millisecond|second|minute|hour|day|week)s?"
_LENGTH = re.compile(f"{_PART}( {_PART})*")


def check_length(owner: str, parameter: str, value: object, *, zero: bool = False) -> str:
    """Return a length of time if Spark takes it, or raise; ``zero`` is whether it may be nothing.

    >>> check_length("vwap", "window", "1 hour 30 minutes")
    '1 hour 30 minutes'
    >>> check_length("vwap", "window", "1 month")
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: vwap: window must be a length such as '1 hour' …
    """
    text = value.strip().lower() if isinstance(value, str) else ""
    if _LENGTH.fullmatch(text) and (zero or re.search("[1-9]", text)):
        return text
    expected = "a length such as '1 hour' or '90 seconds', in weeks or smaller units"
    raise InvalidParameterError(owner, parameter, expected, value)


def windowed(rows: DataFrame, time: str, length: str, late: str) -> DataFrame:
    """Return rows with the window that each one falls into as the column ``window``.

    On a stream a window is forgotten when a row came that is later than its end by ``late``, and
    rows that come after that are dropped, as Spark does it.
    """
    if rows.isStreaming:
        rows = rows.withWatermark(time, late)
    return rows.withColumn("window", sf.window(time, length))


class Application(ABC):
    """A pipeline that can run over any source, placed by any grouping that fits.

    Batch and stream go through the same code: what `plain` and `balanced` get is one or the
    other, and so is what they return. The two results are equal, row for row.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    """One line."""
    schema: ClassVar[str]
    """Columns and types of the rows that it takes, as DDL."""
    time: ClassVar[str | None] = None
    """The column of event times, where it has one."""
    key: ClassVar[tuple[str, ...]]
    """What rows are placed by: columns of the rows that come out of `prepared`."""
    output_mode: ClassVar[str] = "update"
    """For a stream: ``update`` gives out every result that changed, ``append`` new rows only."""
    result_key: tuple[str, ...] = ()
    """The columns that name a result row: in ``update`` mode the last row of each is in force.
    Empty where all rows stand (``append``)."""
    note: ClassVar[str | None] = None
    """What one has to know to compare groupings of it, as a sentence."""

    @property
    def groupings(self) -> tuple[str, ...]:
        """The schemes that fit; any other is refused by the engine, with its own error."""
        return tuple(runnable())

    @property
    def spec(self) -> str:
        """Its name, and those of its parameters that are not what they are by default."""
        names = inspect.signature(type(self)).parameters
        pairs = {name: (getattr(self, name), getattr(type(self)(), name)) for name in names}
        given = [
            f"{name}={value}"
            for name, (value, default) in pairs.items()
            if value != default and isinstance(value, str | int | float | None)
        ]
        return f"{self.name}:{','.join(given)}" if given else self.name

    @abstractmethod
    def table(self, limit: int | None = None) -> pa.Table:
        """Return real rows in time order, the first ``limit`` of them; see `unskew.apps.data`."""

    @abstractmethod
    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return a made-up row for each one of ``timestamp`` and ``value`` (0, 1, 2 …).

        The same numbers always give the same rows.
        """

    @abstractmethod
    def plain(self, df: DataFrame, placing: Placing = Placing()) -> DataFrame:  # noqa: B008 (frozen)
        """Return the result as plain Spark computes it.

        Of ``placing`` only the work counts: with a ``delay`` the rows of a key are worked on by
        one of so many ``workers``, where Spark's own hash puts them.
        """

    @abstractmethod
    def balanced(self, df: DataFrame, placing: Placing) -> DataFrame:
        """Return the same result with rows placed by ``placing``."""


class KeyedApplication(Application):
    """An application whose rows are prepared, placed by key, worked on, and merged by Spark.

    ``prepared`` and ``merged`` are all there is to write. Rows are placed by `key` alone, also
    where results are of a key and a window: a hot key is hot in every window, so what was learned
    stays true when the next window begins.
    """

    def prepared(self, df: DataFrame) -> DataFrame:
        """Return the rows as they go to the workers; by default as they come."""
        return df

    @abstractmethod
    def merged(self, rows: DataFrame) -> DataFrame:
        """Return the result of rows, wherever they are."""

    def plain(self, df: DataFrame, placing: Placing = Placing()) -> DataFrame:  # noqa: B008 (frozen)
        """Return the result as plain Spark computes it."""
        return self.merged(by_hash(self.prepared(df), self.key, placing))

    def balanced(self, df: DataFrame, placing: Placing) -> DataFrame:
        """Return the same result with rows placed by ``placing``."""
        placed = placing.place(self.prepared(df), list(self.key))
        return self.merged(delayed(placed, placing.delay))


def by_hash(rows: DataFrame, key: tuple[str, ...], placing: Placing) -> DataFrame:
    """Return rows after their work, done where plain Spark puts their key; without work as is."""
    if not placing.delay:
        return rows
    return delayed(rows.repartition(placing.workers, *key), placing.delay)
