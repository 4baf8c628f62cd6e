"""Kinds of questions to rows, with answers that can be no; every claim asks by one of them.

A number lies `Within` two limits, `Near` a published one, is `AtMost`, `Below`, `AtLeast` or
`Above` a limit; a curve `Falls` or `Rises`; quantities are `Ordered` or `Equal`; results are
`Exact`; `All` asks several together. Each kind says what it measured in one way. A check that is
one of a kind may be a function.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

from unskew_papers.quantities import Number, Quantity
from unskew_papers.rows import Row, Rows

_FEW = 5
"""So many figures are all named; of more it is said between which they lie."""
_MOST_NAMED = 8
_SHORT = {"workers": "W", "sources": "S", "provision": "size", "exponent": "z", "alpha": "α"}


@dataclass(frozen=True)
class Verdict:
    """What the rows say of a claim.

    Parameters
    ----------
    holds
        Whether the claim holds.
    measured
        The figures that decided it, as text to stand beside the paper's.
    overshoots
        Whether it does not hold only because there is more of it than published: a gain of 250 %
        where the paper has 93 % is no reproduction of the 93 %, though the scheme did gain.
    """

    holds: bool
    measured: str
    overshoots: bool = False

    def __post_init__(self) -> None:
        if self.holds and self.overshoots:
            raise ValueError("a claim that overshoots does not hold")


Check = Callable[[Rows], Verdict]
Quantities = Quantity | Mapping[str, Quantity]
HOLDS, OVERSHOOTS, FAILS = "holds", "overshoots", "fails"
Asked = Mapping[str, tuple[Quantity, Callable[[Number, Rows], str]]]
"""Quantities by name, and whether a number of theirs `HOLDS`, `OVERSHOOTS` or `FAILS`."""


@dataclass(frozen=True, kw_only=True)
class _Asking:
    """What most kinds have: of which rows they ask, and how they write a number.

    Parameters
    ----------
    each
        Columns; it is asked of every setting that they have by itself.
    where
        Only of rows with these values, or that meet these conditions.
    among
        Only of rows for which this is true.
    given
        Only of settings for which this check holds.
    form
        How a number is written.
    """

    each: Sequence[str] = ()
    where: Mapping[str, Any] = field(default_factory=dict)
    among: Callable[[Row], bool] | None = None
    given: Check | None = None
    form: str = "{:.2f}"

    def settings(self, rows: Rows) -> list[tuple[str, Rows]]:
        """Return name and rows of each setting that is asked of."""
        here = rows.where(**self.where)
        if self.among is not None:
            here = Rows(row for row in here if self.among(row))
        return [
            (_name_of(setting), of_setting)
            for setting, of_setting in (here.each(*self.each) if here else ())
            if self.given is None or self.given(of_setting).holds
        ]

    def written(self, *numbers: Number | None) -> str:
        """Write a number, or the ends of a range with what stands around them once."""
        before, brace, rest = self.form.partition("{")
        number, _, after = rest.partition("}")
        bare = f"{brace}{number}}}"
        texts = ["none" if each is None else bare.format(each) for each in numbers]
        return f"{before}{' … '.join(texts)}{after}"


def _name_of(setting: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{_SHORT.get(name, name)} = {value:,}" if isinstance(value, int | float) else str(value)
        for name, value in setting.items()
    )


def _tally(asked: int, wrong: Sequence[str], found: str) -> str:
    """Say what was found in many settings, and in which of them it is not as it should be.

    >>> _tally(9, ["W = 5: 2.1"], "0.3 … 2.1")
    '0.3 … 2.1, right in 8 of 9 settings; not W = 5: 2.1'
    """
    if not wrong:
        return f"{found} over {asked} settings"
    named = ", ".join(wrong[:_MOST_NAMED])
    others = len(wrong) - _MOST_NAMED
    more = f" and {others} more" if others > 0 else ""
    return f"{found}, right in {asked - len(wrong)} of {asked} settings; not {named}{more}"


@dataclass(frozen=True, kw_only=True)
class _Limits(_Asking, ABC):
    """A number, or several by name, that has to keep limits in every setting."""

    @property
    @abstractmethod
    def asked(self) -> Asked:
        """What is asked of each setting."""

    def excess(self, number: Number) -> float:
        """Return what grows the further a number is off."""
        return float(number)

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows; a check that finds nothing to ask does not hold."""
        settings = self.settings(rows)
        texts, marks = [], set() if settings else {FAILS}
        for name, (quantity, mark_of) in self.asked.items():
            found = []
            for where, here in settings:
                number = quantity.of(here)
                found.append((where, number, FAILS if number is None else mark_of(number, here)))
            marks |= {mark for *_, mark in found}
            texts.append(f"{name} {self._measured(found)}".strip())
        measured = (", " if len(settings) == 1 else "; ").join(texts)
        return Verdict(marks == {HOLDS}, measured, OVERSHOOTS in marks and FAILS not in marks)

    def _measured(self, found: Sequence[tuple[str, Number | None, str]]) -> str:
        if len(found) <= _FEW:
            return ", ".join(self._named(*each) for each in found) or "nothing to ask"
        numbers = [number for _, number, _ in found if number is not None]
        wrong = sorted(
            (each for each in found if each[2] != HOLDS),
            key=lambda each: inf if each[1] is None else self.excess(each[1]),
            reverse=True,
        )
        ends = self.written(min(numbers), max(numbers)) if numbers else "none"
        return _tally(len(found), [self._named(*each) for each in wrong], ends)

    def _named(self, where: str, number: Number | None, _: str) -> str:
        return f"{where}: {self.written(number)}" if where else self.written(number)


