"""Draw the charts of reports: loads, imbalance and micro-batches over time, waits of rows."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from unskew.reports._plotly import figure, grid_of_panels
from unskew.reports.grouping_run import GroupingRun, share_within
from unskew.reports.measurement import Measurement
from unskew.reports.tables import real_text, replication_text

COLOURS = (
    "#4e79a7", "#e8833a", "#d9484b", "#4aa39c", "#52a14e",
    "#c9a227", "#a76d9c", "#e5738a", "#94674b", "#7f8791",
)  # fmt: skip
"""Distinguishable on white and on black alike."""
_DASHES = ("solid", "dash", "dot")
_SYMBOLS = ("circle", "diamond", "square")
_MOST_BARS = 200
_MEAN_LINE = {"color": "#8a8f98", "width": 1, "dash": "dash"}
_POINTS = 200


class ChartedGrouping(NamedTuple):
    """The figures of a grouping, measured or predicted, that charts show."""

    label: str
    imbalance_percent: float
    replication: float
    loads: Sequence[float]


def _charted(measurements: Sequence[Measurement]) -> list[ChartedGrouping]:
    return [
        ChartedGrouping(
            each.label,
            each.result.imbalance_percent,
            each.result.replication,
            each.result.loads,
        )
        for each in measurements
    ]


def loads_chart(measurements: Sequence[Measurement]) -> Any:
    """Draw what each worker received; see `loads_of`."""
    return loads_of(_charted(measurements))


def balance_chart(measurements: Sequence[Measurement]) -> Any:
    """Draw λ against replication; see `balance_of`."""
    return balance_of(_charted(measurements))


def loads_of(groupings: Sequence[ChartedGrouping]) -> Any:
    """Draw the load of each worker, one panel per grouping; the dashed line is the mean.

    Every panel has its own scale, so that what counts, the height of the bars against the mean,
    can be seen whatever the other groupings do.
    """
    titles = [f"{each.label}   λ {real_text(each.imbalance_percent)} %" for each in groupings]
    chart, places = grid_of_panels(titles)
    for each, place in zip(groupings, places, strict=True):
        add_loads(chart, list(each.loads), place)
    chart.update_layout(showlegend=False, bargap=0.15)
    return chart


def add_loads(chart: Any, loads: list[float], place: tuple[int, int]) -> None:
    """Draw loads and their mean into a panel, given by its row and column."""
    row, column = place
    mean = sum(loads) / len(loads)
    chart.add_trace(_loads_trace(loads), row=row, col=column)
    chart.add_hline(y=mean, line=_MEAN_LINE, row=row, col=column)
    chart.update_yaxes(range=[0, 1.08 * max(max(loads), 1e-9)], row=row, col=column)
    chart.update_xaxes(dtick=math.ceil(len(loads) / 10), row=row, col=column)


def line_style(number: int) -> dict[str, Any]:
    """Return the looks of a line by its number, so that many can be told apart."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "dash": _DASHES[number // len(COLOURS) % len(_DASHES)],
        "width": 1.8,
    }


def _loads_trace(loads: list[float]) -> dict[str, Any]:
    if len(loads) <= _MOST_BARS:
        return {
            "type": "bar",
            "x": list(range(len(loads))),
            "y": loads,
            "marker": {"color": COLOURS[0]},
            "hovertemplate": "worker %{x}: %{y:,.7~g}<extra></extra>",
        }
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "tozeroy",
        "x": list(range(1, len(loads) + 1)),
        "y": sorted(loads, reverse=True),
        "line": {"color": COLOURS[0], "shape": "hvh"},
        "hovertemplate": "%{x}. busiest worker: %{y:,.7~g}<extra></extra>",
    }


def imbalance_chart(measurements: Sequence[Measurement]) -> Any:
    """Draw I(t), the largest load less the mean, over the run; its axis is logarithmic."""
    chart = figure("rows so far", "I(t) = max − mean load", height=460)
    for number, each in enumerate(measurements):
        chart.add_trace(
            {
                "type": "scatter",
                "mode": "lines" if len(each.result.series) > 1 else "markers",
                "name": each.label,
                "x": [rows for rows, _ in each.result.series],
                # A logarithmic axis has no place for 0: the line has a gap there.
                "y": [value if value > 0 else None for _, value in each.result.series],
                "line": line_style(number),
                "hovertemplate": "%{x:,} rows: %{y:,.3~g}",
            }
        )
    chart.update_yaxes(type="log", dtick=1, exponentformat="power")
    chart.update_layout(showlegend=True)
    return chart


