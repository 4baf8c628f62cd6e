"""The rows of an experiment, with the few questions that figures and claims ask of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from unskew.errors import UnskewError

Row = Mapping[str, Any]


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
        """Return the rows whose fields have these values."""
        return Rows(
            row
            for row in self._rows
            if all(name in row and row[name] == value for name, value in wanted.items())
        )

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
        return list(dict.fromkeys(self.values(column, **wanted)))

    def curve(self, x: str, y: str, **wanted: Any) -> tuple[list[Any], list[Any]]:
        """Return two fields of the rows that match, by rising x; rows without a y are left out."""
        pairs = [(row[x], row[y]) for row in self.where(**wanted) if row.get(y) is not None]
        pairs.sort(key=lambda pair: pair[0])
        return [first for first, _ in pairs], [second for _, second in pairs]
