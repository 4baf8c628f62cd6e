"""Claims of the papers as questions to rows, with answers that can be no.

A claim asks by one of a few kinds of checks: a number lies `Within` two limits, `Near` a published
one, is `AtMost`, `Below`, `AtLeast` or `Above` a limit, a curve `Falls` or `Rises`, quantities are
`Ordered` or `Equal`, results are `Exact`. Each kind says what it measured in one way. A check that
is one of a kind may be a function.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """

    holds: bool
    measured: str


Check = Callable[[Rows], Verdict]


@dataclass(frozen=True)
class Reason:
    """Why claims do not hold; stated once, and named by every claim that it is the reason of.

    Parameters
    ----------
    text
        The reason.
    shown_by
        A test or a command that has shown it; empty where it is argued.

    Examples
    --------
    >>> (Reason("Few rows.") + Reason("Short waits.")).text
    'Few rows. Short waits.'
    """

    text: str
    shown_by: str = ""

    def __add__(self, other: "Reason") -> "Reason":
        shown = "; ".join(each.shown_by for each in (self, other) if each.shown_by)
        return Reason(f"{self.text} {other.text}", shown)


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper that rows can contradict.

    Parameters
    ----------
    name
        A short name, unique within the experiment.
    says
        What the paper says, in our own words.
    paper
        The paper's figure.
    check
        Asks the rows.
    reason
        Why it does not hold here; given for claims that are known not to hold at some size, and
        shown only where the rows contradict.

    Examples
    --------
    >>> from unskew_papers.quantities import cell
    >>> claim = Claim("even", "Shuffle is even.", "λ = 0", Below(0.1, cell("λ")))
    >>> claim.judge(Rows([{"λ": 5.0}]))["holds"]
    False
    """

    name: str
    says: str
    paper: str
    check: Check
    reason: Reason | None = None

    @property
    def explanation(self) -> str:
        """The reason as text; empty where there is none."""
        return self.reason.text if self.reason else ""

    def judge(self, rows: Rows) -> dict[str, Any]:
        """Return the claim and what the rows say of it, as plain fields."""
        verdict = self.check(rows)
        return {
            "name": self.name,
            "says": self.says,
            "paper": self.paper,
            "measured": verdict.measured,
            "holds": bool(verdict.holds),
            "explanation": "" if verdict.holds else self.explanation,
        }

    def because(self, reason: Reason | None) -> "Claim":
        """Return the claim with another reason, or none."""
        return replace(self, reason=reason)


@dataclass(frozen=True, kw_only=True)
class _Asking:
    """What all kinds have: of which rows they ask, and how they write a number.

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

    def settings(self, rows: Rows) -> Iterator[tuple[str, Rows]]:
        """Yield name and rows of each setting that is asked of."""
        here = rows.where(**self.where)
        if self.among is not None:
            here = Rows(row for row in here if self.among(row))
        if not here:
            return
        for setting, of_setting in here.each(*self.each):
            if self.given is None or self.given(of_setting).holds:
                yield _name_of(setting), of_setting

    def written(self, number: Number | None) -> str:
        """Write a number."""
        return "none" if number is None else self.form.format(number)


def _name_of(setting: Mapping[str, Any]) -> str:
    return ", ".join(
        value if isinstance(value, str) else f"{_SHORT.get(name, name)} = {value:,}"
        if isinstance(value, int | float) else f"{name} {value}"
        for name, value in setting.items()
    )  # fmt: skip


Asked = Mapping[str, tuple[Quantity, Callable[[Number, Rows], bool]]]


