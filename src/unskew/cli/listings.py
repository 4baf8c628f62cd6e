"""``unskew groupings`` and ``unskew streams``: list the schemes, and the workloads."""

import inspect
import json as writer
from typing import Any

import typer

from unskew.cli._options import Json

_ANY_WORKERS = 10
"""Whether keys are split is known only of an object: parameters may decide it."""


def groupings(json: Json = False) -> None:
    """List every grouping: its paper, whether it splits keys, how it runs on Spark, its parameters.

    [bold]Examples[/bold]

    unskew groupings

    unskew groupings --json
    """
    from unskew.groupings.registry import GROUPINGS, default_parameters
    from unskew.reports.measurement import to_plain

    listed = [
        {
            "name": name,
            "summary": _summary(scheme),
            "paper": scheme.paper,
            "splits_keys": bool(scheme(_ANY_WORKERS).splits_keys),
            "needs_costs": scheme.needs_costs,
            "memory_grows": scheme.memory_grows,
            "spark": scheme.spark,
            "takes_weights": scheme.takes_weights,
            "parameters": to_plain(default_parameters(scheme)),
        }
        for name, scheme in GROUPINGS.items()
    ]
    if json:
        typer.echo(writer.dumps({"groupings": listed}))
    else:
        _print_groupings(listed)


def _summary(scheme: type) -> str:
    return (scheme.__doc__ or "").strip().partition("\n")[0].removesuffix(" [1].").rstrip(".")


def _print_groupings(listed: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    from unskew.cli._terminal import FittingTable, console

    table = FittingTable()
    for title in ("grouping", "paper", "splits keys", "on Spark", "parameters"):
        table.add_column(title, no_wrap=title not in ("paper", "parameters"))
    for each in listed:
        values = [f"{name}={_written(value)}" for name, value in each["parameters"].items()]
        splits = "yes" if each["splits_keys"] else "no"
        on_spark = each["spark"] or "–"
        table.add_row(
            each["name"], escape(each["paper"]), splits, on_spark, escape(" ".join(values))
        )
    out = console()
    out.print(table)
    out.print("Give parameters after the name: --grouping partial-key:choices=3,load=global")
    costly = ", ".join(each["name"] for each in listed if each["needs_costs"])
    out.print(f"Only for streams whose rows have costs: {costly}")
    weighing = ", ".join(each["name"] for each in listed if each["takes_weights"])
    out.print(f'On Spark with weight="measured": {weighing}')


def _written(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


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
        _print_streams(listed)


def _print_streams(listed: list[dict[str, Any]]) -> None:
    from rich.markup import escape

    from unskew.cli._terminal import FittingTable, console

    table = FittingTable()
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
