"""Window functions over keys that are too large for one task."""

from collections.abc import Callable
from typing import Any, NoReturn

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql.types import DataType, DecimalType, NumericType

from unskew._validation import check_int
from unskew.errors import InvalidParameterError
from unskew.spark.columns import By, check_by, quoted
from unskew.spark.routing.learning import refuse_stream
from unskew.spark.windows.carrying import with_window_columns
from unskew.spark.windows.functions import (
    Frame,
    LocalWindow,
    Side,
    WindowColumn,
    aggregate,
    average,
    edge,
    numbering,
    reaching,
)
from unskew.spark.windows.ordering import OrderBy, check_order
from unskew.spark.windows.ranges import Ranges, learn_ranges

Bounds = tuple[int | None, int | None]
"""First and last row of a frame, counted from the current one; None is the end of the partition."""

_MOST_ROWS = 10_000  # that a frame may reach over a cut: copies of them go through the driver
_UNBOUNDED: dict[Bounds, Side] = {(None, 0): "before", (0, None): "after", (None, None): "all"}
_REFUSED = {
    "ntile": "count the rows of a key with count(rows=(None, None)), and divide row_number by it",
    "percent_rank": "take (rank − 1) / (count(rows=(None, None)) − 1)",
    "cume_dist": "take count() / count(rows=(None, None))",
    "nth_value": "take row_number, and join the rows where it is n",
    "collect_list": "what is carried over a cut would be all values before it",
    "collect_set": "what is carried over a cut would be all values before it",
    "stddev": "take it from running sums of the values and of their squares",
    "variance": "take it from running sums of the values and of their squares",
}


def window(
    df: DataFrame, partition_by: By, order_by: OrderBy, *, workers: int, seed: int = 0
) -> "WindowedFrame":
    """Return ``df`` with its windows laid over ``workers`` tasks, whatever the keys' sizes.

    Spark brings all rows of a partition of a window to one task. Here a key that is too large is
    cut, in its order, into stretches for several tasks; Spark's own functions run within each, and
    what crosses a cut (a count, a sum, the last rows) is carried over it. One shuffle, native
    expressions only.

    Parameters
    ----------
    df
        A batch DataFrame that has the same rows each time it is read: it is read to sample it, for
        what crosses the cuts (rows of keys that are cut alone), and for the result.
    partition_by
        The key column, or a list of several, as for ``Window.partitionBy``.
    order_by
        Columns by name or as ``sf.desc("at")``, ``sf.col("at").asc_nulls_last()``, or a list.
    workers
        Number of tasks, at least 1.
    seed
        Picks the sample.

    Returns
    -------
    WindowedFrame
        Its methods are the window functions, and its ``with_columns`` adds their results.

    Raises
    ------
    InvalidParameterError
        For a stream, an unknown column, or an order by a type that cannot be cut.

    Examples
    --------
    ``w = us.window(df, "user", "at", workers=64)``, then
    ``w.with_columns(n=w.row_number(), total=w.sum("amount"), week=w.avg("amount", rows=(-6, 0)))``.

    Notes
    -----
    Rows that are equal in key and order stay together, so ranks and default frames are exact; a
    task is as large as the largest such group at least. Which of them comes first, where that
    matters, is as open as in Spark.
    """
    refuse_stream("window", df)
    by = check_by(df, partition_by, owner="window", parameter="partition_by")
    order = check_order(df, order_by, owner="window")
    count = check_int("window", "workers", workers, minimum=1)
    return WindowedFrame(df, learn_ranges(df, by, order, count, seed))


