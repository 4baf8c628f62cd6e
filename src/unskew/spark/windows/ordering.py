"""The order of a window: its columns, and whether a row comes before a cut or not."""

import datetime as dt
import decimal
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from unskew.errors import InvalidParameterError
from unskew.spark.columns import check_by, quoted

OrderBy = str | Column | Sequence[str | Column]
"""Columns to order by, by name or as ``sf.desc("at")``, ``sf.col("at").asc_nulls_last()`` …"""

_SHOWN = re.compile(r"Column<'(?P<name>.+?)(?P<order> (?:ASC|DESC) NULLS (?:FIRST|LAST))?'>")
_ORDERED = (NumericType, StringType, DateType, TimestampType, TimestampNTZType, BooleanType)


class OrderColumn(NamedTuple):
    """A column that rows are ordered by."""

    name: str
    kind: DataType
    descending: bool
    nulls_first: bool

    @property
    def sort(self) -> Column:
        """The column as Spark's ``orderBy`` takes it."""
        column = sf.col(quoted(self.name))
        if self.descending:
            return column.desc_nulls_first() if self.nulls_first else column.desc_nulls_last()
        return column.asc_nulls_first() if self.nulls_first else column.asc_nulls_last()

    def is_after(self, value: Any) -> Column:
        """Return whether a row comes after one that has ``value`` here."""
        column = sf.col(quoted(self.name))
        if value is None:
            return column.isNotNull() if self.nulls_first else sf.lit(False)
        beyond = column < self.literal(value) if self.descending else column > self.literal(value)
        after = sf.coalesce(beyond, sf.lit(False))
        return after if self.nulls_first else after | column.isNull()

    def is_same(self, value: Any) -> Column:
        """Return whether a row has ``value`` here."""
        return sf.col(quoted(self.name)).eqNullSafe(self.literal(value))

    def literal(self, value: Any) -> Column:
        """Return a value as a column of this type; by way of text, which loses nothing."""
        return sf.lit(None if value is None else _text(value)).cast(self.kind)


def check_order(
    df: DataFrame, order_by: OrderBy, *, owner: str, parameter: str = "order_by"
) -> list[OrderColumn]:
    """Return the columns to order by, or raise if one cannot be cut.

    Raises
    ------
    InvalidParameterError
        Where there is none, one is no column of ``df``, or is of a type that has no literals.
    """
    several = isinstance(order_by, Sequence) and not isinstance(order_by, str)
    given: list[Any] = list(order_by) if several else [order_by]  # type: ignore[arg-type]
    found = [_parsed(one, owner, parameter) for one in given]
    names = check_by(df, [name for name, _, _ in found], owner=owner, parameter=parameter)
    columns = []
    for name, (_, descending, nulls_first) in zip(names, found, strict=True):
        kind = df.schema[name].dataType
        if not isinstance(kind, _ORDERED):
            expected = "columns of numbers, text, dates, timestamps or booleans"
            got = f"{name}: {kind.simpleString()}"
            raise InvalidParameterError(owner, parameter, expected, got, hint="cast it first")
        columns.append(OrderColumn(name, kind, descending, nulls_first))
    return columns


def _parsed(column: Any, owner: str, parameter: str) -> tuple[str, bool, bool]:
    """Return name, whether descending, and whether nulls come first."""
    if isinstance(column, str):
        return column, False, True
    match = _SHOWN.fullmatch(str(column)) if isinstance(column, Column) else None
    if match is None:
        expected = 'column names, or Columns such as sf.desc("at")'
        hint = "make an expression a column of its own first"
        raise InvalidParameterError(owner, parameter, expected, column, hint=hint)
    order = match["order"] or " ASC NULLS FIRST"
    return match["name"].strip("`"), "DESC" in order, "FIRST" in order


def is_at_or_after(order: Sequence[OrderColumn], cut: Sequence[Any]) -> Column:
    """Return whether a row comes at ``cut``, a value per column, or after it."""
    first, *others = order
    after, same = first.is_after(cut[0]), first.is_same(cut[0])
    if not others:
        return after | same
    return after | (same & is_at_or_after(others, cut[1:]))


def _text(value: Any) -> str:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).isoformat()
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:f}" if isinstance(value, decimal.Decimal) else str(value)
