"""What a figure shows, apart from how it is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field

Number = float | int
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


def lines(
    curves: Sequence[tuple[str, tuple[Axis, Sequence[Number]]]], *, style: str = "line"
) -> list[Curve]:
    """Make curves of (label, (x, y)), the form that `Rows.curve` returns.

    >>> lines([("key", ([1, 2], [3, 4]))])
    [Curve(label='key', x=[1, 2], y=[3, 4], style='line')]
    """
    return [Curve(label, x, y, style) for label, (x, y) in curves]