def balance_of(groupings: Sequence[ChartedGrouping]) -> Any:
    """Draw λ against replication, one point per grouping: best is down on the left.

    Groupings whose replication is not known have no point.
    """
    chart = figure("replication (workers per key)", "λ, imbalance in %", height=520)
    if not groupings:
        return chart
    across = [each.replication for each in groupings]
    heights = _zeros_lifted([each.imbalance_percent for each in groupings])
    decades = [
        math.floor(math.log10(min(heights) / 1.5)),
        math.ceil(math.log10(max(heights) * 1.5)),
    ]
    texts = _shared_labels([each.label for each in groupings], across, heights)
    for number, each in enumerate(groupings):
        percent = real_text(each.imbalance_percent)
        held = replication_text(each.replication)
        chart.add_trace(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": each.label,
                "x": [across[number]],
                "y": [heights[number]],
                "text": [texts[number]],
                "textposition": "middle right",
                "textfont": {"size": 11},
                "marker": {
                    "color": COLOURS[number % len(COLOURS)],
                    "symbol": _SYMBOLS[number // len(COLOURS) % len(_SYMBOLS)],
                    "size": 11,
                },
                "cliponaxis": False,
                "hovertemplate": f"λ {percent} %, replication {held}",
            }
        )
    chart.update_xaxes(type="log", range=_range_with_room(across), **_plain_log_ticks(across))
    chart.update_yaxes(type="log", range=decades, dtick=1, exponentformat="power")
    chart.update_layout(showlegend=True)
    return chart


def _zeros_lifted(percents: Sequence[float]) -> list[float]:
    """Lift zeros to where a logarithmic axis can show them: below everything else."""
    positive = [value for value in percents if value > 0]
    floor = min([*positive, 1.0]) / 2
    return [value if value > 0 else floor for value in percents]


def _shared_labels(
    labels: Sequence[str], across: Sequence[float], heights: Sequence[float]
) -> list[str]:
    """Give points that lie so close that their labels would overlap one label together.

    >>> _shared_labels(["key", "wrap", "modulo"], [1.0, 1.0, 1.0], [100.0, 0.1, 101.0])
    ['key, modulo', 'wrap', '']
    """
    wide, high = _log_span(across), _log_span(heights)
    names: dict[int, list[str]] = {}
    for this, label in enumerate(labels):
        for other in names:
            near = abs(math.log10(across[this] / across[other])) < 0.1 * wide
            if near and abs(math.log10(heights[this] / heights[other])) < 0.05 * high:
                names[other].append(label)
                break
        else:
            names[this] = [label]
    return [_lines(names.get(number, [])) for number in range(len(labels))]


def _lines(names: list[str]) -> str:
    rows = [names[first : first + 6] for first in range(0, len(names), 6)]
    return ",<br>".join(", ".join(row) for row in rows)


def _log_span(values: Sequence[float]) -> float:
    return max(math.log10(max(values) / min(values)), 0.5)


def _range_with_room(values: Sequence[float]) -> list[float]:
    """Return where the axis starts and ends; labels stand to the right of their points."""
    span = _log_span(values)
    return [math.log10(min(values)) - 0.08 * span, math.log10(max(values)) + 0.3 * span]


def _plain_log_ticks(values: Sequence[float]) -> dict[str, Any]:
    marks = [
        mark * 10**power
        for power in range(math.floor(math.log10(max(values))) + 2)
        for mark in (1, 1.5, 2, 3, 5, 7)
    ]
    return {"tickvals": marks, "ticktext": [f"{mark:,g}" for mark in marks]}


def run_loads_chart(runs: Sequence[GroupingRun]) -> Any:
    """Draw the rows of each worker, a panel per grouping; the dashed line is the mean."""
    counted = [run for run in runs if run.loads]
    titles = [f"{run.label}   λ {real_text(run.imbalance_percent)} %" for run in counted]
    if not counted:
        return figure("worker", "rows", height=200)
    chart, places = grid_of_panels(titles)
    for run, place in zip(counted, places, strict=True):
        add_loads(chart, list(run.loads), place)
    chart.update_layout(showlegend=False, bargap=0.15)
    return chart


def batch_time_chart(runs: Sequence[GroupingRun]) -> Any:
    """Draw what every micro-batch took, those of the warm-up among them."""
    chart = figure("micro-batch", "seconds", height=420)
    for number, run in enumerate(runs):
        chart.add_trace(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": run.label,
                "x": list(range(len(run.batches))),
                "y": [batch.epoch.seconds for batch in run.batches],
                "line": line_style(number),
                "hovertemplate": "micro-batch %{x}: %{y:.3~g} s",
            }
        )
    chart.update_yaxes(rangemode="tozero")
    chart.update_layout(showlegend=True)
    return chart


def waits_chart(runs: Sequence[GroupingRun]) -> Any:
    """Draw which share of the rows had their result within how many seconds."""
    chart = figure("seconds from a row's arrival to its result", "share of the rows", height=420)
    longest = max((run.latency(1.0) for run in runs), default=math.nan)
    if not math.isfinite(longest):
        return chart
    seconds = [1.05 * longest * step / _POINTS for step in range(_POINTS + 1)]
    for number, run in enumerate(runs):
        waits = [batch.waits for batch in run.measured]
        chart.add_trace(
            {
                "type": "scatter",
                "mode": "lines",
                "name": run.label,
                "x": seconds,
                "y": [share_within(waits, each) for each in seconds],
                "line": line_style(number),
                "hovertemplate": "%{y:.0%} within %{x:.3~g} s",
            }
        )
    chart.update_yaxes(range=[0, 1.02], tickformat=".0%")
    chart.update_layout(showlegend=True)
    return chart
