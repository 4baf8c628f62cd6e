"""``unskew reproduce``: the tables and figures of the papers, and which claims hold."""

from pathlib import Path
from typing import Annotated

import typer

from unskew.cli import _options as options


def reproduce(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID|SCHEME|all]…",
            help="Which: partial-key/fig7, all of partial-key, or 'all'; see --list.",
            show_default=False,
        ),
    ] = None,
    list_them: Annotated[
        bool,
        typer.Option("--list", help="List every experiment and stop.", show_default=False),
    ] = False,
    size: Annotated[
        str,
        typer.Option("--size", help="Reduced, or the paper's own sizes.", metavar="smoke|paper"),
    ] = "smoke",
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            help="Only what runs on this: simulation, queues calibrated on Spark, or Spark itself. "
            "Default: all.",
            metavar="simulation|queues|spark",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", help="Where rows, figures and verdicts go.", metavar="FOLDER"),
    ] = Path("results"),
    seed: options.Seed = 0,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Take away rows that are there already. Default: go on with them.",
            show_default=False,
        ),
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            "-j",
            help="Processes that simulate at the same time, at low priority; with more than one, "
            "beside the figures on Spark.",
        ),
    ] = 1,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            help="Also write one page about all results in --out: .html with figures, "
            "or .md with the claims. Without ids, nothing is run.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    json: options.Json = False,
    no_progress: options.NoProgress = False,
) -> None:
    r"""Run the experiments of the five papers and say which of their claims hold.

    A run that was stopped goes on where it was: rows that are finished are kept in --out.

    [bold]Examples[/bold]

    unskew reproduce --list

    unskew reproduce distribution-aware/table1

    unskew reproduce partial-key --size paper --jobs 2 --report results/index.html

    unskew reproduce all --on simulation --size paper --jobs 2
    """
    from unskew_papers import reproduction as parts
    from unskew_papers.registry import choose

    parts.check_engine(on)
    if list_them:
        parts.list_experiments(choose(names or ["all"], on), as_json=json)
        return
    parts.check(size, jobs, names, report)
    request = parts.Request(size, seed, out, fresh, jobs, show=not no_progress)
    finished = parts.run_all(choose(names or [], on), request)
    if report is not None:
        parts.write_report(report, out, context.obj or [])
    parts.hand_over(finished, request, report, as_json=json)
