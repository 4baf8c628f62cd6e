"""The rows of an experiment, and the few questions that figures and claims ask of them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from unskew.errors import UnskewError

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Condition:
    """What a field of a row has to be, where it is not one value; no value never meets it."""

    met_by: Callable[[Any], bool]

    def __call__(self, value: Any) -> bool:
        """Say whether a value meets it."""
        return value is not None and self.met_by(value)


def below(limit: float) -> Condition:
    """Ask for less."""
    return Condition(lambda value: value < limit)


def up_to(limit: float) -> Condition:
    """Ask for that much or less."""
    return Condition(lambda value: value <= limit)


def above(limit: float) -> Condition:
    """Ask for more."""
    return Condition(lambda value: value > limit)


def at_least(limit: float) -> Condition:
    """Ask for that much or more."""
    return Condition(lambda value: value >= limit)


def span(after: float, until: float) -> Condition:
    """Ask for more than the first and no more than the second."""
    return Condition(lambda value: after < value <= until)


def one_of(*values: Any) -> Condition:
    """Ask for one of several values."""
    return Condition(lambda value: value in values)


def other_than(*values: Any) -> Condition:
    """Ask for none of these values."""
    return Condition(lambda value: value not in values)


GIVEN = Condition(lambda _: True)
"""Any value at all."""


@dataclass(frozen=True)
class Pick:
    """Which of the values that a field has, in rows that match in all else."""

    of: Callable[[list[Any]], Collection[Any]]


FIRST = Pick(lambda values: values[:1])
SMALLEST = Pick(lambda values: [min(values)])
LARGEST = Pick(lambda values: [max(values)])
ALL_BUT_SMALLEST = Pick(lambda values: sorted(values)[1:])


class Rows(Sequence[Row]):
    """Rows with named fields: text, numbers, or None where there is no value.

    Parameters
    ----------
    rows
        The rows, in the order in which they were measured.

    Examples
    --------
    >>> rows = Rows([{"scheme": "key", "k": 1, "λ": 0.0}, {"scheme": "key", "k": 2, "λ": 60.0}])
    >>> rows.value("λ", scheme="key", k=2)
    60.0
    >>> rows.values("λ", k=above(1)), rows.values("λ", k=SMALLEST)
    ([60.0], [0.0])
    >>> rows.curve("k", "λ", scheme="key")
    ([1, 2], [0.0, 60.0])
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> "Rows": ...
    def __getitem__(self, index: int | slice) -> "Row | Rows":
        return Rows(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<{len(self)} rows of {', '.join(self.columns)}>"

    @property
    def columns(self) -> list[str]:
        """Names of all fields, in the order in which they first come."""
        return list(dict.fromkeys(name for row in self._rows for name in row))

    def where(self, **wanted: Any) -> "Rows":
        """Return the rows whose fields have these values, or meet these conditions."""
        plain = {name: value for name, value in wanted.items() if not isinstance(value, Pick)}
        found = [
            row
            for row in self._rows
            if all(name in row and _matches(row[name], value) for name, value in plain.items())
        ]
        for name in (name for name in wanted if name not in plain):
            there = dict.fromkeys(row[name] for row in found if row.get(name) is not None)
            picked = wanted[name].of(list(there)) if there else ()
            found = [row for row in found if row.get(name) in picked]
        return Rows(found)

    def values(self, column: str, **wanted: Any) -> list[Any]:
        """Return one field of the rows that match."""
        return [row[column] for row in self.where(**wanted)]

    def value(self, column: str, **wanted: Any) -> Any:
        """Return one field of the only row that matches, or raise."""
        found = self.values(column, **wanted)
        if len(found) != 1:
            raise UnskewError(f"rows: {len(found)} rows match {wanted}, expected 1.")
        return found[0]

    def distinct(self, column: str, **wanted: Any) -> list[Any]:
        """Return the values of a field, each once, in the order in which they first come."""
        return list(dict.fromkeys(row[column] for row in self.where(**wanted) if column in row))

    def curve(self, x: str, y: str, **wanted: Any) -> tuple[list[Any], list[Any]]:
        """Return two fields of the rows that match, by rising x; rows without a y are left out."""
        pairs = [(row[x], row[y]) for row in self.where(**wanted) if row.get(y) is not None]
        pairs.sort(key=lambda pair: pair[0])
        return [first for first, _ in pairs], [second for _, second in pairs]

    def each(self, *columns: str) -> Iterator[tuple[dict[str, Any], "Rows"]]:
        """Yield every setting, a value for each of the columns, with its rows.

        >>> rows = Rows([{"k": 1, "z": 0.5}, {"k": 2, "z": 0.5}, {"k": 1, "z": 1.0}])
        >>> [(setting, len(here)) for setting, here in rows.each("k")]
        [({'k': 1}, 2), ({'k': 2}, 1)]
        """
        if not columns:
            yield {}, self
            return
        first, *others = columns
        for value in self.distinct(first):
            for setting, here in self.where(**{first: value}).each(*others):
                yield {first: value, **setting}, here


def _matches(found: Any, wanted: Any) -> bool:
    return wanted(found) if isinstance(wanted, Condition) else bool(found == wanted)
