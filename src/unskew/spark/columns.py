"""Key columns, their 64-bit identity, and names and forms of columns that queries of ours need."""

import re
from collections.abc import Iterable, Sequence

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from unskew.errors import InvalidParameterError

By = str | Sequence[str]
"""One key column, or several that make up the key together."""

_PLAIN_TEXT = "UTF8_BINARY"
# By name: not all versions of Spark have them.
_NOT_HASHABLE = ("VariantType", "GeometryType", "GeographyType", "CalendarIntervalType")


def check_by(
    df: DataFrame,
    by: By,
    *,
    owner: str = "balance",
    parameter: str = "by",
    nested: bool = False,
) -> list[str]:
    """Return the names of the key columns as ``df`` spells them, or raise if one cannot be a key.

    A name may stand between back quotes, as in Spark. With ``nested`` it may also be that of a
    field of a struct, ``s.z``, where no column is called so; see `key_columns`.

    Keys can be of every type that Spark groups by and hashes: not maps and variants (also inside
    arrays and structs), and no text with a collation, where unequal bytes may be equal keys.

    Raises
    ------
    InvalidParameterError
        In the name of ``owner`` and its ``parameter``, where ``by`` is empty or names a column that
        is not there, is there twice, or has a type that cannot be a key.
    """
    try:
        return [field.name for field in _checked(df, by, nested=nested)]
    except _BadKeyError as error:
        expected, got, hint = error.args
        raise InvalidParameterError(owner, parameter, expected, got, hint=hint) from None


class _BadKeyError(Exception):
    """The parts of an `InvalidParameterError`: what was expected, what came, a hint."""

    def __init__(self, expected: str, got: object, hint: str | None = None) -> None:
        super().__init__(expected, got, hint)


def _checked(df: DataFrame, by: By, *, nested: bool = False) -> list[StructField]:
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise _BadKeyError("a column name or a list of them", by)
    if not names:
        raise _BadKeyError("at least one column name", by)
    fields = [_find(df, name, nested=nested) for name in names]
    if len({field.name for field in fields}) < len(fields):
        raise _BadKeyError("distinct column names", list(names))
    for field in fields:
        _refuse_type(field.name, field.dataType)
    return fields


def key_fields(df: DataFrame, by: By) -> list[StructField]:
    """Return names and types of the key columns, fields of structs among them, or raise."""
    names = check_by(df, by, nested=True)
    return [_find(df, name, nested=True) for name in names]


def key_columns(df: DataFrame, by: By) -> list[Column]:
    """Return the key columns, each under its own name; the field ``s.z`` is called ``s.z``."""
    return [_column(df, field.name).alias(field.name) for field in key_fields(df, by)]


def _column(df: DataFrame, name: str) -> Column:
    if name in df.columns:
        return sf.col(quoted(name))
    return sf.col(".".join(map(quoted, name.split("."))))


def identity(df: DataFrame, by: By) -> Column:
    """Return the identity (bigint) of each row's key; keys that ``groupBy`` joins have one.

    Null is a key like any other, −0.0 is 0.0, and all NaN are one key, as for ``groupBy``. Keys
    that differ may share an identity (with a chance of 2⁻⁶⁴ a pair): they share a place, no more.

    Raises
    ------
    InvalidParameterError
        See `check_by`.
    """
    fields = key_fields(df, by)
    columns = [_column(df, field.name) for field in fields]
    if len(columns) == 1:
        return sf.xxhash64(*columns)
    # A null leaves the hash as it is: without these, (null, 1) and (1, null) would be one key.
    nulls = [
        column.isNull() for column, field in zip(columns, fields, strict=True) if field.nullable
    ]
    return sf.xxhash64(*columns, *nulls)


def with_key_columns(
    df: DataFrame, by: Sequence[str | Column | Sequence[str | Column]], *, owner: str
) -> tuple[DataFrame, list[str]]:
    """Return ``df`` with a column for each key that is an expression, and the names of all keys.

    Keys are given as for ``groupBy``: names or Columns, one by one or as one list. A field of a
    struct is an expression, which ``groupBy("s.z")`` calls ``z``.
    """
    first = by[0] if len(by) == 1 else None
    several = isinstance(first, Sequence) and not isinstance(first, str)
    given = list(first) if several else list(by)  # type: ignore[arg-type] # mypy forgets several
    names: list[str] = []
    for key in given:
        if not isinstance(key, str | Column):
            expected = "column names or Columns"
            hint = "give workers by name: workers=8" if isinstance(key, int) else None
            raise InvalidParameterError(owner, "by", expected, key, hint=hint)
        if isinstance(key, str):
            if not _is_nested(df, key):
                names.append(key)
                continue
            key = sf.col(key)
        (name,) = df.select(key).columns
        if str(key) != f"Column<'{name}'>":  # more than the name of a column
            if name in df.columns:
                expected = "expressions with names that no column has"
                hint = 'give it one with .alias("…")'
                raise InvalidParameterError(owner, "by", expected, name, hint=hint)
            df = df.withColumn(name, key)
        names.append(name)
    return df, check_by(df, names, owner=owner)


