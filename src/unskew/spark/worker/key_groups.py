"""Find the rows of an Arrow table that have the same key, without Python per row.

Imports nothing but NumPy and PyArrow.
"""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.int64]
Column: TypeAlias = pa.Array | pa.ChunkedArray


def key_codes(columns: Iterable[Column]) -> Codes:
    """Return a number per row, equal exactly where all key columns are equal.

    Equal as in Spark's ``groupBy``: null equals null, NaN equals NaN, −0.0 equals 0.0.

    >>> table = pa.table({"a": [0.0, -0.0, None, None], "b": ["x", "x", "x", None]})
    >>> key_codes(table.columns).tolist()
    [0, 0, 1, 2]
    """
    combined: Codes | None = None
    for column in columns:
        codes, n_codes = _column_codes(column)
        if combined is None:
            combined = codes
        else:
            # Both factors count rows of one table, so that the product fits 64 bits.
            pairs = combined * n_codes + codes
            combined = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    if combined is None:
        raise ValueError("no key columns")
    return combined


def sorted_groups(codes: Codes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the order that brings equal codes together, and where each group starts in it.

    >>> order, starts = sorted_groups(np.array([7, 3, 7]))
    >>> order.tolist(), starts.tolist()
    ([1, 0, 2], [0, 1])
    """
    order = np.argsort(codes, kind="stable")
    return order, run_starts(codes[order])


def run_starts(codes: Codes) -> NDArray[np.intp]:
    """Return the places where a run of equal codes starts.

    >>> run_starts(np.array([3, 3, 7, 3])).tolist()
    [0, 2, 3]
    """
    if not codes.size:
        return np.empty(0, np.intp)
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1))


def key_tokens(columns: Iterable[Column]) -> list[tuple[Any, ...]]:
    """Return a hashable value per row, equal exactly where the keys are equal."""
    return list(zip(*(_plain_values(column) for column in columns), strict=True))


def normal_floats(array: pa.Array) -> pa.Array:
    """Return keys as ``groupBy`` gives them out: 0.0 for −0.0, one NaN for all, at any depth.

    >>> normal_floats(pa.array([-0.0, None])).to_pylist()
    [0.0, None]
    >>> normal_floats(pa.array([[-0.0], None])).to_pylist()
    [[0.0], None]
    """
    if _holds_floats(array.type):
        return pa.array(map(_without_minus, array.to_pylist()), array.type)
    if not pa.types.is_floating(array.type):
        return array
    array = pc.add(array, pa.scalar(0.0, array.type))
    return pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), array.type), array)


def _column_codes(column: Column) -> tuple[Codes, int]:
    if pa.types.is_nested(column.type):
        numbers: dict[Any, int] = {}
        values = [numbers.setdefault(token, len(numbers)) for token in _plain_values(column)]
        return np.array(values, np.int64), len(numbers)
    encoded = normal_floats(_one_array(column)).dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, len(encoded.dictionary)


def _one_array(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _plain_values(column: Column) -> list[Any]:
    kind = column.type
    if pa.types.is_temporal(kind):
        # Python's dates end with the year 9999, Spark's do not.
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return list(column.cast(width).to_pylist())
    values = column.to_pylist()
    if pa.types.is_floating(kind) or pa.types.is_nested(kind):
        return [_normal(value) for value in values]
    return list(values)


def _normal(value: object) -> object:
    """Return a hashable twin in which NaN equals NaN and −0.0 equals 0.0 at any depth."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    if isinstance(value, dict):
        return tuple(_normal(part) for part in value.values())
    if isinstance(value, list):
        return tuple(_normal(part) for part in value)
    return value


def _without_minus(value: object) -> object:
    if isinstance(value, float):
        return value + 0.0
    if isinstance(value, dict):
        return {name: _without_minus(part) for name, part in value.items()}
    return [_without_minus(part) for part in value] if isinstance(value, list) else value


def _holds_floats(kind: pa.DataType) -> bool:
    """Whether there are floats inside of lists or structs of this type."""
    if not pa.types.is_nested(kind):
        return False
    parts = [kind.field(number).type for number in range(kind.num_fields)]
    return any(pa.types.is_floating(part) or _holds_floats(part) for part in parts)
