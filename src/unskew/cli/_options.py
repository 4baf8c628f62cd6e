"""The options that several commands have, each said once."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

DEFAULT_STREAM = "zipf:keys=100000,exponent=1.2,rows=1000000"
_COLUMN = re.compile(r"(?:`(?:[^`]|``)*`|[^,`])+")
_RUN, _COSTS, _OUT = "How it runs", "Streams with costs", "What you get"


def listed_columns(values: Sequence[str]) -> list[str]:
    """Return the columns that an option names: given several times, or with commas between.

    A comma in a name stands between back quotes.

    >>> listed_columns(["day, user", "item"]), listed_columns(["`a,b`"])
    (['day', 'user', 'item'], ['a,b'])
    """
    names = [name for value in values for name in _COLUMN.findall(value)]
    return [re.sub(r"^`(.*)`$", r"\1", name.strip()).replace("``", "`") for name in names]


Json: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object and nothing else. Default: a table.",
        show_default=False,
        rich_help_panel=_OUT,
    ),
]
Workers: TypeAlias = Annotated[
    int,
    typer.Option("--workers", "-w", help="Number of workers that receive rows, 1 to 1,000,000."),
]
StreamSpec: TypeAlias = Annotated[
    str,
    typer.Option(
        "--stream",
        help="The rows: NAME:parameter=value,… or file:PATH?key=COLUMN; see 'unskew streams'.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", help="Picks rows and hash functions; equal seeds, equal results.")
]
SourceCount: TypeAlias = Annotated[
    int,
    typer.Option(
        "--sources",
        "-s",
        help="Number of sources that send rows, each with a state of its own.",
        rich_help_panel=_RUN,
    ),
]
Feed: TypeAlias = Annotated[
    str,
    typer.Option(
        "--feed",
        help="Which source sends a row: one after the other, or always the same one for a key.",
        metavar="round-robin|key",
        rich_help_panel=_RUN,
    ),
]
Learn: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--learn",
        help="Share of the rows, from the start, to learn from; they are not measured. "
        "Default: 0.2 if a scheme that learns takes part and there is no --epoch, else 0.",
        show_default=False,
        rich_help_panel=_RUN,
    ),
]
Epoch: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--epoch",
        help="Rows after which a scheme that learns plans again. Default: it plans once.",
        show_default=False,
        rich_help_panel=_RUN,
    ),
]
Weighted: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--weighted",
        help="Take the costs of the rows for their load. Default: every row counts 1.",
        show_default=False,
        rich_help_panel=_COSTS,
    ),
]
OverProvisioning: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--over-provisioning",
        help="Capacity of the workers, divided by what arrives. Default: 1.0, just enough.",
        show_default=False,
        rich_help_panel=_COSTS,
    ),
]
Speeds: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--speeds",
        help="Factors on execution times, one per worker: 1.1,1,0.9; or phases, each from a row "
        "on: '0:1.1,1,0.9;75000:0.9,1,1.1'. Default: all 1.",
        show_default=False,
        metavar="FACTORS",
        rich_help_panel=_COSTS,
    ),
]
Report: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Also write an HTML page with charts; it works offline. Default: no page.",
        show_default=False,
        metavar="FILE.html",
        rich_help_panel=_OUT,
    ),
]
NoProgress: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-progress",
        help="Show no progress bar. Default: a bar on stderr if that is a terminal.",
        show_default=False,
        rich_help_panel=_OUT,
    ),
]
