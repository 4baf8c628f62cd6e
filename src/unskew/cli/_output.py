"""Hand over what was measured: JSON or tables on stdout, and the report."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from unskew.cli._tables import print_measurements
from unskew.reports.measurement import Measurement


@dataclass(frozen=True)
class Output:
    """Where the user wants the outcome.

    Parameters
    ----------
    json
        Whether a JSON object is printed, instead of tables.
    report
        File of the page with charts; None for no page.
    arguments
        What the user typed, to stand on the page.
    """

    json: bool
    report: Path | None
    arguments: Sequence[str]

    def hand_over(
        self, measurements: Sequence[Measurement], fields: dict[str, Any], notes: Sequence[str] = ()
    ) -> None:
        """Write the report, then print ``fields`` as JSON or tables with ``notes`` below them."""
        notes = [
            f"{each.label} chose {each.result.why}" for each in measurements if each.result.why
        ] + [*notes]
        if self.report is not None:
            self._write_report(self.report, measurements, notes)
        if self.json:
            typer.echo(json.dumps(fields, allow_nan=False))
            return
        written = [f"report: {self.report}"] if self.report else []
        print_measurements(measurements, [*notes, *written])

    def _write_report(
        self, path: Path, measurements: Sequence[Measurement], notes: Sequence[str]
    ) -> None:
        from unskew.reports.page import render_page, write_page

        name = "Comparison of groupings" if len(measurements) > 1 else measurements[0].label
        command = shlex.join(["unskew", *self.arguments])
        page = render_page(measurements, title=f"{name} · unskew", command=command, notes=notes)
        write_page(path, page)
