"""A diagnosis as text, for a terminal or a notebook."""

from html import escape

from unskew.advisor.diagnosis import Diagnosis
from unskew.reports.diagnosis_facts import COLUMNS, PredictionColumn, facts, shown_predictions
from unskew.reports.page import fact_list, html_table

_SHOWN = 6


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """Return what is known, what the best groupings would do, and the recommendation.

    >>> from unskew.advisor.diagnosis import diagnose
    >>> from unskew.advisor.profile import KeyProfile
    >>> found = diagnose(KeyProfile.from_counts(["hot", "a"], [90, 10]), 2, by="user")
    >>> print(diagnosis_text(found).splitlines()[-1])
    us.group_by(df, "user", workers=2, grouping="wrap").apply(aggregator, schema)
    """
    advice = diagnosis.recommendation
    known = [f"{name:8}{text}" for name, text in facts(diagnosis)]
    titles, rows = _predictions(diagnosis)
    widths = [max(len(row[place]) for row in [titles, *rows]) for place in range(len(titles))]
    table = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in [titles, *rows]
    ]
    return "\n".join([*known, "", *table, "", advice.text, *advice.why, advice.code])


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return the same as HTML."""
    advice = diagnosis.recommendation
    titles, rows = _predictions(diagnosis)
    chosen = advice.grouping
    cells = [[(text, row[0] == chosen) for text in row] for row in rows]
    notes = "; ".join(f"{each.title}: {each.meaning}" for each in _columns(diagnosis))
    return "\n".join(
        [
            fact_list(facts(diagnosis)),
            html_table("What groupings would do", titles, cells, notes),
            f"<p><b>{escape(advice.text)}</b></p>",
            *(f"<p>{escape(reason)}</p>" for reason in advice.why),
            f"<pre>{escape(advice.code)}</pre>",
        ]
    )


def _columns(diagnosis: Diagnosis) -> list[PredictionColumn]:
    return [each for each in COLUMNS if each.shown(diagnosis)]


def _predictions(diagnosis: Diagnosis) -> tuple[list[str], list[list[str]]]:
    """Return titles and rows of the best groupings, plain hashing among them."""
    columns = _columns(diagnosis)
    every = shown_predictions(diagnosis)
    shown = every[:_SHOWN]
    shown += [each for each in every[_SHOWN:] if each.grouping == "key"]
    rows = [[each.grouping, *(column.text(each) for column in columns)] for each in shown]
    return ["grouping", *(column.title for column in columns)], rows
