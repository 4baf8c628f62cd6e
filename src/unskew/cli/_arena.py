"""``unskew compare --arena``: run it, print who is on the front, write the page."""

import json as writer
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from unskew.cli._terminal import FittingTable, ProgressDisplay, console
from unskew.groupings.base import Grouping
from unskew.groupings.registry import make_grouping
from unskew.reports.arena import EXPLANATION, render_arena
from unskew.reports.page import check_report, write_page
from unskew.simulator.arena import STREAMS, WORKERS, Bout, run_arena, sentence, standings
from unskew.streams.base import Stream


def compare_in_the_arena(
    specs: Sequence[str] | None,
    stream: str | None,
    workers: int | None,
    *,
    seed: int,
    json: bool,
    report: Path | None,
    arguments: Sequence[str],
    show: bool,
) -> None:
    """Run the arena, or the part of it that was asked for, and hand over what it gave."""
    if report is not None:
        check_report(report)

    def named(_: Stream, size: int) -> dict[str, Grouping]:
        return {spec: make_grouping(spec, size, seed=seed) for spec in specs or ()}

    with ProgressDisplay(None, wanted=show) as display:

        def say(bout: Bout) -> None:
            display.say(f"{bout.stream}, W = {bout.workers:,}: {bout.grouping}")

        bouts = run_arena(
            STREAMS if stream is None else [stream],
            WORKERS if workers is None else [workers],
            groupings=named if specs else None,
            seed=seed,
            on_bout=say,
        )
    if report is not None:
        command = shlex.join(["unskew", *arguments])
        write_page(report, render_arena(bouts, command=command))
    if json:
        found = [asdict(each) for each in bouts]
        fronts = {each: sentence(each, bouts) for each in dict.fromkeys(b.stream for b in bouts)}
        typer.echo(writer.dumps({"bouts": found, "fronts": fronts}, allow_nan=False))
        return
    _print(bouts)
    if report is not None:
        console().print(f"report: {report}")


def _print(bouts: Sequence[Bout]) -> None:
    out = console()
    for stream in dict.fromkeys(each.stream for each in bouts):
        out.print(sentence(stream, bouts), soft_wrap=True, markup=False)
    table = FittingTable(least=["ns per row"])
    table.add_column("grouping", no_wrap=True)
    for title in ("on the front", "median λ %", "replication", "p99", "ns per row"):
        table.add_number(title)
    for each in standings(bouts):
        table.add_row(
            each.grouping,
            f"{each.fronts} of {each.bouts}",
            f"{each.imbalance_percent:.3g}",
            f"{each.replication:.3f}",
            f"{each.p99:,.1f}",
            f"{each.ns_per_row:,.0f}",
        )
    out.print(table)
    out.print(EXPLANATION, soft_wrap=True, markup=False)