@dataclass(frozen=True, kw_only=True)
class _Limits(_Asking, ABC):
    """A number, or several by name, that has to keep limits in every setting."""

    @property
    @abstractmethod
    def asked(self) -> Asked:
        """Quantities by name, and whether a number of theirs is right for the rows it is of."""

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows; a check that finds nothing to ask does not hold."""
        settings = list(self.settings(rows))
        texts, holds = [], bool(settings)
        for name, (quantity, keeps) in self.asked.items():
            numbers = [(where, quantity.of(here), here) for where, here in settings]
            found = [(where, n, n is not None and keeps(n, here)) for where, n, here in numbers]
            holds = holds and all(good for *_, good in found)
            texts.append(self._measured(name, found))
        return Verdict(holds, ", ".join(texts))

    def _measured(self, name: str, found: Sequence[tuple[str, Number | None, bool]]) -> str:
        named = [
            f"{where}: {self.written(number)}" if where else self.written(number)
            for where, number, _ in found
        ]
        if len(found) <= _FEW:
            text = ", ".join(named) or "nothing to ask"
        else:
            numbers = [number for _, number, _ in found if number is not None]
            ends = " … ".join(self.written(pick(numbers)) for pick in (min, max)) if numbers else ""
            wrong = [text for text, (*_, good) in zip(named, found, strict=True) if not good]
            text = _tally(len(found), wrong, ends)
        return f"{name} {text}" if name else text


def _tally(asked: int, wrong: Sequence[str], ends: str) -> str:
    """Say between which ends figures lie, and which of them are not as they should be.

    >>> _tally(9, ["W = 5: 2.1"], "0.3 … 2.1")
    '0.3 … 2.1 over 9 settings; not W = 5: 2.1'
    """
    text = f"{ends} over {asked} settings"
    if wrong:
        text += f"; not {', '.join(wrong[:_MOST_NAMED])}"
    others = len(wrong) - _MOST_NAMED
    return f"{text} and {others} more" if others > 0 else text


Quantities = Quantity | Mapping[str, Quantity]


def _by_name(value: Quantities) -> Mapping[str, Quantity]:
    return {"": value} if isinstance(value, Quantity) else value


@dataclass(frozen=True)
class Within(_Limits):
    """A number lies between two limits, which it may reach.

    >>> from unskew_papers.quantities import cell
    >>> rows = Rows([{"k": 2, "λ": 0.5}, {"k": 5, "λ": 3.0}])
    >>> Within(0, 1, cell("λ"), each=["k"])(rows)
    Verdict(holds=False, measured='k = 2: 0.50, k = 5: 3.00')
    """

    low: float
    high: float
    value: Quantities

    @property
    def asked(self) -> Asked:
        """Ask for both limits."""

        def keeps(number: Number, _: Rows) -> bool:
            return self.low <= number <= self.high

        return {name: (quantity, keeps) for name, quantity in _by_name(self.value).items()}


@dataclass(frozen=True)
class Near(_Limits):
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
    """

    published: float | Mapping[str, float]
    value: Quantities
    share: float = field(default=0.0, kw_only=True)
    off: float = field(default=0.0, kw_only=True)

    @property
    def asked(self) -> Asked:
        """Ask for a band on both sides of each published number."""
        if isinstance(self.published, Mapping):
            published: Mapping[str, float] = self.published
        else:
            published = {"": self.published}
        quantities = _by_name(self.value)
        return {name: (quantities[name], self._band(number)) for name, number in published.items()}

    def _band(self, published: float) -> Callable[[Number, Rows], bool]:
        band = self.share * abs(published) + self.off
        return lambda number, _: abs(number - published) <= band


@dataclass(frozen=True)
class AtMost(_Limits):
    """A number is no larger than a limit."""

    limit: float | Quantity
    value: Quantities

    @property
    def asked(self) -> Asked:
        """Ask for the limit."""
        return _one_sided(self.value, self.limit, operator.le)


@dataclass(frozen=True)
class Below(_Limits):
    """A number is smaller than a limit."""

    limit: float | Quantity
    value: Quantities

    @property
    def asked(self) -> Asked:
        """Ask for the limit."""
        return _one_sided(self.value, self.limit, operator.lt)


@dataclass(frozen=True)
class AtLeast(_Limits):
    """A number is no smaller than a limit."""

    limit: float | Quantity
    value: Quantities

    @property
    def asked(self) -> Asked:
        """Ask for the limit."""
        return _one_sided(self.value, self.limit, operator.ge)


@dataclass(frozen=True)
class Above(_Limits):
    """A number is larger than a limit."""

    limit: float | Quantity
    value: Quantities

    @property
    def asked(self) -> Asked:
        """Ask for the limit."""
        return _one_sided(self.value, self.limit, operator.gt)


def _one_sided(
    value: Quantities, limit: float | Quantity, compare: Callable[[Any, Any], bool]
) -> Asked:
    def keeps(number: Number, rows: Rows) -> bool:
        return compare(number, limit.of(rows) if isinstance(limit, Quantity) else limit)

    return {name: (quantity, keeps) for name, quantity in _by_name(value).items()}


