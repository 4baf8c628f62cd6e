"""Hand over what a run did: JSON or a table on stdout, and the report."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from unskew.cli._tables import console, print_meanings, table_of
from unskew.reports.grouping_run import GroupingRun
from unskew.reports.tables import RUN_COLUMNS


@dataclass(frozen=True)
class RunOutput:
    """Where the user wants the outcome.

    Parameters
    ----------
    json, report, arguments
        As in `Output`.
    facts
        Names and texts of what all groupings had in common.
    """

    json: bool
    report: Path | None
    arguments: Sequence[str]
    facts: Sequence[tuple[str, str]]

    def hand_over(
        self, runs: Sequence[GroupingRun], fields: dict[str, Any], notes: Sequence[str]
    ) -> None:
        """Write the report, then print JSON or a table with ``notes`` below it."""
        if self.report is not None:
            self._write_report(self.report, runs, notes)
        if self.json:
            results = [run.to_json() for run in runs]
            typer.echo(
                json.dumps({**fields, "results": results, "notes": list(notes)}, allow_nan=False)
            )
            return
        out = console()
        for name, text in self.facts:
            out.print(f"[dim]{name:9}[/dim]{escape(text)}")
        out.print(table_of(RUN_COLUMNS, runs))
        print_meanings(out, RUN_COLUMNS)
        for note in [*notes, *([f"report: {self.report}"] if self.report else [])]:
            out.print(escape(note))

    def _write_report(self, path: Path, runs: Sequence[GroupingRun], notes: Sequence[str]) -> None:
        from unskew.reports.page import render_run, write_page

        command = shlex.join(["unskew", *self.arguments])
        title = f"{self.arguments[1] if len(self.arguments) > 1 else 'run'} · unskew run"
        page = render_run(runs, title=title, command=command, facts=self.facts, notes=notes)
        write_page(path, page)
