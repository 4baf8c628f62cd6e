"""Tables, bars and pages of results for the terminal, JSON and reports."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import typer
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column as TableColumn
from rich.table import Table
from rich.text import Text

from unskew.reports.measurement import Measurement
from unskew.reports.tables import (
    LEAST_COLUMNS,
    LOAD_COLUMNS,
    QUEUE_COLUMNS,
    Column,
    Row,
    have_queues,
    measurement_facts,
)

_WIDTH_OF_FILES = 200
_BETWEEN = 3
_LEAST_OF_TEXT = 14


def console() -> Console:
    """Return stdout; a file or a pipe has no width, so it gets one in which all tables fit."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return Console(width=None if terminal else _WIDTH_OF_FILES, highlight=False)


class FittingTable(Table):
    """A table that cuts no number: where it is too wide, it leaves out whole columns and says so.

    Columns of text give way first: they wrap. Then columns of numbers go, those named in
    ``least`` one after the other, and then from the right; the first column always stays.

    >>> table = FittingTable(least=["rows"])
    >>> table.add_column("grouping")
    >>> for title in ("rows", "seconds"):
    ...     table.add_number(title)
    >>> table.add_row("key", "1,234,567", "0.0123")
    >>> Console(width=24).print(table)
    <BLANKLINE>
     grouping   seconds
     ──────────────────
     key         0.0123
    <BLANKLINE>
    too wide to show: rows
    """

    def __init__(self, least: Sequence[str] = ()) -> None:
        super().__init__(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
        self._least = list(least)

    def add_number(self, title: str) -> None:
        """Add a column whose cells are never cut."""
        self.add_column(title, justify="right", no_wrap=True)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Give out the table as wide as the console is, and what it leaves out."""
        shown, left_out = list(self.columns), list[str]()
        while (numbers := _numbers(shown)) and _needs(shown) > options.max_width:
            named = [one for title in self._least for one in numbers if one.header == title]
            gone = named[0] if named else numbers[-1]
            shown.remove(gone)
            left_out.append(str(gone.header))
        part = FittingTable()
        part.columns = [
            replace(one, _index=index, overflow="fold") for index, one in enumerate(shown)
        ]
        part.rows = self.rows
        yield from Table.__rich_console__(part, console, options)
        if left_out:
            yield Text(f"too wide to show: {', '.join(left_out)}", style="dim")


def _needs(columns: Sequence[TableColumn]) -> int:
    """Return how wide a table of these columns is at least: numbers in full, text wrapped."""
    return sum(map(_least_width, columns)) + _BETWEEN * len(columns)


def _least_width(column: TableColumn) -> int:
    """Return how narrow a column may become; one of numbers stays as wide as it is."""
    lines = (line for cell in (column.header, *column.cells) for line in _plain(cell).split("\n"))
    widest = max(map(cell_len, lines))
    return widest if column.no_wrap else min(widest, _LEAST_OF_TEXT)


def _plain(cell: object) -> str:
    return Text.from_markup(str(cell)).plain


def _numbers(columns: Sequence[TableColumn]) -> list[TableColumn]:
    return [one for one in columns[1:] if one.no_wrap]


def print_measurements(measurements: Sequence[Measurement], notes: Sequence[str] = ()) -> None:
    """Print what was measured, best values in green, and what the columns mean."""
    out = console()
    for name, text in measurement_facts(measurements):
        out.print(f"[dim]{name:8}[/dim]{escape(text)}")
    out.print(table_of(LOAD_COLUMNS, measurements))
    columns = list(LOAD_COLUMNS)
    if have_queues(measurements):
        out.print(table_of(QUEUE_COLUMNS, measurements))
        columns += QUEUE_COLUMNS
    print_meanings(out, columns)
    for note in notes:
        out.print(escape(note))


def print_meanings(out: Console, columns: Sequence[Column[Row]]) -> None:
    """Say what the columns of a table mean."""
    for column in columns:
        out.print(f"[dim]{escape(column.title)}: {escape(column.meaning)}[/dim]")


def table_of(columns: Sequence[Column[Row]], measurements: Sequence[Row]) -> Table:
    """Return a table with a row per measurement, best values in green."""
    table = FittingTable(least=LEAST_COLUMNS)
    table.add_column("grouping", no_wrap=True)
    for column in columns:
        table.add_number(column.title)
    cells = [column.cells(measurements) for column in columns]
    for each, row in zip(measurements, zip(*cells, strict=True), strict=True):
        shown = [f"[bold green]{text}[/bold green]" if best else text for text, best in row]
        table.add_row(escape(each.label), *shown)
    return table


class ProgressDisplay:
    """Show how far a run has come; says nothing unless stderr is a terminal.

    Parameters
    ----------
    rows
        Rows that all runs together will have; None where it is not known.
    wanted
        Whether the user wants to see it.
    """

    def __init__(self, rows: int | None, *, wanted: bool = True) -> None:
        shown = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(show_speed=True),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not shown,
        )
        self._task = self._bar.add_task("", total=rows)

    def say(self, text: str) -> None:
        """Say what is being done."""
        self._bar.update(self._task, description=text)

    def advance(self, rows: int) -> None:
        """Count rows that are done."""
        self._bar.advance(self._task, rows)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()


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