def _by_name(value: Quantities) -> Mapping[str, Quantity]:
    return {"": value} if isinstance(value, Quantity) else value


@dataclass(frozen=True, kw_only=True)
class _Band(_Limits):
    """A number between two limits.

    Parameters
    ----------
    error
        The standard error of the number; it may be off twice as far besides.
    beyond
        The side, ``above`` or ``below``, on which a number outside is an overshoot.
    """

    error: Quantity | None = None
    beyond: str | None = None

    def mark(self, number: Number, rows: Rows, low: float, high: float) -> str:
        """Return whether a number lies between the limits, beyond them, or wrong."""
        error = self.error.of(rows) if self.error else 0.0
        if error is None:
            return FAILS
        if low - 2 * error <= number <= high + 2 * error:
            return HOLDS
        return OVERSHOOTS if self.beyond == ("above" if number > high else "below") else FAILS


@dataclass(frozen=True)
class Within(_Band):
    """A number lies between two limits, which it may reach.

    >>> from unskew_papers.quantities import cell
    >>> rows = Rows([{"k": 2, "λ": 0.5}, {"k": 5, "λ": 3.0}])
    >>> Within(0, 1, cell("λ"), each=["k"])(rows)
    Verdict(holds=False, measured='k = 2: 0.50, k = 5: 3.00', overshoots=False)
    """

    low: float
    high: float
    value: Quantities

    @property
    def asked(self) -> Asked:
        """Ask for both limits."""

        def mark_of(number: Number, rows: Rows) -> str:
            return self.mark(number, rows, self.low, self.high)

        return {name: (quantity, mark_of) for name, quantity in _by_name(self.value).items()}

    def excess(self, number: Number) -> float:
        """Return how far it is from the middle."""
        return abs(number - (self.low + self.high) / 2)


