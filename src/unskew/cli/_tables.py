"""Tables on the terminal."""

import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unskew.reports.measurement import Measurement
from unskew.reports.tables import (
    LOAD_COLUMNS,
    QUEUE_COLUMNS,
    Column,
    Row,
    have_queues,
    measurement_facts,
)

_WIDTH_OF_FILES = 200


def console() -> Console:
    """Return stdout; a file or a pipe has no width, so it gets one in which all tables fit."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return Console(width=None if terminal else _WIDTH_OF_FILES, highlight=False)


def new_table() -> Table:
    """Return an empty table in the style of all."""
    return Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)


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
    """Return a table with a row a measurement, best values in green."""
    table = new_table()
    table.add_column("grouping", no_wrap=True)
    for column in columns:
        table.add_column(column.title, justify="right", no_wrap=True)
    cells = [column.cells(measurements) for column in columns]
    for each, row in zip(measurements, zip(*cells, strict=True), strict=True):
        shown = [f"[bold green]{text}[/bold green]" if best else text for text, best in row]
        table.add_row(escape(each.label), *shown)
    return table
