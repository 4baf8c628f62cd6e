"""Show a diagnosis: as text for a terminal, as HTML for a notebook, as a page with charts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from unskew.advisor.diagnosis import Diagnosis
from unskew.advisor.predict import WORKS, Prediction, plain_for
from unskew.advisor.profile import KeyProfile
from unskew.advisor.recommend import Recommendation
from unskew.reports._plotly import figure, to_div
from unskew.reports.charts import COLOURS, ChartedGrouping, balance_of, loads_of
from unskew.reports.page import fact_list, html_table, whole_page
from unskew.reports.tables import UNKNOWN, count_text, real_text, replication_text, share_text

_MOST_PREDICTIONS = 6
_MOST_POINTS = 400
_MOST_PANELS = 12
_ROWS = "rows: of all the data, estimated where only a sample was looked at"


@dataclass(frozen=True)
class PredictionColumn:
    """One figure of every prediction: what stands above it, what it says and how it is written."""

    title: str
    meaning: str
    text: Callable[[Prediction], str]
    only_with_times: bool = False

    def shown(self, diagnosis: Diagnosis) -> bool:
        """Whether there is anything to show."""
        times = any(each.job_seconds is not None for each in diagnosis.predictions)
        return times or not self.only_with_times


PREDICTION_COLUMNS = (
    PredictionColumn(
        "predicted λ %",
        "by how much the busiest worker exceeds the mean load; 0 is even",
        lambda each: real_text(each.imbalance_percent),
    ),
    PredictionColumn(
        "busiest",
        "load of the busiest worker, as a multiple of the mean; 1 is perfectly even",
        lambda each: f"{each.job_time_ratio:.2f}",
    ),
    PredictionColumn(
        "seconds",
        "how long the busiest worker works",
        lambda each: UNKNOWN if each.job_seconds is None else real_text(each.job_seconds),
        only_with_times=True,
    ),
    PredictionColumn(
        "replication",
        "workers that hold a key, on average; 1 needs no merge",
        lambda each: replication_text(each.replication),
    ),
    PredictionColumn(
        "memory", "keys held, all workers together", lambda each: count_text(each.memory)
    ),
)
"""The figures of each prediction."""


def diagnosis_facts(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return name and text of what is known of the keys."""
    profile = diagnosis.profile
    about = "" if profile.keys_exact else "about "
    rows = count_text(profile.rows)
    if profile.sampled_share < 1.0:
        rows += f", of which {count_text(profile.counted)} were looked at"
    lines = [
        ("data", diagnosis.stream),
        ("rows", rows),
        (
            "keys",
            f"{about}{count_text(profile.keys)}, the hottest has {share_text(profile.p1)} of the "
            f"rows; Zipf exponent about {profile.zipf_exponent:.2f}",
        ),
        ("drift", _drift_text(diagnosis)),
        ("workers", count_text(diagnosis.workers)),
        ("sources", count_text(diagnosis.sources)),
        ("work", f"{diagnosis.work}: {WORKS[diagnosis.work]}"),
        ("see", diagnosis.cookbook),
    ]
    if profile.null_share:
        lines.insert(3, ("nulls", f"{share_text(profile.null_share)} of the rows have no key"))
    return lines


def _drift_text(diagnosis: Diagnosis) -> str:
    drift = diagnosis.profile.drift
    if drift.windows < 2:
        return "not known: rows of a table have no order, unless a column of time is named"
    return (
        f"from one twentieth to the next {share_text(drift.mean)} of the rows go to other hot "
        f"keys, {share_text(drift.largest)} at most"
    )


def shown_predictions(diagnosis: Diagnosis) -> list[Prediction]:
    """Return those that come into question first, each kind by time, then by memory."""
    return sorted(
        diagnosis.predictions,
        key=lambda each: (not each.usable, round(each.job_time_ratio, 2), each.memory),
    )


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Return what is known, what the best groupings would do, and the recommendation.

    >>> from unskew.advisor.diagnosis import diagnose
    >>> from unskew.advisor.profile import KeyProfile
    >>> found = diagnose(KeyProfile.from_counts(["hot", "a"], [90, 10]), 2, by="user")
    >>> print(diagnosis_text(found).splitlines()[-1])
    us.group_by(df, "user", workers=2, grouping="wrap").apply(us.Count(), "rows long")
    """
    advice = diagnosis.recommendation
    known = [f"{name:8}{text}" for name, text in diagnosis_facts(diagnosis)]
    titles, rows = _best_predictions(diagnosis)
    widths = [max(len(row[place]) for row in [titles, *rows]) for place in range(len(titles))]
    table = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in [titles, *rows]
    ]
    unknown = [f"Not known: {each}." for each in advice.not_known]
    return "\n".join([*known, "", *table, "", advice.text, *advice.why, *unknown, advice.code])


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return the same as HTML."""
    advice = diagnosis.recommendation
    titles, rows = _best_predictions(diagnosis)
    chosen = advice.grouping
    cells = [[(text, row[0] == chosen) for text in row] for row in rows]
    notes = "; ".join(f"{each.title}: {each.meaning}" for each in _columns(diagnosis))
    return "\n".join(
        [
            fact_list(diagnosis_facts(diagnosis)),
            html_table("What groupings would do", titles, cells, notes),
            f"<p><b>{escape(advice.text)}</b></p>",
            _reasons(advice),
            f"<pre>{escape(advice.code)}</pre>",
        ]
    )


