"""The charts of a run: loads, micro-batches over time, waits of rows."""

import math
from collections.abc import Sequence
from typing import Any

from unskew.reports._plotly import figure, grid_of_panels
from unskew.reports.charts import add_loads, line_style
from unskew.reports.grouping_run import GroupingRun
from unskew.reports.latencies import share_within
from unskew.reports.numbers import real_text

_POINTS = 200


def run_loads_chart(runs: Sequence[GroupingRun]) -> Any:
    """Draw the rows of each worker, a panel a grouping; the dashed line is the mean."""
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
