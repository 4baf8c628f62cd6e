"""The two sides of a join as they are joined: which columns are compared, in which types."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import DataType

from unskew.errors import InvalidParameterError
from unskew.spark.columns import check_by, free_names, quoted
from unskew.spark.joins.learning import Question, Side

On: TypeAlias = str | Sequence[str] | Sequence[tuple[str, str]]
"""A key column that both sides have, a list of them, or a list of pairs (left, right)."""

_HOW = {
    "inner": ("inner",),
    "left": ("left", "leftouter"),
    "right": ("right", "rightouter"),
    "full": ("full", "outer", "fullouter"),
    "semi": ("semi", "leftsemi"),
    "anti": ("anti", "leftanti"),
}
# Types whose values survive a cast to any wider type and back.
_WIDENED = ("tinyint", "smallint", "int", "float", "date")


class Sides(NamedTuple):
    """Both sides, with key columns of the same types, and how to join them."""

    left: Side
    right: Side
    by: tuple[list[str], list[str]]
    """The key columns as the user calls them."""
    types: tuple[str, ...]
    merged: bool
    """Whether a key is one column of the result, as with ``join(right, "key")``."""
    restored: dict[str, DataType]
    """Merged key columns that were cast, and the types that they have in the result."""
    helpers: list[str]

    def question(self, how: str) -> Question:
        """Return what is to be planned."""
        return Question(self.left, self.right, how, self.by, self.types)

    def joined(
        self,
        left: DataFrame,
        right: DataFrame,
        how: str,
        condition: Column | None = None,
        *more: tuple[str, str],
    ) -> DataFrame:
        """Return the join of what became of both sides, by key and ``more`` pairs of columns.

        Parameters
        ----------
        left, right
            The rows of both sides, with the columns of ``self.left`` and ``self.right``.
        how
            The type of the join.
        condition
            What else has to hold; only where keys are not merged.
        more
            Further columns that have to be equal; merged where keys are.
        """
        if self.merged:
            joined = left.join(right, [*self.left.keys, *(name for name, _ in more)], how)
            for name, kind in self.restored.items():
                joined = joined.withColumn(name, sf.col(quoted(name)).cast(kind))
            return joined
        pairs = [*zip(self.left.keys, self.right.keys, strict=True), *more]
        matches = condition
        for one, other in reversed(pairs):
            equal = sf.col(quoted(one)) == sf.col(quoted(other))
            matches = equal if matches is None else equal & matches
        return left.join(right, matches, how).drop(*self.helpers)


def check_how(owner: str, how: object) -> str:
    """Return the type of a join in one word, or raise; all spellings of PySpark are understood."""
    spelled = how.lower().replace("_", "") if isinstance(how, str) else ""
    for name, spellings in _HOW.items():
        if spelled in spellings:
            return name
    hint = "a cross join has no keys: use left.crossJoin(right)" if spelled == "cross" else None
    raise InvalidParameterError(owner, "how", f"one of {', '.join(_HOW)}", how, hint=hint)


def check_sides(
    owner: str, left: DataFrame, right: DataFrame, on: On, how: str, *, merged: bool
) -> Sides:
    """Return both sides, with keys of the same types, or raise if they cannot be joined so.

    Parameters
    ----------
    owner
        Who is named in errors.
    left, right, on, how
        As for ``join``; ``how`` as `check_how` returns it.
    merged
        Whether names in ``on`` become single columns of the result.
    """
    for parameter, side in (("left", left), ("right", right)):
        if not (hasattr(side, "schema") and hasattr(side, "join")):
            raise InvalidParameterError(owner, parameter, "a DataFrame", side)
    pairs, named = _pairs(owner, on)
    names = check_by(left, [one for one, _ in pairs], owner=owner, parameter="on")
    others = check_by(right, [other for _, other in pairs], owner=owner, parameter="on")
    kinds = [
        _common_type(owner, left, right, one, other)
        for one, other in zip(names, others, strict=True)
    ]
    types = tuple(kind.simpleString() for kind in kinds)
    by = (names, others)
    if named and merged:
        return _merged(left, right, how, by, kinds, types)
    return _apart(left, right, by, kinds, types)


def _pairs(owner: str, on: On) -> tuple[list[tuple[str, str]], bool]:
    """Return pairs of names, and whether they were given as single names."""
    given = [on] if isinstance(on, str) else on
    if isinstance(given, list) and given:
        if all(isinstance(one, str) for one in given):
            return [(str(one), str(one)) for one in given], True
        if all(
            isinstance(one, tuple) and len(one) == 2 and all(isinstance(name, str) for name in one)
            for one in given
        ):
            return [(one[0], one[1]) for one in given], False
    expected = 'a column name, a list of them, or a list of pairs [("left name", "right name")]'
    raise InvalidParameterError(owner, "on", expected, on)


def _common_type(owner: str, left: DataFrame, right: DataFrame, one: str, other: str) -> DataType:
    """Return the type in which Spark compares two columns, if both can be cast to it and back."""
    kinds = (_type_of(left, one), _type_of(right, other))
    texts = [kind.simpleString() for kind in kinds]
    if texts[0] == texts[1]:
        return kinds[0]
    nothing = left.sparkSession.range(0)
    nulls = [sf.lit(None).cast(kind) for kind in kinds]
    try:
        common = nothing.select(sf.coalesce(*nulls).alias("key")).schema["key"].dataType
    except Exception:  # of one class in a classic session, of another in a Connect one
        common = None
    if common is None or not all(_survives(text, common.simpleString()) for text in texts):
        got = f"{one}: {texts[0]}, {other}: {texts[1]}"
        hint = "cast one of them, so that both have one type"
        raise InvalidParameterError(
            owner, "on", "columns of types that compare without loss", got, hint=hint
        )
    return common


def _type_of(df: DataFrame, name: str) -> DataType:
    return next(field.dataType for field in df.schema.fields if field.name == name)


def _survives(kind: str, wider: str) -> bool:
    if kind == wider or kind in _WIDENED:
        return True
    exact = ("bigint", "decimal")
    return kind.startswith(exact) and wider.startswith(exact)


def _merged(
    left: DataFrame,
    right: DataFrame,
    how: str,
    by: tuple[list[str], list[str]],
    kinds: list[DataType],
    types: tuple[str, ...],
) -> Sides:
    """Cast keys of unlike types in place; the result's key is that of the side that it is from."""
    restored = {}
    for one, other, kind in zip(*by, kinds, strict=True):
        before = (_type_of(left, one), _type_of(right, other))
        for number, name in enumerate((one, other)):
            if before[number].simpleString() != kind.simpleString():
                cast = sf.col(quoted(name)).cast(kind)
                if number == 0:
                    left = left.withColumn(name, cast)
                else:
                    right = right.withColumn(name, cast)
                if how != "full" and number == (how == "right"):
                    restored[name] = before[number]
    return Sides(Side(left, by[0]), Side(right, by[1]), by, types, True, restored, [])


def _apart(
    left: DataFrame,
    right: DataFrame,
    by: tuple[list[str], list[str]],
    kinds: list[DataType],
    types: tuple[str, ...],
) -> Sides:
    """Give keys whose names are on both sides, or whose types differ, a column to compare by."""
    names = ({name.lower() for name in left.columns}, {name.lower() for name in right.columns})
    keys: tuple[list[str], list[str]] = ([], [])
    helpers: list[str] = []
    free = iter(free_names(left, 2 * len(kinds), right))
    for one, other, kind in zip(*by, kinds, strict=True):
        plain = (
            one.lower() not in names[1]
            and other.lower() not in names[0]
            and _type_of(left, one).simpleString() == _type_of(right, other).simpleString()
        )
        if plain:
            keys[0].append(one)
            keys[1].append(other)
            continue
        mine, its = next(free), next(free)
        left = left.withColumn(mine, sf.col(quoted(one)).cast(kind))
        right = right.withColumn(its, sf.col(quoted(other)).cast(kind))
        keys[0].append(mine)
        keys[1].append(its)
        helpers += [mine, its]
    return Sides(Side(left, keys[0]), Side(right, keys[1]), by, types, False, {}, helpers)
