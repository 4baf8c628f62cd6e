"""Figures as SVG, drawn with Matplotlib, which is loaded only here."""

import importlib
import io
import math
import threading
from collections.abc import Sequence
from typing import Any

from unskew.errors import MissingExtraError
from unskew_papers.figures import Curve, Figure, HeatMap, Panel
from unskew_papers.quantities import Number

COLOURS = (
    "#4e79a7", "#e8833a", "#d9484b", "#4aa39c", "#52a14e",
    "#c9a227", "#a76d9c", "#e5738a", "#94674b", "#7f8791",
)  # fmt: skip
_MARKS = "osD^vPX*<>"
_OWN = "wrap"
_WIDTH, _HEIGHT = 4.6, 4.4
_SETTINGS = {
    "svg.fonttype": "none",  # text stays text: small files that can be searched
    "svg.hashsalt": "unskew",  # equal rows give equal files
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.fontsize": 7.5,
    "legend.framealpha": 0.6,
}


# Matplotlib's settings are those of the whole process.
_one_at_a_time = threading.Lock()


def require_matplotlib() -> None:
    """Raise unless Matplotlib is installed."""
    _load("matplotlib")


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError("a figure as SVG", "matplotlib", "plots") from None


def to_svg(figure: Figure) -> str:
    """Return the figure as the text of an SVG file."""
    with _one_at_a_time, _load("matplotlib").rc_context(_SETTINGS):
        columns = min(figure.columns, len(figure.panels))
        lines = math.ceil(len(figure.panels) / columns)
        # Not through pyplot: it would keep figures, and look for a screen.
        canvas = _load("matplotlib.figure").Figure(
            figsize=(_WIDTH * columns, _HEIGHT * lines), layout="constrained"
        )
        places = canvas.subplots(lines, columns, squeeze=False).ravel()
        for place, panel in zip(places, figure.panels, strict=False):
            _draw(canvas, place, panel)
        for place in places[len(figure.panels) :]:
            place.set_axis_off()
        text = io.StringIO()
        canvas.savefig(text, format="svg", metadata={"Date": None, "Creator": "unskew"})
    return text.getvalue()


def _draw(canvas: Any, place: Any, panel: Panel) -> None:
    place.set(xlabel=panel.x, ylabel=panel.y, title=panel.title)
    if panel.heat_map is not None:
        _draw_heat_map(canvas, place, panel.heat_map)
        return
    if panel.log_x:
        place.set_xscale("log")
    if panel.log_y:
        place.set_yscale("log")
    floor = _floor(panel) if panel.log_y else None
    bars = [curve for curve in panel.curves if curve.style == "bars"]
    for number, curve in enumerate(panel.curves):
        if curve.style == "bars":
            _draw_bars(place, curve, number, bars)
        else:
            _draw_line(place, curve, number, floor)
    if any(curve.label for curve in panel.curves):
        # Below the axes: nothing is hidden, and no time is spent on the search for a free place.
        place.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)


def _floor(panel: Panel) -> float:
    """Return where zeros lie on a logarithmic axis: below everything else."""
    positive = [value for curve in panel.curves for value in curve.y if value > 0]
    return min(positive, default=1.0) / 2


def _lifted(values: Sequence[Number], floor: float | None) -> list[Number]:
    return [value if floor is None or value > 0 else floor for value in values]


def _draw_line(place: Any, curve: Curve, number: int, floor: float | None) -> None:
    own = curve.label.startswith(_OWN)
    styles = {"dashed": "--", "points": "none"}
    place.plot(
        curve.x,
        _lifted(curve.y, floor),
        label=curve.label,
        color="black" if own else COLOURS[number % len(COLOURS)],
        linestyle=styles.get(curve.style, "-"),
        marker=_MARKS[number % len(_MARKS)],
        markersize=4,
        linewidth=1.2,
    )


def _draw_bars(place: Any, curve: Curve, number: int, bars: Sequence[Curve]) -> None:
    """Put the bars of several curves beside each other, at names or at numbers."""
    names = list(dict.fromkeys(str(value) for each in bars for value in each.x))
    width = 0.8 / len(bars)
    shift = (bars.index(curve) - (len(bars) - 1) / 2) * width
    where = [names.index(str(value)) + shift for value in curve.x]
    colour = "black" if curve.label.startswith(_OWN) else COLOURS[number % len(COLOURS)]
    place.bar(where, curve.y, width, label=curve.label, color=colour)
    place.set_xticks(range(len(names)), names, rotation=45 if len(names) > 8 else 0)


def _draw_heat_map(canvas: Any, place: Any, heat: HeatMap) -> None:
    shown = place.imshow(heat.values, aspect="auto", origin="lower", cmap="viridis")
    place.grid(visible=False)
    place.set_xticks(range(len(heat.x)), [str(value) for value in heat.x])
    place.set_yticks(range(len(heat.y)), [str(value) for value in heat.y])
    canvas.colorbar(shown, ax=place, label=heat.label)