def quoted(name: str) -> str:
    """Return a column name in back quotes, so that dots in it stay part of the name.

    >>> quoted("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"


def _is_nested(df: DataFrame, name: str) -> bool:
    """Return whether a name is that of a field of a struct, and not of a column."""
    try:
        return _find(df, name, nested=True).name not in df.columns
    except _BadKeyError:
        return False


def _find(df: DataFrame, name: str, *, nested: bool = False) -> StructField:
    fields = df.schema.fields
    same = [field for field in fields if field.name == name]
    if not same and not _is_case_sensitive(df):
        same = [field for field in fields if field.name.lower() == name.lower()]
    if not same and re.fullmatch(r"`(?:[^`]|``)+`", name):
        return _find(df, name[1:-1].replace("``", "`"))
    if not same and nested:
        same = _fields_within(df, name)
    if len(same) == 1:
        return same[0]
    present = ", ".join(repr(field.name) for field in fields)
    if same:
        raise _BadKeyError("names of single columns", name, f"it is there twice in: {present}")
    hint = "select a field of a struct into a column of its own first" if "." in name else None
    raise _BadKeyError(f"among the columns {present}", name, hint)


def _fields_within(df: DataFrame, path: str) -> list[StructField]:
    """Return the field of a struct of a struct … that ``path`` names, if there is just one."""
    schema, names, nullable = df.schema, list[str](), False
    exact = _is_case_sensitive(df)
    for part in path.split("."):
        same = [one for one in schema.fields if one.name == part]
        if not same and not exact:
            same = [one for one in schema.fields if one.name.lower() == part.lower()]
        if len(same) != 1:
            return []
        field = same[0]
        names.append(field.name)
        nullable |= field.nullable
        schema = field.dataType if isinstance(field.dataType, StructType) else StructType()
    return [StructField(".".join(names), field.dataType, nullable)] if len(names) > 1 else []


def _is_case_sensitive(df: DataFrame) -> bool:
    return df.sparkSession.conf.get("spark.sql.caseSensitive") == "true"


def _refuse_type(name: str, kind: DataType) -> None:
    if isinstance(kind, MapType) or type(kind).__name__ in _NOT_HASHABLE:
        expected = "columns of a type that can be ordered and hashed"
        hint = f"use array_sort(map_entries({name})), which is equal where the maps are"
        is_map = isinstance(kind, MapType)
        raise _BadKeyError(expected, f"{name}: {kind.simpleString()}", hint if is_map else None)
    if isinstance(kind, StringType) and getattr(kind, "collation", _PLAIN_TEXT) != _PLAIN_TEXT:
        raise _BadKeyError(
            f"text that is compared by its bytes ({_PLAIN_TEXT})",
            f"{name}: {kind.simpleString()}",
            "make a column of it that is equal where the keys are, such as lower(key) COLLATE "
            f"{_PLAIN_TEXT}, and group by that",
        )
    if isinstance(kind, ArrayType):
        _refuse_type(f"{name}[]", kind.elementType)
    if isinstance(kind, StructType):
        for field in kind.fields:
            _refuse_type(f"{name}.{field.name}", field.dataType)


def hashable_columns(df: DataFrame) -> list[str]:
    """Return the columns that are there once and of a type that Spark hashes."""
    found = []
    for name in df.columns:
        try:
            found += [field.name for field in _checked(df, [name])]
        except _BadKeyError:
            continue
    return found


def evaluated_late(df: DataFrame) -> DataFrame:
    """Keep rows that the driver holds from being routed before the plan's tables are read.

    Spark computes columns of local rows while it optimises, at first with tables that are still
    text, which is then parsed for every row. OFFSET 0 keeps Spark from evaluating local rows too
    early; the optimiser removes it later.
    """
    return df if df.isStreaming else df.offset(0)


def free_names(df: DataFrame, count: int, *others: DataFrame) -> list[str]:
    """Return names that no column of ``df``, or of ``others``, has."""
    taken = {name.lower() for one in (df, *others) for name in one.columns}
    free = (f"_unskew_{number}" for number in range(len(taken) + count))
    return [name for name in free if name not in taken][:count]


def unused_name(name: str, taken: Iterable[str]) -> str:
    """Return ``name``, longer if need be, so that it is none of ``taken``, whatever the case.

    >>> unused_name("state", ["user", "State"])
    'state_'
    """
    lower = {one.lower() for one in taken}
    while name in lower:
        name += "_"
    return name
