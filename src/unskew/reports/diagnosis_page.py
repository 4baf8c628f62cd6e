"""The report of a diagnosis: one HTML page with charts that needs nothing but a browser."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from unskew.advisor.diagnosis import Diagnosis
from unskew.advisor.predict import Prediction
from unskew.advisor.profile import KeyProfile
from unskew.reports._plotly import figure, to_div
from unskew.reports.charts import COLOURS, Shown, balance_of, loads_of
from unskew.reports.diagnosis_facts import COLUMNS, facts, shown_predictions
from unskew.reports.numbers import count_text, share_text
from unskew.reports.page import fact_list, frame, html_table

_MOST_POINTS = 400
_MOST_PANELS = 12
_ROWS = "rows: of all the data, estimated where only a sample was looked at"


def render_diagnosis(diagnosis: Diagnosis, *, command: str) -> str:
    """Return the page about a diagnosis; ``command`` is what the user typed to get it."""
    advice = diagnosis.recommendation
    reasons = "".join(f"<p>{escape(reason)}</p>" for reason in advice.why)
    parts = [
        "<h1>Diagnosis · unskew</h1>",
        f"<code>{escape(command)}</code>",
        fact_list(facts(diagnosis)),
        f"<h2>{escape(advice.text)}</h2>",
        reasons,
        f"<code>{escape(advice.code)}</code>",
        _predictions(diagnosis),
        _top_keys(diagnosis.profile),
        *_charts(diagnosis),
    ]
    return frame("Diagnosis · unskew", "\n".join(parts))


def _predictions(diagnosis: Diagnosis) -> str:
    columns = [each for each in COLUMNS if each.shown(diagnosis)]
    chosen = diagnosis.recommendation.grouping
    rows = [
        [
            (each.grouping, each.grouping == chosen),
            *((column.text(each), False) for column in columns),
            (each.drawback, False),
        ]
        for each in shown_predictions(diagnosis)
    ]
    titles = ["grouping", *(each.title for each in columns), "not for this work because it"]
    notes = "; ".join(f"{each.title}: {each.meaning}" for each in columns)
    return html_table("What each grouping would do", titles, rows, notes)


def _top_keys(profile: KeyProfile) -> str:
    rows = [
        [(each.key, False), (share_text(each.share), False), (count_text(each.rows), False)]
        for each in profile.top(20)
    ]
    return html_table("The hottest keys", ["key", "share", "rows"], rows, _ROWS)


def _charts(diagnosis: Diagnosis) -> list[str]:
    shown = shown_predictions(diagnosis)[:_MOST_PANELS]
    return [
        "<h2>Keys by rank</h2>",
        "<p>A straight line is a Zipf law; the dashed line is the nearest one.</p>",
        to_div(rank_chart(diagnosis.profile), "ranks", with_library=True),
        "<h2>Predicted load of each worker</h2>",
        "<p>The dashed line is the mean: the nearer all come to it, the sooner all are done.</p>",
        to_div(loads_of(_shown(shown)), "loads", with_library=False),
        "<h2>Balance against memory</h2>",
        "<p>Down is more even, left is less memory. An imbalance of 0 stands at the bottom.</p>",
        to_div(balance_of(_shown(diagnosis.predictions)), "balance", with_library=False),
    ]


def _shown(predictions: Sequence[Prediction]) -> list[Shown]:
    return [
        Shown(each.grouping, each.imbalance_percent, each.replication, each.loads)
        for each in predictions
    ]


def rank_chart(profile: KeyProfile) -> Any:
    """Draw rows against rank, both logarithmic, at some ranks that are evenly apart there."""
    chart = figure("rank of the key", "rows", height=420)
    ordered = -np.sort(-profile.counts.rows) / profile.sampled_share
    ranks = np.unique(np.geomspace(1, ordered.size, _MOST_POINTS).astype(int))
    law = ordered[0] * ranks.astype(float) ** -profile.zipf_exponent
    names = [each.key for each in profile.top(int(np.searchsorted(ranks, 20)) + 1)]
    for name, rows, mode in (("keys", ordered[ranks - 1], "markers"), ("Zipf law", law, "lines")):
        chart.add_trace(
            {
                "type": "scatter",
                "mode": mode,
                "name": name,
                "x": ranks.tolist(),
                "y": rows.tolist(),
                "text": names if mode == "markers" else None,
                "marker": {"color": COLOURS[0], "size": 6},
                "line": {"color": COLOURS[9], "dash": "dash", "width": 1.5},
                "hovertemplate": "rank %{x:,}: %{y:,.0f} rows %{text}<extra></extra>"
                if mode == "markers"
                else "rank %{x:,}: %{y:,.0f} rows<extra></extra>",
            }
        )
    for update in (chart.update_xaxes, chart.update_yaxes):
        update(type="log", dtick=1, exponentformat="power")
    chart.update_layout(showlegend=True)
    return chart