@dataclass(frozen=True, kw_only=True)
class _Series(_Asking, ABC):
    """Several numbers in a row, in every setting; neighbours are compared."""

    sign: ClassVar[str] = ">"

    @abstractmethod
    def numbers(self, rows: Rows) -> Sequence[Number | None]:
        """Return them for one setting."""

    @abstractmethod
    def in_order(self, earlier: Number, later: Number) -> bool:
        """Say whether two neighbours are as they should be."""

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows; a check that finds nothing to ask does not hold."""
        found = []
        for where, here in self.settings(rows):
            numbers = self.numbers(here)
            good = len(numbers) > 0 and all(
                one is not None and other is not None and self.in_order(one, other)
                for one, other in pairwise(numbers)
            )
            found.append((where, numbers, good))
        return Verdict(bool(found) and all(good for *_, good in found), self._measured(found))

    def _measured(self, found: Sequence[tuple[str, Sequence[Number | None], bool]]) -> str:
        named = [
            f"{where}: {self._chain(numbers)}" if where else self._chain(numbers)
            for where, numbers, _ in found
        ]
        if len(found) <= _FEW:
            return "; ".join(named) or "nothing to ask"
        wrong = [text for text, (*_, good) in zip(named, found, strict=True) if not good]
        return _tally(len(found), wrong, "in this order")

    def _chain(self, numbers: Sequence[Number | None]) -> str:
        texts = [self.written(number) for number in numbers]
        if len(texts) > _MOST_NAMED:
            texts = [*texts[:3], "…", *texts[-3:]]
        return f" {self.sign} ".join(texts)


@dataclass(frozen=True)
class Ordered(_Series):
    """Quantities stand in falling order.

    Parameters
    ----------
    values
        The quantities, the largest first.
    or_equal
        Whether neighbours may be equal.
    slack
        How many times its forerunner a number may be and still count as no larger.
    negligible
        Up to which size a number counts as no larger than any other.

    Examples
    --------
    >>> from unskew_papers.quantities import cell
    >>> Ordered([cell("key"), cell("wrap")], form="{:g}")(Rows([{"key": 9, "wrap": 2}]))
    Verdict(holds=True, measured='9 > 2')
    """

    values: Sequence[Quantity]
    or_equal: bool = field(default=False, kw_only=True)
    slack: float = field(default=1.0, kw_only=True)
    negligible: float = field(default=-inf, kw_only=True)

    def numbers(self, rows: Rows) -> Sequence[Number | None]:
        """Read the quantities."""
        return [each.of(rows) for each in self.values]

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for no larger a number, as far as it counts."""
        limit = self.slack * earlier
        return later <= self.negligible or later < limit or (self.or_equal and later == limit)


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
    sign: ClassVar[str] = "→"

    def numbers(self, rows: Rows) -> Sequence[Number | None]:
        """Read the curve."""
        return rows.curve(self.along, self.column)[1]

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for less, or for no more."""
        return later < earlier or (not self.strictly and later == earlier)


@dataclass(frozen=True)
class Rises(Falls):
    """A curve never falls; with ``strictly`` it rises with every step."""

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for more, or for no less."""
        return super().in_order(later, earlier)


@dataclass(frozen=True)
class Equal(_Series):
    """Quantities have the same value."""

    values: Sequence[Quantity]
    sign: ClassVar[str] = "and"

    def numbers(self, rows: Rows) -> Sequence[Number | None]:
        """Read the quantities."""
        return [each.of(rows) for each in self.values]

    def in_order(self, earlier: Number, later: Number) -> bool:
        """Ask for the same."""
        return earlier == later


@dataclass(frozen=True)
class Exact:
    """Every result was the one that it should be; ``what`` names what was counted.

    >>> Exact("jobs")(Rows([{"exact": True}, {"exact": False}]))
    Verdict(holds=False, measured='1 of 2 jobs')
    """

    what: str = "jobs"
    where: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows."""
        found = [row["exact"] for row in rows.where(**self.where) if row.get("exact") is not None]
        return Verdict(all(found), f"{sum(found)} of {len(found)} {self.what}")


@dataclass(frozen=True, init=False)
class All:
    """Several checks hold together."""

    checks: tuple[Check, ...]

    def __init__(self, *checks: Check) -> None:
        object.__setattr__(self, "checks", checks)

    def __call__(self, rows: Rows) -> Verdict:
        """Ask the rows for each."""
        found = [check(rows) for check in self.checks]
        return Verdict(all(each.holds for each in found), "; ".join(v.measured for v in found))


def placed_exactly(what: str = "jobs", **where: Any) -> Claim:
    """Make the claim that wherever rows are placed, results are those of a plain job."""
    return Claim("exact", "Placing rows changes no result.", "not said", Exact(what, where))
