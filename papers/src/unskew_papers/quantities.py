"""Numbers that are read off rows: a cell, the largest of some, the ratio of two, a slope.

A quantity says what is asked without having the rows yet, so that claims can be declared as data:

>>> ratio = cell("time", scheme="key") / cell("time", scheme="wrap") - 1
>>> ratio.of(Rows([{"scheme": "key", "time": 3.0}, {"scheme": "wrap", "time": 2.0}]))
0.5
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median as _median
from typing import Any

import numpy as np

from unskew_papers.rows import Rows

Number = float | int


class Quantity(ABC):
    """A number that rows have; None where there is nothing to read it off."""

    @abstractmethod
    def of(self, rows: Rows) -> Number | None:
        """Return the number that these rows have."""

    def __add__(self, other: "Quantity | Number") -> "Quantity":
        return _Combined(operator.add, self, _quantity(other))

    def __sub__(self, other: "Quantity | Number") -> "Quantity":
        return _Combined(operator.sub, self, _quantity(other))

    def __rsub__(self, other: Number) -> "Quantity":
        return _Combined(operator.sub, _quantity(other), self)

    def __mul__(self, other: "Quantity | Number") -> "Quantity":
        return _Combined(operator.mul, self, _quantity(other))

    __rmul__ = __mul__

    def __truediv__(self, other: "Quantity | Number") -> "Quantity":
        return _Combined(operator.truediv, self, _quantity(other))

    def __rtruediv__(self, other: Number) -> "Quantity":
        return _Combined(operator.truediv, _quantity(other), self)

    def __abs__(self) -> "Quantity":
        return _Combined(lambda value, _: abs(value), self, _Constant(0))


@dataclass(frozen=True)
class _Constant(Quantity):
    number: Number

    def of(self, rows: Rows) -> Number:  # noqa: ARG002 (the same whatever the rows)
        return self.number


@dataclass(frozen=True)
class _Combined(Quantity):
    combine: Callable[[Any, Any], Number]
    left: Quantity
    right: Quantity

    def of(self, rows: Rows) -> Number | None:
        left, right = self.left.of(rows), self.right.of(rows)
        if left is None or right is None or (self.combine is operator.truediv and right == 0):
            return None
        return self.combine(left, right)


@dataclass(frozen=True)
class _Cell(Quantity):
    column: str
    where: Mapping[str, Any]

    def of(self, rows: Rows) -> Number:
        number: Number = rows.value(self.column, **self.where)
        return number


@dataclass(frozen=True)
class _Reduced(Quantity):
    """One number of many: those of rows, or of settings of which each has a number."""

    reduce: Callable[[Sequence[Any]], Number]
    what: "str | Quantity"
    each: Sequence[str]
    where: Mapping[str, Any]

    def of(self, rows: Rows) -> Number | None:
        here = rows.where(**self.where)
        if isinstance(self.what, str):
            found = here.values(self.what)
        else:
            found = [self.what.of(setting) for _, setting in here.each(*self.each)]
        numbers = [number for number in found if number is not None]
        return self.reduce(numbers) if numbers else None


@dataclass(frozen=True)
class _Where(Quantity):
    """The x at which y is best; of several such the last or the first."""

    best: Callable[..., Any]
    x: str
    y: "str | Quantity"
    where: Mapping[str, Any]

    def of(self, rows: Rows) -> Number | None:
        read = cell(self.y) if isinstance(self.y, str) else self.y
        pairs = [(read.of(Rows([row])), row[self.x]) for row in rows.where(**self.where)]
        number: Number | None = self.best(pairs)[1] if pairs else None
        return number


@dataclass(frozen=True)
class _Line(Quantity):
    """A coefficient of the straight line through the points of a curve."""

    coefficient: int
    x: str
    y: str
    where: Mapping[str, Any]

    def of(self, rows: Rows) -> Number:
        return float(np.polyfit(*rows.curve(self.x, self.y, **self.where), 1)[self.coefficient])


@dataclass(frozen=True)
class Computed(Quantity):
    """What a function makes of rows, for what no other quantity says."""

    function: Callable[..., Number | None]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def of(self, rows: Rows) -> Number | None:
        """Return what the function makes of them."""
        return self.function(rows, **self.arguments)


def cell(column: str, **where: Any) -> Quantity:
    """Read a field of the only row that matches."""
    return _Cell(column, where)


def first(column: str, **where: Any) -> Quantity:
    """Read a field of the first row that matches."""
    return _Reduced(lambda found: found[0], column, (), where)


def largest(what: str | Quantity, each: Sequence[str] = (), **where: Any) -> Quantity:
    """Read the largest of a field, or of a quantity over settings."""
    return _Reduced(max, what, each, where)


def smallest(what: str | Quantity, each: Sequence[str] = (), **where: Any) -> Quantity:
    """Read the smallest of a field, or of a quantity over settings.

    >>> rows = Rows([{"k": 1, "λ": 3.0}, {"k": 2, "λ": 1.0}])
    >>> smallest("λ").of(rows), smallest(cell("λ") * cell("k"), ["k"]).of(rows)
    (1.0, 2.0)
    """
    return _Reduced(min, what, each, where)


def mean(what: str | Quantity, each: Sequence[str] = (), **where: Any) -> Quantity:
    """Read the mean of a field, or of a quantity over settings."""
    return _Reduced(lambda found: float(np.mean(found)), what, each, where)


def median(what: str | Quantity, each: Sequence[str] = (), **where: Any) -> Quantity:
    """Read the median of a field, or of a quantity over settings."""
    return _Reduced(lambda found: float(_median(found)), what, each, where)


def count(**where: Any) -> Quantity:
    """Count the rows that match."""
    return Computed(lambda rows: len(rows.where(**where)))


def spread(column: str, **where: Any) -> Quantity:
    """Read how far the largest of a field is above the smallest."""
    return largest(column, **where) - smallest(column, **where)


def where_largest(x: str, y: str | Quantity, **where: Any) -> Quantity:
    """Read the x of the row that has the largest y.

    >>> where_largest("k", "λ").of(Rows([{"k": 2, "λ": 3.0}, {"k": 5, "λ": 9.0}]))
    5
    """
    return _Where(max, x, y, where)


def where_smallest(x: str, y: str | Quantity, **where: Any) -> Quantity:
    """Read the x of the row that has the smallest y."""
    return _Where(min, x, y, where)


def slope(x: str, y: str, **where: Any) -> Quantity:
    """Read a of the line a·x + b through the points."""
    return _Line(0, x, y, where)


def level(x: str, y: str, **where: Any) -> Quantity:
    """Read b of the line a·x + b through the points."""
    return _Line(1, x, y, where)


def _quantity(value: Quantity | Number) -> Quantity:
    return value if isinstance(value, Quantity) else _Constant(value)
