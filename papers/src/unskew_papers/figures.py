"""Figures as data: what is drawn of the rows, in which axes, apart from how it is drawn.

`Drawing` declares a figure: its charts, each with the series of rows that become its curves. Given
rows, it makes a `Figure`, which `unskew_papers.svg` draws.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unskew_papers.quantities import Number, Quantity
from unskew_papers.rows import Rows

Axis = Sequence[Number] | Sequence[str]


@dataclass(frozen=True)
class Curve:
    """One line, or one set of bars, of a panel.

    Parameters
    ----------
    label
        What the legend says.
    x, y
        The points; text as x makes the axis one of names.
    style
        ``line`` with marks, ``dashed`` (for worst cases and references), ``points`` or ``bars``.
    """

    label: str
    x: Axis
    y: Sequence[Number]
    style: str = "line"


@dataclass(frozen=True)
class HeatMap:
    """A value for every pair of x and y: ``values[row of y][column of x]``."""

    x: Axis
    y: Axis
    values: Sequence[Sequence[Number]]
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One pair of axes, as in the paper.

    Parameters
    ----------
    x, y
        Titles of the axes.
    curves
        What is drawn; or a heat map.
    title
        What stands above it.
    log_x, log_y
        Whether an axis is logarithmic; zeros then lie on the lower edge.
    """

    x: str
    y: str
    curves: Sequence[Curve] = ()
    heat_map: HeatMap | None = None
    title: str = ""
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side.

    Parameters
    ----------
    panels
        At least one.
    columns
        Panels in a line.
    """

    panels: Sequence[Panel] = field(default_factory=list)
    columns: int = 3


Series = Callable[[Rows], list[Curve]]
"""Makes curves of the rows of one panel."""


@dataclass(frozen=True)
class Lines:
    """A curve for every value of some columns.

    Parameters
    ----------
    x, y
        The columns that are drawn; or as y a quantity, read off the rows of each x.
    by
        Column or columns that have a curve for each of their values.
    label
        What the legend says, with the values of ``by`` in braces; by default the first of them.
    style
        That of `Curve`.
    where
        Only rows with these values, or that meet these conditions.
    only
        The values of the first column of ``by`` that are drawn, in this order; by default all.
    names
        How values of ``by`` are called in the legend, where other than they are.
    as_measured
        Whether points stay in the order of the rows; else x rises.

    Examples
    --------
    >>> rows = Rows([{"scheme": "key", "k": 1, "λ": 0.0}, {"scheme": "key", "k": 2, "λ": 60.0}])
    >>> Lines("k", "λ", by="scheme", label="{scheme}, worst", style="dashed")(rows)
    [Curve(label='key, worst', x=[1, 2], y=[0.0, 60.0], style='dashed')]
    """

    x: str
    y: str | Quantity
    by: str | Sequence[str] = ()
    label: str | None = None
    style: str = "line"
    where: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[Any] | None = None
    names: Mapping[Any, str] = field(default_factory=dict)
    as_measured: bool = False

    def __call__(self, rows: Rows) -> list[Curve]:
        """Make the curves of one panel."""
        here = rows.where(**self.where)
        columns = (self.by,) if isinstance(self.by, str) else tuple(self.by)
        return [self._curve(here, setting) for setting in self._settings(here, columns)]

    def _settings(self, rows: Rows, columns: Sequence[str]) -> list[dict[str, Any]]:
        if not columns:
            return [{}]
        wanted = rows.distinct(columns[0]) if self.only is None else self.only
        return [
            {columns[0]: value, **setting}
            for value in wanted
            for setting in self._others(rows.where(**{columns[0]: value}), columns[1:])
        ]

    @staticmethod
    def _others(rows: Rows, columns: Sequence[str]) -> list[dict[str, Any]]:
        return [setting for setting, _ in rows.each(*columns)]

    def _curve(self, rows: Rows, setting: Mapping[str, Any]) -> Curve:
        called = {name: self.names.get(value, value) for name, value in setting.items()}
        default = str(next(iter(called.values()), ""))
        label = default if self.label is None else self.label.format(**called)
        here = rows.where(**setting)
        if isinstance(self.y, Quantity):
            read = [(at[self.x], self.y.of(of_x)) for at, of_x in here.each(self.x)]
            known = [(x, y) for x, y in read if y is not None]
            return Curve(label, [x for x, _ in known], [y for _, y in known], self.style)
        if self.as_measured:
            return Curve(label, here.values(self.x), here.values(self.y), self.style)
        return Curve(label, *here.curve(self.x, self.y), self.style)


@dataclass(frozen=True)
class Level:
    """A number drawn as a level across the values of a column.

    Parameters
    ----------
    label, value
        What the legend says, and the number.
    x
        The column; the level has a point at each of its values.
    where
        Only at the values that these rows have.
    style
        That of `Curve`.
    """

    label: str
    value: Quantity
    x: str
    where: Mapping[str, Any] = field(default_factory=dict)
    style: str = "line"

    def __call__(self, rows: Rows) -> list[Curve]:
        """Make the curve."""
        across = rows.distinct(self.x, **self.where)
        number = self.value.of(rows)
        return [Curve(self.label, across, [] if number is None else [number] * len(across),
                      self.style)]  # fmt: skip


@dataclass(frozen=True)
class Bars:
    """A bar for every row.

    Parameters
    ----------
    label
        What the legend says.
    name
        What a bar is called, with fields of its row in braces.
    y
        The column that is drawn.
    """

    label: str
    name: str
    y: str

    def __call__(self, rows: Rows) -> list[Curve]:
        """Make the bars."""
        return [Curve(self.label, [self.name.format(**row) for row in rows], rows.values(self.y),
                      "bars")]  # fmt: skip


@dataclass(frozen=True)
class Fixed:
    """A curve that needs no rows, such as the paper's own."""

    curve: Curve

    def __call__(self, rows: Rows) -> list[Curve]:  # noqa: ARG002 (the same whatever the rows)
        """Return it."""
        return [self.curve]