def _reasons(advice: Recommendation) -> str:
    unknown = (f"Not known: {each}." for each in advice.not_known)
    return "".join(f"<p>{escape(reason)}</p>" for reason in (*advice.why, *unknown))


def _columns(diagnosis: Diagnosis) -> list[PredictionColumn]:
    return [each for each in PREDICTION_COLUMNS if each.shown(diagnosis)]


def _best_predictions(diagnosis: Diagnosis) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows of the best groupings, plain Spark among them."""
    columns = _columns(diagnosis)
    every = shown_predictions(diagnosis)
    shown = every[:_MOST_PREDICTIONS]
    plain = plain_for(diagnosis.work)
    shown += [each for each in every[_MOST_PREDICTIONS:] if each.grouping == plain]
    rows = [[each.grouping, *(column.text(each) for column in columns)] for each in shown]
    return ["grouping", *(column.title for column in columns)], rows


def render_diagnosis(diagnosis: Diagnosis, *, command: str) -> str:
    """Return the page about a diagnosis; ``command`` is what the user typed to get it."""
    advice = diagnosis.recommendation
    parts = [
        "<h1>Diagnosis · unskew</h1>",
        f"<code>{escape(command)}</code>",
        fact_list(diagnosis_facts(diagnosis)),
        f"<h2>{escape(advice.text)}</h2>",
        _reasons(advice),
        f"<code>{escape(advice.code)}</code>",
        _prediction_table(diagnosis),
        _top_keys_table(diagnosis.profile),
        *_diagnosis_charts(diagnosis),
    ]
    return whole_page("Diagnosis · unskew", "\n".join(parts))


def _prediction_table(diagnosis: Diagnosis) -> str:
    columns = [each for each in PREDICTION_COLUMNS if each.shown(diagnosis)]
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


def _top_keys_table(profile: KeyProfile) -> str:
    rows = [
        [(each.label, False), (share_text(each.share), False), (count_text(each.rows), False)]
        for each in profile.top(20)
    ]
    return html_table("The hottest keys", ["key", "share", "rows"], rows, _ROWS)


def _diagnosis_charts(diagnosis: Diagnosis) -> list[str]:
    shown = shown_predictions(diagnosis)[:_MOST_PANELS]
    return [
        "<h2>Keys by rank</h2>",
        "<p>A straight line is a Zipf law; the dashed line is the nearest one.</p>",
        to_div(rank_chart(diagnosis.profile), "ranks", with_library=True),
        "<h2>Predicted load of each worker</h2>",
        "<p>The dashed line is the mean: the nearer all come to it, the sooner all are done.</p>",
        to_div(loads_of(_charted(shown)), "loads", with_library=False),
        "<h2>Balance against memory</h2>",
        "<p>Down is more even, left is less memory. An imbalance of 0 stands at the bottom.</p>",
        to_div(balance_of(_charted(diagnosis.predictions)), "balance", with_library=False),
    ]


def _charted(predictions: Sequence[Prediction]) -> list[ChartedGrouping]:
    return [
        ChartedGrouping(each.grouping, each.imbalance_percent, each.replication, each.loads)
        for each in predictions
    ]


def rank_chart(profile: KeyProfile) -> Any:
    """Draw rows against rank, both logarithmic, at some ranks that are evenly apart there."""
    chart = figure("rank of the key", "rows", height=420)
    ordered = -np.sort(-profile.counts.rows) / profile.sampled_share
    ranks = np.unique(np.geomspace(1, ordered.size, _MOST_POINTS).astype(int))
    law = ordered[0] * ranks.astype(float) ** -profile.zipf_exponent
    names = [each.label for each in profile.top(int(np.searchsorted(ranks, 20)) + 1)]
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
