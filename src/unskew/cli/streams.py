"""``unskew streams``: which workloads there are."""

import inspect
import json as writer
from typing import Any

import typer

from unskew.cli._options import Json


def streams(json: Json = False) -> None:
    """List every stream that --stream can name, with its parameters and defaults.

    [bold]Examples[/bold]

    unskew streams

    unskew simulate --stream zipf:keys=1k,exponent=1.4,rows=1M,costs=64
    """
    from unskew.streams import STREAMS

    listed = [
        {
            "name": name,
            "summary": info.summary,
            "parameters": {
                word: None if known.default is inspect.Parameter.empty else known.default
                for word, known in info.parameters.items()
            },
        }
        for name, info in STREAMS.items()
    ]
    if json:
        typer.echo(writer.dumps({"streams": listed}))
    else:
        _print_table(listed)


def _print_table(listed: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    from unskew.cli._tables import console, new_table

    table = new_table()
    for title in ("stream", "rows", "parameters"):
        table.add_column(title)
    for each in listed:
        values = [
            word if value is None else f"{word}={value}"
            for word, value in each["parameters"].items()
        ]
        table.add_row(each["name"], escape(each["summary"]), escape(" ".join(values)))
    out = console()
    out.print(table)
    out.print("Numbers may be written 5000000, 5_000_000, 5e6 or 5M.")
    out.print(escape("A file is file:PATH, file:PATH?key=COLUMN or with &cost=COLUMN."))
