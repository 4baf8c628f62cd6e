"""The steps of ``unskew reproduce``: choose, calibrate, run, report."""

import json
import shlex
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from unskew._validation import check_choice, check_int
from unskew.cli._interrupts import Interrupt, noting_interrupts
from unskew.cli._terminal import FittingTable, ProgressDisplay, console
from unskew.errors import InvalidParameterError, UnskewError
from unskew_papers import results, running
from unskew_papers.engines.calibration import calibration_in
from unskew_papers.experiment import ENGINES, SIZES, SPARK, Experiment
from unskew_papers.processes import processes
from unskew_papers.report import MARKS, UNEXPLAINED, shown, tally, verdict_of
from unskew_papers.rows import Rows
from unskew_papers.svg import require_matplotlib

_MOST_ROWS_SHOWN = 60
_COLOURS = {"holds": "green", "overshoots": "yellow", "fails": "red"}

Finished = list[tuple[dict[str, Any], Rows]]


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    size: str
    seed: int
    out: Path
    fresh: bool
    jobs: int
    show: bool


def list_experiments(experiments: Sequence[Experiment], *, as_json: bool) -> None:
    """Print id, title, what it runs on and about how long it takes."""
    fields: list[dict[str, Any]] = [
        {
            "id": each.id,
            "title": each.title,
            "runs_on": each.runs_on,
            "data": each.data,
            "claims": len(each.claims),
            "seconds": dict(each.seconds),
        }
        for each in experiments
    ]
    if as_json:
        typer.echo(json.dumps({"experiments": fields}))
        return
    table = FittingTable(least=["claims", "runs on"])
    table.add_column("id", no_wrap=True)
    table.add_column("title")
    for title in ("runs on", "claims", "smoke", "paper"):
        table.add_number(title)
    for row in fields:
        times = [_time_text(row["seconds"].get(size)) for size in ("smoke", "paper")]
        table.add_row(row["id"], escape(row["title"]), row["runs_on"], str(row["claims"]), *times)
    console().print(table)


def _time_text(seconds: float | None) -> str:
    """Say about how long it takes.

    >>> _time_text(4), _time_text(600), _time_text(None)
    ('4 s', '10 min', '–')
    """
    if seconds is None:
        return "–"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def check_engine(on: str | None) -> None:
    """Refuse an engine that there is not."""
    if on is not None:
        check_choice("reproduce", "--on", on, list(ENGINES))


def check(size: str, jobs: int, names: Sequence[str] | None, report: Path | None) -> None:
    """Refuse what cannot be done before anything starts."""
    check_choice("reproduce", "--size", size, SIZES)
    check_int("reproduce", "--jobs", jobs, minimum=1)
    require_matplotlib()
    if not names and report is None:
        raise UnskewError(
            "reproduce: nothing to do. Hint: give an id such as partial-key/fig7, a "
            "scheme such as partial-key, or 'all'; --list says what there is"
        )
    if report is not None and report.suffix not in (".html", ".md"):
        raise InvalidParameterError("reproduce", "--report", "a .html or .md file", str(report))


def run_all(experiments: Sequence[Experiment], request: Request) -> Finished:
    """Run the experiments and return what came out; Ctrl-C stops between two units.

    With several processes, those that simulate do so beside Spark, whose workers mostly wait.
    """
    _calibrate(experiments, request)
    total = _prepare(experiments, request)
    simulated = [each for each in experiments if request.jobs > 1 and each.runs_on != SPARK]
    others = [each for each in experiments if each not in simulated]
    with (
        ProgressDisplay(total, wanted=request.show) as display,
        noting_interrupts() as interrupt,
        processes(request.jobs) as pool,
        ThreadPoolExecutor(1) as thread,
    ):
        runner = _Runner(request, pool, display)
        beside = thread.submit(runner.run, simulated, interrupt.check)
        try:
            here = runner.run(others, lambda: _check_both(interrupt, beside))
        except BaseException:
            interrupt.asked_to_stop.set()  # for the thread beside
            raise
        found = {**here, **beside.result()}
    return [found[each.id] for each in experiments]


