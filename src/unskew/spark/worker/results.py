"""Turn what a user's function returned into the columns that were promised, or say what is wrong.

Imports nothing but PyArrow and the errors.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from unskew.errors import UnskewError


def column_arrays(
    rows: Sequence[Sequence[Any]], fields: Sequence[pa.Field], owner: str, what: str
) -> list[pa.Array]:
    """Return one array per field, or raise and name the field that does not fit.

    >>> fields = [pa.field("n", pa.int64()), pa.field("word", pa.string())]
    >>> [column.to_pylist() for column in column_arrays([(1, "a"), (2, None)], fields, "Mine", "")]
    [[1, 2], ['a', None]]
    >>> column_arrays([("one", "a")], fields, "Mine", "the state")
    Traceback (most recent call last):
    unskew.errors.UnskewError: Mine: the state does not fit its schema: n must be int64, got 'one'.
    """
    for row in rows:
        if not isinstance(row, tuple | list) or len(row) != len(fields):
            names = ", ".join(field.name for field in fields)
            raise UnskewError(f"{owner}: {what} must be a tuple of ({names}), got {row!r}.")
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    return [
        _column_array(list(values), field, owner, what)
        for values, field in zip(columns, fields, strict=True)
    ]


def _column_array(values: list[Any], field: pa.Field, owner: str, what: str) -> pa.Array:
    try:
        column = pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        bad = next((value for value in values if not _fits(value, field.type)), None)
        raise UnskewError(
            f"{owner}: {what} does not fit its schema: {field.name} must be {field.type}, "
            f"got {bad!r}."
        ) from error
    if column.null_count and not field.nullable:
        raise UnskewError(
            f"{owner}: {what} does not fit its schema: {field.name} must not be null, got None."
        )
    return column


def _fits(value: object, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def as_promised(result: object, schema: pa.Schema, owner: str) -> pa.Table:
    """Return ``result`` with its columns in the order of ``schema``, or raise and name both.

    >>> promised = pa.schema([("k", pa.string()), ("n", pa.int64())])
    >>> as_promised(pa.table({"n": [1], "k": ["a"]}), promised, "mine").column_names
    ['k', 'n']
    >>> as_promised(pa.table({"n": [1.5], "key": ["a"]}), promised, "mine")
    Traceback (most recent call last):
    unskew.errors.UnskewError: mine: the result must have the columns k string, n int64;
    got n double, key string.
    """
    if isinstance(result, pa.RecordBatch):
        result = pa.Table.from_batches([result])
    if not isinstance(result, pa.Table):
        raise UnskewError(f"{owner}: the result must be a pyarrow.Table, got {result!r}.")
    if not result.num_columns and not result.num_rows:
        return schema.empty_table()
    if sorted(result.column_names) == sorted(schema.names):
        ordered = result.select(schema.names)
        pairs = zip(ordered.schema.types, schema.types, strict=True)
        if all(_same_kind(got, expected) for got, expected in pairs):
            return ordered if ordered.schema.equals(schema) else _cast(ordered, schema, owner)
    raise UnskewError(
        f"{owner}: the result must have the columns {_words(schema)}; got {_words(result.schema)}."
    )


def in_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return ``batch`` with the names, types and nullability of ``schema``, column by column.

    >>> schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    >>> in_schema(pa.record_batch({"x": pa.array([1], pa.int32())}), schema).schema.equals(schema)
    True
    """
    pairs = zip(batch.columns, schema.types, strict=True)
    columns = [column if column.type.equals(kind) else column.cast(kind) for column, kind in pairs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(table: pa.Table, schema: pa.Schema, owner: str) -> pa.Table:
    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        raise UnskewError(f"{owner}: the result does not fit its schema: {error}.") from error


def _words(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema) or "none"


def _same_kind(got: pa.DataType, expected: pa.DataType) -> bool:
    """Whether both are one type of Spark's: offsets, zone and nullability do not matter."""
    if got.equals(expected):
        return True
    if pa.types.is_list(got) and pa.types.is_list(expected):
        return _same_kind(got.value_type, expected.value_type)
    if pa.types.is_struct(got) and pa.types.is_struct(expected):
        same_names = [field.name for field in got] == [field.name for field in expected]
        pairs = zip(got, expected, strict=False)
        return same_names and all(_same_kind(one.type, other.type) for one, other in pairs)
    if pa.types.is_timestamp(got) and pa.types.is_timestamp(expected):
        return bool(got.unit == expected.unit and (got.tz is None) == (expected.tz is None))
    pair = {str(got).removeprefix("large_"), str(expected).removeprefix("large_")}
    return pair in ({"string"}, {"binary"})
