"""Plotly, loaded only where a chart is drawn, and the looks that all charts share."""

import importlib
import math
from collections.abc import Sequence
from typing import Any

from unskew.errors import MissingExtraError

_PANEL_HEIGHT = 190
_CONFIG = {
    "displaylogo": False,
    "responsive": True,
    "modeBarButtons": [["toImage", "resetScale2d"]],
}
_FONT = {"family": "system-ui, sans-serif", "size": 13}


def require_plotly() -> None:
    """Raise unless plotly is installed."""
    _load("plotly.graph_objects")


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError("the HTML report", "plotly", "plots") from None


def figure(x_title: str, y_title: str, *, height: int) -> Any:
    """Return an empty chart with named axes."""
    chart = _load("plotly.graph_objects").Figure()
    chart.update_xaxes(title=x_title)
    chart.update_yaxes(title=y_title)
    return _dress(chart, height)


def grid_of_panels(titles: Sequence[str]) -> tuple[Any, list[tuple[int, int]]]:
    """Return a chart with a panel a title, and the row and column of each."""
    columns = min(len(titles), 3)
    rows = math.ceil(len(titles) / columns)
    chart = _load("plotly.subplots").make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=titles,
        vertical_spacing=0.35 / rows,
        horizontal_spacing=0.07,
    )
    places = [(number // columns + 1, number % columns + 1) for number in range(len(titles))]
    chart.update_annotations(font_size=12)
    height = 360 if rows == 1 else _PANEL_HEIGHT * rows + 60
    return _dress(chart, height), places


def _dress(chart: Any, height: int) -> Any:
    """Leave backgrounds clear: the page has them, and its script gives lines and text colours."""
    chart.update_layout(
        template="none",
        height=height,
        font=_FONT,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 70, "r": 20, "t": 40, "b": 50},
        legend={"font": {"size": 12}},
        modebar={"bgcolor": "rgba(0,0,0,0)"},
    )
    chart.update_xaxes(automargin=True, zeroline=False)
    chart.update_yaxes(automargin=True, zeroline=False)
    return chart


def to_div(chart: Any, name: str, *, with_library: bool) -> str:
    """Return the chart as HTML; ``with_library`` puts plotly's program in front of it."""
    html = _load("plotly.io").to_html(
        chart,
        full_html=False,
        include_plotlyjs=with_library,
        div_id=name,
        config=_CONFIG,
    )
    return str(html)