@dataclass(frozen=True)
class Near(_Band):
    """A number lies near the published one, or each of several near its own.

    Parameters
    ----------
    published
        The paper's number, or numbers by name.
    value
        What is read off the rows, or several by the same names.
    share
        How far it may be off, as a share of the published number.
    off
        How far it may be off besides.

    Examples
    --------
    >>> from unskew_papers.quantities import cell
    >>> Near(10, cell("λ"), share=0.2)(Rows([{"λ": 11.5}])).holds
    True
    >>> Near(10, cell("λ"), share=0.2, beyond="above")(Rows([{"λ": 31.5}]))
    Verdict(holds=False, measured='31.50', overshoots=True)
    """

    published: float | Mapping[str, float]
    value: Quantities
    share: float = field(default=0.0, kw_only=True)
    off: float = field(default=0.0, kw_only=True)

    @property
    def asked(self) -> Asked:
        """Ask for a band on both sides of each published number."""
        by_name = self.published if isinstance(self.published, Mapping) else {"": self.published}
        quantities = _by_name(self.value)
        return {name: (quantities[name], self._marking(each)) for name, each in by_name.items()}

    def _marking(self, published: float) -> Callable[[Number, Rows], str]:
        band = self.share * abs(published) + self.off

        def mark_of(number: Number, rows: Rows) -> str:
            return self.mark(number, rows, published - band, published + band)

        return mark_of


@dataclass(frozen=True)
class _OneSided(_Limits):
    """A number on one side of a limit, which may be a quantity itself."""

    limit: float | Quantity
    value: Quantities

    keeps_limit: ClassVar[Callable[[Any, Any], bool]]

    @property
    def asked(self) -> Asked:
        """Ask for the limit."""
        limit = self.limit

        def mark_of(number: Number, rows: Rows) -> str:
            bound = limit.of(rows) if isinstance(limit, Quantity) else limit
            keeps = bound is not None and type(self).keeps_limit(number, bound)
            return HOLDS if keeps else FAILS

        return {name: (quantity, mark_of) for name, quantity in _by_name(self.value).items()}


class AtMost(_OneSided):
    """A number is no larger than a limit."""

    keeps_limit = operator.le


class Below(_OneSided):
    """A number is smaller than a limit."""

    keeps_limit = operator.lt


class AtLeast(_OneSided):
    """A number is no smaller than a limit."""

    keeps_limit = operator.ge

    def excess(self, number: Number) -> float:
        """Return what grows the smaller a number is."""
        return -float(number)


class Above(AtLeast):
    """A number is larger than a limit."""

    keeps_limit = operator.gt


