"""The report of a run: one HTML page that needs nothing but a browser."""

from collections.abc import Sequence
from html import escape

from unskew.reports._plotly import to_div
from unskew.reports.grouping_run import GroupingRun
from unskew.reports.page import fact_list, frame, table
from unskew.reports.run_charts import batch_time_chart, run_loads_chart, waits_chart
from unskew.reports.run_columns import RUN_COLUMNS


def render_run(
    runs: Sequence[GroupingRun],
    *,
    title: str,
    command: str,
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the page about a run of an application under one or more groupings.

    Parameters
    ----------
    runs
        At least one.
    title
        What it is, in a few words.
    command
        What the user typed to get it.
    facts
        Names and texts of what all groupings had in common.
    notes
        Further remarks, a sentence each.
    """
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<code>{escape(command)}</code>",
        fact_list(facts),
        table("Throughput, latency, balance and memory", RUN_COLUMNS, runs),
        *(f"<p>{escape(note)}</p>" for note in notes),
        *_charts(runs),
    ]
    return frame(title, "\n".join(parts))


def _charts(runs: Sequence[GroupingRun]) -> list[str]:
    return [
        "<h2>Rows of each worker</h2>",
        "<p>All measured micro-batches together; the dashed line is the mean.</p>",
        to_div(run_loads_chart(runs), "loads", with_library=True),
        "<h2>Time of each micro-batch</h2>",
        "<p>A micro-batch is done when its busiest worker is. The first ones warm up.</p>",
        to_div(batch_time_chart(runs), "batches", with_library=False),
        "<h2>Latency</h2>",
        "<p>How many rows had their result within so many seconds.</p>",
        to_div(waits_chart(runs), "waits", with_library=False),
    ]