class WindowedFrame:
    """Rows with a window over each key; made by `window`.

    A method of it makes a column, which `with_columns` takes. Frames are given as ``rows=(first,
    last)``, counted from the current row, None for the end of the partition: ``(None, 0)`` is
    running, ``(None, None)`` the whole partition, ``(-6, 0)`` seven rows. Without it the frame is
    Spark's default: from the start of the partition to the current row and all that are equal to
    it in the order.
    """

    def __init__(self, df: DataFrame, ranges: Ranges) -> None:
        self._df, self._ranges = df, ranges

    def __repr__(self) -> str:
        by, order = ", ".join(self._ranges.by), ", ".join(one.name for one in self._ranges.order)
        cut = len(self._ranges.cut_keys)
        keys = f"{cut} key{'' if cut == 1 else 's'} cut"
        return (
            f"WindowedFrame(by {by}, in order of {order}, {self._ranges.workers} workers, {keys})"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name in _REFUSED:
            expected = "one that can be carried over a cut"
            raise InvalidParameterError("window", "function", expected, name, hint=_REFUSED[name])
        raise AttributeError(f"WindowedFrame has no function {name!r}")

    def row_number(self) -> WindowColumn:
        """Return the number of the row in its partition, from 1; equal rows in any order."""
        return self._numbering("row_number")

    def rank(self) -> WindowColumn:
        """Return one more than the number of rows that come before in the order."""
        return self._numbering("rank")

    def dense_rank(self) -> WindowColumn:
        """Return one more than the number of distinct values that come before in the order."""
        return self._numbering("dense_rank")

    def lag(self, column: str, offset: int = 1, default: Any = None) -> WindowColumn:
        """Return the value of ``column`` so many rows before, or ``default`` if there is none."""
        return self._shifted("lag", column, offset, default)

    def lead(self, column: str, offset: int = 1, default: Any = None) -> WindowColumn:
        """Return the value of ``column`` so many rows after, or ``default`` if there is none."""
        return self._shifted("lead", column, offset, default)

    def first(
        self, column: str, *, ignore_nulls: bool = False, rows: Bounds | None = None
    ) -> WindowColumn:
        """Return the first value of the frame; with ``ignore_nulls`` the first that is not null."""
        return self._edge("first", column, ignore_nulls, rows)

    def last(
        self, column: str, *, ignore_nulls: bool = False, rows: Bounds | None = None
    ) -> WindowColumn:
        """Return the last value of the frame; with ``ignore_nulls`` the last that is not null."""
        return self._edge("last", column, ignore_nulls, rows)

    def sum(self, column: str, *, rows: Bounds | None = None) -> WindowColumn:
        """Return the sum of the frame.

        Of a key that is cut, sums of float and double over frames without a bound are added in
        another order than Spark's, piece by piece: they differ from it by rounding.
        """
        return self._aggregate("sum", self._number("sum", column), column, rows)

    def count(self, column: str | None = None, *, rows: Bounds | None = None) -> WindowColumn:
        """Return the number of values of the frame that are not null; of rows without a column."""
        name = None if column is None else self._column("count", column)
        value = sf.lit(1) if name is None else sf.col(quoted(name))
        return self._aggregate("count", value, name, rows)

    def min(self, column: str, *, rows: Bounds | None = None) -> WindowColumn:
        """Return the smallest value of the frame."""
        name = self._column("min", column)
        return self._aggregate("min", sf.col(quoted(name)), name, rows)

    def max(self, column: str, *, rows: Bounds | None = None) -> WindowColumn:
        """Return the largest value of the frame."""
        name = self._column("max", column)
        return self._aggregate("max", sf.col(quoted(name)), name, rows)

    def avg(self, column: str, *, rows: Bounds | None = None) -> WindowColumn:
        """Return the mean of the frame; for float and double see `sum`."""
        value = self._number("avg", column)
        frame, side, reach = self._frame("avg", rows)
        if side is None:
            return reaching("avg", column, lambda of: sf.avg(value).over(frame(of)), reach)
        kind = self._type(sf.avg(value))
        summed = value if isinstance(kind, DecimalType) else value.cast("double")
        return average(summed, frame, side, kind)

    def with_columns(self, **columns: WindowColumn) -> DataFrame:
        """Return the rows with one more column for each that is given, under its name.

        Where keys are cut, a job over their rows is run here for what crosses the cuts.
        """
        if not columns:
            raise InvalidParameterError("with_columns", "columns", "at least one", None)
        taken = {name.lower() for name in self._df.columns}
        given: dict[str, object] = dict(columns)
        for name, column in given.items():
            if not isinstance(column, WindowColumn):
                expected = "made by a method of the WindowedFrame, such as row_number()"
                raise InvalidParameterError("with_columns", name, expected, column)
            if name.lower() in taken:
                expected = "a name that no column has"
                raise InvalidParameterError("with_columns", "columns", expected, name)
        return with_window_columns(self._df, self._ranges, columns)

    def _numbering(self, name: str) -> WindowColumn:
        return numbering(name, [sf.col(quoted(one.name)) for one in self._ranges.order])

    def _shifted(self, name: str, column: str, offset: int, default: Any) -> WindowColumn:
        found = self._column(name, column)
        offset = check_int(name, "offset", offset, minimum=0, maximum=_MOST_ROWS)
        function = sf.lag if name == "lag" else sf.lead

        def shifted(of: LocalWindow) -> Column:
            return function(sf.col(quoted(found)), offset, default).over(of.exact)

        return reaching(name, found, shifted, (offset, 0) if name == "lag" else (0, offset))

    def _edge(
        self, name: str, column: str, ignore_nulls: bool, rows: Bounds | None
    ) -> WindowColumn:
        found = self._column(name, column)
        value = sf.col(quoted(found))
        frame, side, reach = self._frame(name, rows)
        if side is not None:
            return edge(name, value, frame, side, ignore_nulls=ignore_nulls)
        function = sf.first if name == "first" else sf.last
        return reaching(
            name, found, lambda of: function(value, ignore_nulls).over(frame(of)), reach
        )

    def _aggregate(
        self, name: str, value: Column, column: str | None, rows: Bounds | None
    ) -> WindowColumn:
        frame, side, reach = self._frame(name, rows)
        function: Callable[[Column], Column] = getattr(sf, name)
        if side is None:
            reads = self._ranges.by[0] if column is None else column
            return reaching(name, reads, lambda of: function(value).over(frame(of)), reach)
        kind = self._type(function(value)) if name == "sum" else None
        return aggregate(name, value, frame, side, kind)

    def _frame(self, owner: str, rows: Bounds | None) -> tuple[Frame, Side | None, tuple[int, int]]:
        """Return a window with this frame, which other pieces it reaches into, or how far."""
        if rows is None:
            return _default_frame, "before", (0, 0)
        expected = "(first, last), two numbers of rows or None"
        if not isinstance(rows, tuple) or len(rows) != 2:
            raise InvalidParameterError(owner, "rows", expected, rows)
        first, last = (None if one is None else check_int(owner, "rows", one) for one in rows)
        low = Window.unboundedPreceding if first is None else first
        high = Window.unboundedFollowing if last is None else last

        def frame(of: LocalWindow) -> WindowSpec:
            return of.exact.rowsBetween(low, high)

        side = _UNBOUNDED.get((first, last))
        if side is not None:
            return frame, side, (0, 0)
        if first is None or last is None:
            raise InvalidParameterError(
                owner,
                "rows",
                "(None, 0), (0, None), (None, None) or two numbers",
                rows,
                hint="what is carried over a cut is of whole pieces, and such a frame ends within "
                "one; take the running value, and lag or lead it",
            )
        if first > last:
            raise InvalidParameterError(owner, "rows", "first <= last", rows)
        reach = max(0, -first), max(0, last)
        if max(reach) > _MOST_ROWS:
            hint = "copies of so many rows go to the next task by way of the driver"
            expected = f"within {_MOST_ROWS:,} rows of the current one"
            raise InvalidParameterError(owner, "rows", expected, rows, hint=hint)
        return frame, None, reach

    def _column(self, owner: str, column: str) -> str:
        """Return the column as the table spells it; of any type, unlike keys."""
        names = self._df.columns
        found = [name for name in names if name == column] or [
            name for name in names if isinstance(column, str) and name.lower() == column.lower()
        ]
        if len(found) != 1:
            expected = f"one of the columns {', '.join(map(repr, names))}"
            raise InvalidParameterError(owner, "column", expected, column)
        return found[0]

    def _number(self, owner: str, column: str) -> Column:
        name = self._column(owner, column)
        kind = self._df.schema[name].dataType
        if not isinstance(kind, NumericType):
            expected, got = "a column of numbers", f"{name}: {kind.simpleString()}"
            raise InvalidParameterError(owner, "column", expected, got)
        return sf.col(quoted(name))

    def _type(self, value: Column) -> DataType:
        return self._df.select(value).schema.fields[0].dataType


def _default_frame(of: LocalWindow) -> WindowSpec:
    return of.ordered.rangeBetween(Window.unboundedPreceding, Window.currentRow)
