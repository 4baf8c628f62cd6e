"""The identity of a row's key: 64 bits, made in the JVM, that all routing works on."""

from collections.abc import Sequence

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from unskew.errors import InvalidParameterError

By = str | Sequence[str]
"""One key column, or several that make up the key together."""

_PLAIN_TEXT = "UTF8_BINARY"
_NOT_HASHABLE = ("GeometryType", "GeographyType", "CalendarIntervalType")


def check_by(df: DataFrame, by: By) -> list[str]:
    """Return the names of the key columns as ``df`` spells them, or raise if one cannot be a key.

    Keys can be of every type that Spark groups by and hashes: not maps and variants (also inside
    arrays and structs), and no text with a collation, where unequal bytes may be equal keys.

    Raises
    ------
    InvalidParameterError
        Where ``by`` is empty or names a column that is not there, is there twice, or has a type
        that cannot be a key.
    """
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidParameterError("keys", "by", "a column name or a list of them", by)
    if not names:
        raise InvalidParameterError("keys", "by", "at least one column name", by)
    fields = [_find(df, name) for name in names]
    found = [field.name for field in fields]
    if len(set(found)) < len(found):
        raise InvalidParameterError("keys", "by", "distinct column names", list(names))
    for field in fields:
        _refuse_type(field.name, field.dataType)
    return found


def identity(df: DataFrame, by: By) -> Column:
    """Return the identity (bigint) of each row's key; keys that ``groupBy`` joins have one.

    Null is a key like any other, −0.0 is 0.0, and all NaN are one key, as for ``groupBy``. Keys
    that differ may share an identity (with a chance of 2⁻⁶⁴ a pair): they share a place, no more.

    Raises
    ------
    InvalidParameterError
        See `check_by`.
    """
    names = check_by(df, by)
    columns = [sf.col(quoted(name)) for name in names]
    if len(names) == 1:
        return sf.xxhash64(*columns)
    # A null leaves the hash as it is: without these, (null, 1) and (1, null) would be one key.
    nullable = {field.name for field in df.schema.fields if field.nullable}
    nulls = [
        column.isNull() for column, name in zip(columns, names, strict=True) if name in nullable
    ]
    return sf.xxhash64(*columns, *nulls)


def quoted(name: str) -> str:
    """Return a column name in back quotes, so that dots in it stay part of the name.

    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"


def _find(df: DataFrame, name: str) -> StructField:
    fields = df.schema.fields
    same = [field for field in fields if field.name == name]
    if not same and not _is_case_sensitive(df):
        same = [field for field in fields if field.name.lower() == name.lower()]
    if len(same) == 1:
        return same[0]
    present = ", ".join(repr(field.name) for field in fields)
    if same:
        raise InvalidParameterError(
            "keys", "by", "names of single columns", name, hint=f"it is there twice in: {present}"
        )
    hint = "select a field of a struct into a column of its own first" if "." in name else None
    raise InvalidParameterError("keys", "by", f"among the columns {present}", name, hint=hint)


def _is_case_sensitive(df: DataFrame) -> bool:
    return df.sparkSession.conf.get("spark.sql.caseSensitive") == "true"


def _refuse_type(name: str, kind: DataType) -> None:
    if isinstance(kind, MapType | VariantType) or type(kind).__name__ in _NOT_HASHABLE:
        expected = "columns of a type that can be ordered and hashed"
        raise InvalidParameterError("keys", "by", expected, f"{name}: {kind.simpleString()}")
    if isinstance(kind, StringType) and getattr(kind, "collation", _PLAIN_TEXT) != _PLAIN_TEXT:
        raise InvalidParameterError(
            "keys",
            "by",
            f"text that is compared by its bytes ({_PLAIN_TEXT})",
            f"{name}: {kind.simpleString()}",
            hint="make a column of it that is equal where the keys are, such as lower(key) COLLATE "
            f"{_PLAIN_TEXT}, and group by that",
        )
    if isinstance(kind, ArrayType):
        _refuse_type(f"{name}[]", kind.elementType)
    if isinstance(kind, StructType):
        for field in kind.fields:
            _refuse_type(f"{name}.{field.name}", field.dataType)