def _check_both(interrupt: Interrupt, beside: Future[Any]) -> None:
    """Raise if Ctrl-C was pressed, or what went wrong beside."""
    interrupt.check()
    if beside.done():
        beside.result()


@dataclass(frozen=True)
class _Runner:
    """Runs experiments one after the other, and shows how far it has come."""

    request: Request
    pool: Executor | None
    display: ProgressDisplay

    def run(
        self, experiments: Sequence[Experiment], check: Callable[[], None]
    ) -> dict[str, tuple[dict[str, Any], Rows]]:
        """Return summaries and rows by id; ``check`` may stop it between two units."""

        def on_unit() -> None:
            self.display.advance(1)
            check()

        found = {}
        for each in experiments:
            self.display.say(each.id)
            found[each.id] = running.reproduce(
                each,
                self.request.size,
                seed=self.request.seed,
                out=self.request.out,
                on_unit=on_unit,
                pool=self.pool,
            )
        return found


def _calibrate(experiments: Sequence[Experiment], request: Request) -> None:
    """Run what queues are calibrated by, where they are and the results folder has it not yet."""
    if any(each.needs_calibration for each in experiments):
        with ProgressDisplay(None, wanted=request.show) as display:
            display.say("calibrating queues on Spark")
            calibration_in(request.out)


def _prepare(experiments: Sequence[Experiment], request: Request) -> int:
    """Say what cannot be mixed before hours are spent; return how many units there are."""
    for each in experiments:
        if request.fresh:
            running.forget(each, request.size, out=request.out)
        running.open_kept(each, request.size, seed=request.seed, out=request.out)
    return sum(running.count_units(each, request.size, out=request.out) for each in experiments)


def write_report(path: Path, out: Path, arguments: Sequence[str]) -> None:
    """Write the page about all that is in the results folder."""
    from unskew.reports.page import write_page
    from unskew_papers.report import render_markdown, render_page

    summaries = results.read_all(out)
    if not summaries:
        raise UnskewError(
            f"reproduce: no results in {out}. Hint: run 'unskew reproduce all' first, or say --out"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".md":
        page = render_markdown(summaries, shlex.join(["unskew", *arguments]))
    else:
        page = render_page(summaries)
    write_page(path, page)


def hand_over(finished: Finished, request: Request, report: Path | None, *, as_json: bool) -> None:
    """Print rows and claims, as tables or as one JSON object."""
    if as_json:
        fields = [{**summary, "rows": list(rows)} for summary, rows in finished]
        typer.echo(json.dumps({"experiments": fields}, allow_nan=False))
        return
    out = console()
    for summary, rows in finished:
        out.print(f"[bold]{summary['id']}[/bold] {escape(summary['title'])}")
        out.print(f"[dim]{summary['runs_on']}, {request.size}; {escape(summary['data'])}[/dim]")
        out.print(_rows_table(rows))
        if len(rows) > _MOST_ROWS_SHOWN:
            out.print(f"[dim]… {len(rows):,} rows in all[/dim]")
        _print_claims(summary["claims"])
    if finished:
        out.print(tally([summary for summary, _ in finished]))
        out.print(escape(f"results: {request.out}"))
    if report is not None:
        out.print(escape(f"report: {report}"))


def _rows_table(rows: Rows) -> Any:
    table = FittingTable()
    for name in rows.columns:
        table.add_number(escape(name))
    for row in rows[:_MOST_ROWS_SHOWN]:
        table.add_row(*(_cell(row.get(name)) for name in rows.columns))
    return table


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.5g}" if isinstance(value, float) else escape(str(value))


def _print_claims(claims: Sequence[dict[str, Any]]) -> None:
    out = console()
    for each in claims:
        verdict = verdict_of(each)
        out.print(f"[{_COLOURS[verdict]}]{MARKS[verdict]}[/] {escape(each['says'])}")
        out.print(
            f"  [dim]paper: {escape(each['paper'])}; measured:[/dim] {escape(each['measured'])}"
        )
        if not each["holds"]:
            why = " ".join(f"{reason['text']} {shown(reason)}" for reason in each["reasons"])
            out.print(f"  [dim]why: {escape(why or UNEXPLAINED)}[/dim]")
    out.print()