@dataclass(frozen=True, kw_only=True)
class _Series(_Asking, ABC):
    """Several numbers one after the other, in every setting; neighbours are compared."""

    @abstractmethod
    def numbers(self, rows: Rows) -> Sequence[tuple[str, Number | None]]:
        """Return name and value of each, for one setting."""

    @abstractmethod
    def in_order(self, earlier: Number, later: Number) -> bool:
        """Say whether two neighbours are as they should be."""

    @abstractmethod
    def sign(self, earlier: Number | None, later: Number | None) -> str:
        """Return what stands between two neighbours."""

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows; a check that finds nothing to ask does not hold."""
        found = []
        for where, here in self.settings(rows):
            numbers = self.numbers(here)
            good = bool(numbers) and all(
                one is not None and other is not None and self.in_order(one, other)
                for (_, one), (_, other) in pairwise(numbers)
            )
            found.append((f"{where}: " if where else "", numbers, good))
        return Verdict(bool(found) and all(good for *_, good in found), self._measured(found))

    def _measured(self, found: Sequence[tuple[str, Sequence[Any], bool]]) -> str:
        if len(found) <= _FEW:
            return (
                "; ".join(f"{each[0]}{self._chain(each[1])}" for each in found) or "nothing to ask"
            )
        wrong = [f"{where}{self._chain(numbers)}" for where, numbers, good in found if not good]
        return _tally(len(found), wrong, "in this order")

    def _chain(self, numbers: Sequence[tuple[str, Number | None]]) -> str:
        texts = list(self._links(numbers))
        if len(texts) > _MOST_NAMED:
            texts = [*texts[:3], "…", *texts[-3:]]
        return " ".join(texts)

    def _links(self, numbers: Sequence[tuple[str, Number | None]]) -> Iterator[str]:
        before: Number | None = None
        for place, (name, number) in enumerate(numbers):
            text = f"{name} {self.written(number)}".strip()
            yield text if place == 0 else f"{self.sign(before, number)} {text}"
            before = number


@dataclass(frozen=True)
class Ordered(_Series):
    """Quantities stand in falling order.

    Parameters
    ----------
    values
        The quantities by name, the largest first.
    or_equal
        Whether neighbours may be equal.
    slack
        How many times its forerunner a number may be and still count as no larger.
    negligible
        Up to which size a number counts as no larger than any other.

    Examples
    --------
    >>> from unskew_papers.quantities import cell
    >>> rows = Rows([{"hashed": 2, "split": 9}])
    >>> Ordered({"hashed": cell("hashed"), "split": cell("split")}, form="{:g}")(rows)
    Verdict(holds=False, measured='hashed 2 < split 9', overshoots=False)
    """

    values: Mapping[str, Quantity]
    or_equal: bool = field(default=False, kw_only=True)
    slack: float = field(default=1.0, kw_only=True)
    negligible: float = field(default=-inf, kw_only=True)

    def numbers(self, rows: Rows) -> Sequence[tuple[str, Number | None]]:
        """Read the quantities."""
        return [(name, each.of(rows)) for name, each in self.values.items()]

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for no larger a number, as far as it counts."""
        limit = self.slack * earlier
        return later <= self.negligible or later < limit or (self.or_equal and later == limit)

    def sign(self, earlier: Number | None, later: Number | None) -> str:
        """Say which is larger."""
        if earlier is None or later is None:
            return "and"
        return ">" if earlier > later else "<" if earlier < later else "="


@dataclass(frozen=True)
class Equal(Ordered):
    """Quantities have the same value."""

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for the same."""
        return earlier == later


@dataclass(frozen=True)
class Falls(_Series):
    """A curve never rises; with ``strictly`` it falls with every step.

    >>> rows = Rows([{"k": 1, "σ": 9.0}, {"k": 2, "σ": 4.0}])
    >>> Falls("σ", "k", form="{:g}")(rows).measured
    '9 → 4'
    """

    column: str
    along: str
    strictly: bool = field(default=False, kw_only=True)

    def numbers(self, rows: Rows) -> Sequence[tuple[str, Number | None]]:
        """Read the curve."""
        return [("", number) for number in rows.curve(self.along, self.column)[1]]

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for less, or for no more."""
        return later < earlier or (not self.strictly and later == earlier)

    def sign(self, earlier: Number | None, later: Number | None) -> str:  # noqa: ARG002
        """Lead on."""
        return "→"


@dataclass(frozen=True)
class Rises(Falls):
    """A curve never falls; with ``strictly`` it rises with every step."""

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for more, or for no less."""
        return super().in_order(later, earlier)


@dataclass(frozen=True)
class Exact:
    """Every result was the one that it should be; ``what`` names what was counted.

    >>> Exact("jobs")(Rows([{"exact": True}, {"exact": False}]))
    Verdict(holds=False, measured='1 of 2 jobs', overshoots=False)
    """

    what: str = "jobs"
    where: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows."""
        found = [row["exact"] for row in rows.where(**self.where) if row.get("exact") is not None]
        return Verdict(bool(found) and all(found), f"{sum(found)} of {len(found)} {self.what}")


@dataclass(frozen=True, init=False)
class All:
    """Several checks hold together."""

    checks: tuple[Check, ...]

    def __init__(self, *checks: Check) -> None:
        object.__setattr__(self, "checks", checks)

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows for each."""
        found = [check(rows) for check in self.checks]
        overshoots = any(each.overshoots for each in found)
        return Verdict(
            all(each.holds for each in found),
            "; ".join(each.measured for each in found),
            overshoots and all(each.holds or each.overshoots for each in found),
        )
