"""Functions of a window, and what each has to know of the other pieces of its key."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyspark.sql.functions as sf
from pyspark.sql import Column, WindowSpec
from pyspark.sql.types import DataType, IntegerType

Side = Literal["before", "after", "all"]
"""Which pieces of a key a frame reaches into, beside the row's own."""


@dataclass(frozen=True)
class LocalWindow:
    """The windows within a piece.

    Parameters
    ----------
    ordered
        In the order that was asked for, in which rows may be equal.
    exact
        In that order and, where it matters which of equal rows comes first, by their content.
    whole
        Without an order.
    is_own
        Whether a row is of the piece; others are copies, for rows of the piece to look at. None
        where there are no others.
    """

    ordered: WindowSpec
    exact: WindowSpec
    whole: WindowSpec
    is_own: Column | None = None

    def own(self, value: Column) -> Column:
        """Return the value where the row is of this piece, else null."""
        return value if self.is_own is None else sf.when(self.is_own, value)


@dataclass(frozen=True)
class Carried:
    """What a row knows of the other pieces of its key, as columns."""

    is_cut: Column
    has_before: Column
    has_after: Column
    totals: Sequence[Column]


@dataclass(frozen=True, eq=False)
class Total:
    """What is known of a piece, and how those of several pieces are put together."""

    of_piece: Column
    """An aggregate over the rows of the piece, or over the column of the step."""
    merge: Callable[[Column], Column]
    side: Side
    needs_order: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class WindowColumn:
    """A column over a window, made by a method of `WindowedFrame`, for its ``with_columns``."""

    name: str
    local: Callable[[LocalWindow], Column]
    """The result as far as the piece alone has it."""
    reads: tuple[str, ...] = ()
    reach: tuple[int, int] = (0, 0)
    """How many rows before and after the current one a frame of a number of rows reaches."""
    totals: tuple[Total, ...] = ()
    finish: Callable[[Column, Carried], Column] | None = None
    """The result from the local one and what is carried; None where the local one is it."""
    counts_from_one: bool = False
    """Whether the local result is a number, 1 at the first row of the piece."""
    kind: DataType | None = None
    """The type of the result where it is another one than sums over pieces have."""

    def __repr__(self) -> str:
        return f"WindowColumn({self.name})"


def numbering(name: str, order: Sequence[Column]) -> WindowColumn:
    """Return ``row_number``, ``rank`` or ``dense_rank``: what was before the piece is added.

    That is the number of rows, or for ``dense_rank`` of distinct values of the ``order``.
    """
    counted = sf.count_distinct(sf.struct(*order)) if name == "dense_rank" else sf.count(sf.lit(1))
    before = Total(counted, sf.sum, "before")
    function: Callable[[], Column] = getattr(sf, name)
    return WindowColumn(
        name,
        lambda window: function().over(window.exact if name == "row_number" else window.ordered),
        totals=(before,),
        finish=lambda local, carried: local + sf.coalesce(carried.totals[0], sf.lit(0)),
        counts_from_one=True,
        kind=IntegerType(),
    )


Frame = Callable[[LocalWindow], WindowSpec]
"""The window with a frame, made of a piece's windows."""


def aggregate(
    name: str, value: Column, frame: Frame, side: Side, kind: DataType | None = None
) -> WindowColumn:
    """Return a ``sum``, ``count``, ``min`` or ``max`` over a frame without a bound."""
    of, merge, join = _AGGREGATES[name]

    def finish(local: Column, carried: Carried) -> Column:
        (others,) = carried.totals
        return (
            sf.when(carried.is_cut, others).otherwise(local)
            if side == "all"
            else join(local, others)
        )

    return WindowColumn(
        name,
        lambda window: of(window.own(value)).over(frame(window)),
        totals=(Total(of(value), merge, side),),
        finish=finish,
        kind=kind,
    )


def average(value: Column, frame: Frame, side: Side, kind: DataType) -> WindowColumn:
    """Return an ``avg`` over a frame without a bound, from a sum and a count.

    The local result is the struct of both, so that one window is enough.
    """
    total, count = (_AGGREGATES[function][0] for function in ("sum", "count"))

    def finish(local: Column, carried: Carried) -> Column:
        added, counted = carried.totals
        if side == "all":
            added = sf.when(carried.is_cut, added).otherwise(local["total"])
            counted = sf.when(carried.is_cut, counted).otherwise(local["count"])
        else:
            added, counted = plus(local["total"], added), plus(local["count"], counted)
        return sf.when(counted > 0, added / counted)

    return WindowColumn(
        "avg",
        lambda window: sf.struct(
            total(window.own(value)).over(frame(window)).alias("total"),
            count(window.own(value)).over(frame(window)).alias("count"),
        ),
        totals=(Total(total(value), sf.sum, side), Total(count(value), sf.sum, side)),
        finish=finish,
        kind=kind,
    )


def edge(name: str, value: Column, frame: Frame, side: Side, *, ignore_nulls: bool) -> WindowColumn:
    """Return ``first`` or ``last`` over a frame without a bound."""
    function = sf.first if name == "first" else sf.last

    def of(values: Column) -> Column:
        return function(values, ignorenulls=ignore_nulls)

    def finish(local: Column, carried: Carried) -> Column:
        (others,) = carried.totals
        if side == "all":
            return sf.when(carried.is_cut, others).otherwise(local)
        theirs_first = (name == "first") == (side == "before")
        if ignore_nulls:
            return sf.coalesce(others, local) if theirs_first else sf.coalesce(local, others)
        there = carried.has_before if side == "before" else carried.has_after
        return sf.when(there, others).otherwise(local) if theirs_first else local

    return WindowColumn(
        name,
        lambda window: of(value).over(frame(window)),
        totals=(Total(of(value), of, side, needs_order=True),),
        finish=finish,
    )


def reaching(
    name: str, column: str, function: Callable[[LocalWindow], Column], reach: tuple[int, int]
) -> WindowColumn:
    """Return a function of a bounded number of rows, for which Spark is shown those rows."""
    return WindowColumn(name, function, reads=(column,), reach=reach)


def plus(one: Column, other: Column) -> Column:
    """Return the sum of two sums, of which null is that of no values."""
    return sf.coalesce(one + other, one, other)


_AGGREGATES: dict[
    str,
    tuple[
        Callable[[Column], Column],
        Callable[[Column], Column],
        Callable[[Column, Column], Column],
    ],
] = {
    "sum": (sf.sum, sf.sum, plus),
    "count": (sf.count, sf.sum, plus),
    "min": (sf.min, sf.min, sf.least),
    "max": (sf.max, sf.max, sf.greatest),
}
