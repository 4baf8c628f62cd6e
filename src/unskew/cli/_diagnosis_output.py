"""Hand over a diagnosis: JSON or tables on stdout, and the report."""

import json as writer
import shlex
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unskew.advisor.diagnosis import Diagnosis
from unskew.advisor.profile import KeyProfile
from unskew.cli._tables import console, new_table
from unskew.reports.diagnosis import PREDICTION_COLUMNS, diagnosis_facts, shown_predictions
from unskew.reports.measurement import to_plain
from unskew.reports.tables import count_text, share_text

_TOP_KEYS = 5


def hand_over(
    diagnosis: Diagnosis, *, json: bool, report: Path | None, arguments: Sequence[str]
) -> None:
    """Write the report, then print the diagnosis as JSON or as tables."""
    if report is not None:
        from unskew.reports.diagnosis import render_diagnosis
        from unskew.reports.page import write_page

        command = shlex.join(["unskew", *arguments])
        write_page(report, render_diagnosis(diagnosis, command=command))
    if json:
        typer.echo(writer.dumps(to_plain(diagnosis.to_json()), allow_nan=False))
        return
    out = console()
    for name, text in diagnosis_facts(diagnosis):
        out.print(f"[dim]{name:8}[/dim]{escape(text)}")
    out.print(_top_keys(diagnosis.profile))
    out.print(_predictions(diagnosis))
    for column in [each for each in PREDICTION_COLUMNS if each.shown(diagnosis)]:
        out.print(f"[dim]{escape(column.title)}: {escape(column.meaning)}[/dim]")
    _print_advice(out, diagnosis)
    if report is not None:
        out.print(escape(f"report: {report}"))


def _top_keys(profile: KeyProfile) -> Table:
    table = new_table()
    table.add_column("hottest keys", no_wrap=True)
    for title in ("share", "rows"):
        table.add_column(title, justify="right")
    for each in profile.top(_TOP_KEYS):
        table.add_row(escape(each.key), share_text(each.share), count_text(each.rows))
    return table


def _predictions(diagnosis: Diagnosis) -> Table:
    table = new_table()
    table.add_column("grouping", no_wrap=True)
    columns = [each for each in PREDICTION_COLUMNS if each.shown(diagnosis)]
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    table.add_column("not for this work because it", no_wrap=True)
    chosen = diagnosis.recommendation.grouping
    for each in shown_predictions(diagnosis):
        cells = [column.text(each) for column in columns]
        style = "dim" if each.drawback else "bold green" if each.grouping == chosen else None
        table.add_row(escape(each.grouping), *cells, escape(each.drawback), style=style)
    return table


def _print_advice(out: Console, diagnosis: Diagnosis) -> None:
    advice = diagnosis.recommendation
    out.print()
    out.print(f"[bold]{escape(advice.text)}[/bold]")
    for reason in advice.why:
        out.print(escape(reason))
    out.print(f"\n    [cyan]{escape(advice.code)}[/cyan]\n")
