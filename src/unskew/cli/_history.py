"""Print what event logs tell: which stages lost most time to uneven tasks."""

import json as writer

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unskew._stores import is_url
from unskew._validation import check_int
from unskew.advisor.history import ApplicationReport, StageReport, read_history
from unskew.cli._terminal import FittingTable, ProgressDisplay, console
from unskew.errors import InvalidParameterError, MissingExtraError

_MEANINGS = (
    "lost: how long the stage lasted beyond equal tasks, one for every slot that was free",
    "of all: that, of the time in which the application's jobs ran; the most that can be won",
)
_UNITS = (("G", 1e9), ("M", 1e6), ("k", 1e3))


def show_history(
    path: str, *, top: int, json: bool, data: str | None = None, progress: bool = True
) -> None:
    """Read the logs at ``path`` and print the worst stages, as a table or one JSON object.

    ``data`` is what the user wants diagnosed beside them: nothing can be.
    """
    check_int("unskew", "--top", top, minimum=1)
    if data is not None:
        raise InvalidParameterError("unskew", "--history", "left out where data are given", data)
    if is_url(path):
        _start_spark()
    with ProgressDisplay(None, wanted=progress and not json) as display:
        history = read_history(path, top=top, on_log=display.say)
    if json:
        typer.echo(writer.dumps(history.to_json(), allow_nan=False))
        return
    out = console()
    for application in history.applications[:top]:
        _print_application(out, application)
    out.print(_table(history.stages, several=len(history.applications) > 1))
    for meaning in _MEANINGS:
        out.print(f"[dim]{escape(meaning)}[/dim]")
    for rank, stage in enumerate(history.stages, start=1):
        _print_advice(out, rank, stage)
    if history.stages:
        out.print("[dim]by symptom: docs/cookbook/README.md[/dim]")
    for reason in history.skipped:
        out.print(escape(f"left out: {reason}"))


def _start_spark() -> None:
    try:
        from unskew.spark.session import session
    except ImportError:
        raise MissingExtraError("--history of a URL", "pyspark", "spark") from None
    session(app_name="unskew diagnose")


def _print_application(out: Console, application: ApplicationReport) -> None:
    lost, jobs = application.lost_seconds, application.job_seconds
    out.print(
        escape(
            f"{application.name or 'unnamed'} ({application.id}, Spark {application.spark_version})"
            f": jobs ran for {_seconds(jobs)}; {application.stages} stages lost {_seconds(lost)} "
            f"to uneven tasks ({application.share(lost):.0%})"
        )
    )
    for note in application.notes:
        out.print(escape(f"  note: {note}"))


def _table(stages: list[StageReport], *, several: bool) -> Table:
    """Return the stages in rows; with the application of each if there are several."""
    table = FittingTable()
    for title in ("", *(("application",) if several else ()), "stage"):
        table.add_column(title)
    for title in ("tasks", "slots", "lost", "of all", "longest task", "median", "most rows",
                  "median", "most shuffled", "median"):  # fmt: skip
        table.add_number(title)
    table.add_column("key")
    for rank, stage in enumerate(stages, start=1):
        first = [str(rank), *([stage.application] if several else [])]
        table.add_row(*map(escape, [*first, *_cells(stage)]))
    return table


def _cells(stage: StageReport) -> list[str]:
    alike = f" and {stage.alike - 1} alike" if stage.alike > 1 else ""
    return [
        f"{stage.stage}{alike}: {stage.name[:40]}",
        str(stage.tasks),
        str(stage.slots),
        _seconds(stage.lost_seconds),
        f"{stage.share_of_job_time:.0%}",
        *map(_seconds, stage.task_seconds),
        *map(_count, stage.records),
        *(f"{_count(size)}B" for size in stage.shuffle_bytes),
        ", ".join(stage.keys) or "not known",
    ]


def _print_advice(out: Console, rank: int, stage: StageReport) -> None:
    unfinished = "" if stage.finished else " (The log does not show its end.)"
    out.print(escape(f"{rank}. {stage.advice.hint}{unfinished}"))
    if stage.advice.code is not None:
        out.print(f"   [bold]{escape(stage.advice.code)}[/bold]")


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 0.05 else f"{value * 1e3:.0f} ms"


def _count(value: float) -> str:
    """Write a number in three figures.

    >>> _count(650), _count(1500.0), _count(2_340_000)
    ('650', '1.5k', '2.34M')
    """
    for letter, size in _UNITS:
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.4g}"