@dataclass(frozen=True)
class Chart:
    """A panel, or one for every value of some columns.

    Parameters
    ----------
    x, y
        Titles of the axes.
    series
        What is drawn.
    each
        Columns that have a panel for each setting.
    title
        What stands above it, with the values of ``each`` in braces; by default the first of them.
    where
        Only rows with these values, or that meet these conditions.
    only
        The values of the first column of ``each`` that have panels, in this order.
    log_x, log_y
        Whether an axis is logarithmic.
    """

    x: str
    y: str
    series: Sequence[Series]
    each: Sequence[str] = ()
    title: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    only: Sequence[Any] | None = None
    log_x: bool = False
    log_y: bool = False

    def __call__(self, rows: Rows) -> list[Panel]:
        """Make the panels."""
        settings = list(rows.where(**self.where).each(*self.each))
        if self.only is not None:
            wanted, column = list(self.only), self.each[0]
            settings = [each for each in settings if each[0][column] in wanted]
            settings.sort(key=lambda each: wanted.index(each[0][column]))
        return [self._panel(setting, here) for setting, here in settings]

    def _panel(self, setting: Mapping[str, Any], rows: Rows) -> Panel:
        default = str(next(iter(setting.values()), ""))
        title = default if self.title is None else self.title.format(**setting)
        curves = [curve for series in self.series for curve in series(rows)]
        return Panel(self.x, self.y, curves, title=title, log_x=self.log_x, log_y=self.log_y)


@dataclass(frozen=True, init=False)
class Drawing:
    """A figure: charts side by side.

    Parameters
    ----------
    charts
        In the order of their panels.
    columns
        Panels in a line.
    where
        Only rows with these values, or that meet these conditions.
    """

    charts: tuple[Chart, ...]
    columns: int
    where: Mapping[str, Any]

    def __init__(
        self, *charts: Chart, columns: int = 3, where: Mapping[str, Any] | None = None
    ) -> None:
        object.__setattr__(self, "charts", charts)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "where", where or {})

    def __call__(self, rows: Rows) -> Figure:
        """Make the figure of these rows."""
        here = rows.where(**self.where)
        return Figure([panel for chart in self.charts for panel in chart(here)], self.columns)
