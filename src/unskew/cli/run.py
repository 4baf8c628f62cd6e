"""``unskew run``: an application on Spark, over a stream, under one grouping after another."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli import _options as options
from unskew.cli.dashboard import Host, NoBrowser, Port, announce
from unskew.errors import InvalidParameterError

if TYPE_CHECKING:
    from unskew.apps.running.runner import ApplicationRun
    from unskew.reports.grouping_run import GroupingRun

_WORK, _STREAM, _KEEP = "Work", "Stream", "What is kept"


def run(
    context: typer.Context,
    application: Annotated[
        str,
        typer.Argument(
            metavar="APP", help="The application, NAME or NAME:parameter=value,…; see below."
        ),
    ],
    source: Annotated[
        str,
        typer.Option(
            "--source",
            help="Where rows come from: built-in (real data), rate:ROWS_PER_SECOND, files:DIR "
            "(Parquet, JSON lines, CSV; watched) or kafka:TOPIC@HOST:PORT.",
            rich_help_panel=_STREAM,
        ),
    ] = "built-in",
    sink: Annotated[
        str,
        typer.Option(
            "--sink",
            help="Where results go: none, console, memory, parquet:DIR or kafka:TOPIC@HOST:PORT.",
            rich_help_panel=_STREAM,
        ),
    ] = "none",
    grouping: Annotated[
        list[str] | None,
        typer.Option(
            "--grouping",
            "-g",
            help="A scheme, NAME or NAME:parameter=value,…, or 'auto' for what fits the work; give "
            "several to compare them on the same input. Default: auto.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", "-w", help="Number of workers that share the work.")
    ] = 8,
    delay: Annotated[
        float,
        typer.Option(
            "--delay",
            help="Milliseconds of work per row, done by waiting: a slow call, a database, a model.",
            rich_help_panel=_WORK,
        ),
    ] = 0.0,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            help="Where Spark runs. Default: this machine, with a thread per worker if there is a "
            "--delay, else a thread per processor.",
            show_default=False,
            rich_help_panel=_WORK,
        ),
    ] = None,
    batch_rows: Annotated[
        int | None,
        typer.Option(
            "--batch-rows",
            help="Rows of a micro-batch. Default: 20,000; files: one file per micro-batch.",
            show_default=False,
            rich_help_panel=_STREAM,
        ),
    ] = None,
    trigger: Annotated[
        float | None,
        typer.Option(
            "--trigger",
            help="Seconds from the start of a micro-batch to that of the next. Default: at once.",
            show_default=False,
            rich_help_panel=_STREAM,
        ),
    ] = None,
    max_batches: Annotated[
        int | None,
        typer.Option(
            "--max-batches",
            help="Micro-batches of each grouping. Default: as many as there are; Ctrl-C stops "
            "after the running one.",
            show_default=False,
            rich_help_panel=_STREAM,
        ),
    ] = None,
    warm_up: Annotated[
        int,
        typer.Option(
            "--warm-up",
            help="Micro-batches of each grouping that are not measured: schemes learn, the JVM "
            "compiles.",
        ),
    ] = 1,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="Folder to resume from in the next run. Default: start from the beginning.",
            show_default=False,
            rich_help_panel=_KEEP,
        ),
    ] = None,
    dead_letters: Annotated[
        Path | None,
        typer.Option(
            "--dead-letters",
            help="Folder for records that cannot be read, as text. Default: they are counted.",
            show_default=False,
            rich_help_panel=_KEEP,
        ),
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "--run-dir",
            help="Folder for events.jsonl, a line per micro-batch, plans and queries. "
            "Default: a temporary one.",
            show_default=False,
            rich_help_panel=_KEEP,
        ),
    ] = None,
    ui: Annotated[
        bool,
        typer.Option("--ui", help="Follow the run on a page in the browser.", show_default=False),
    ] = False,
    host: Host = None,
    port: Port = None,
    no_browser: NoBrowser = False,
    seed: options.Seed = 0,
    json: options.Json = False,
    report: options.Report = None,
    no_progress: options.NoProgress = False,
) -> None:
    r"""Run an application on Spark and compare what groupings make of it.

    All groupings get the same rows in the same micro-batches, and all results are exact.

    [bold]Applications[/bold]  wordcount, hashtags, vwap, roads, naive-bayes, heavy-hitters,
    decision-tree, field-grid, enrich

    [bold]Examples[/bold]

    unskew run wordcount -g key -g partial-key -g wrap --delay 0.5 --max-batches 6

    unskew run vwap --source files:trades/ --sink parquet:out --checkpoint state/

    unskew run wordcount --source kafka:words@127.0.0.1:9092 --sink memory
    """
    from tempfile import TemporaryDirectory

    from unskew.cli._application_run import RunSettings

    settings = RunSettings(
        application, source, sink, tuple(grouping or ()), workers, delay, master, batch_rows,
        trigger, max_batches, warm_up, checkpoint, dead_letters, seed,
    )  # fmt: skip
    settings.check(report)
    if not ui and (host is not None or port is not None):
        raise InvalidParameterError(
            "run", "--host and --port", "left out without --ui", host or port
        )
    with TemporaryDirectory(prefix="unskew-run-") as temporary:
        asked = settings.to_run(run_dir or Path(temporary))
        asked.check()
        with _page(asked, host, port, open_browser=not no_browser) if ui else nullcontext():
            runs, stopped = _follow(asked, master, show=not (no_progress or asked.sink.prints))
    if any(each.batches for each in runs):
        _hand_over(asked, runs, json, report, context.obj or [])
    if stopped:
        raise KeyboardInterrupt


@contextmanager
def _page(
    asked: "ApplicationRun", host: str | None, port: int | None, *, open_browser: bool
) -> Iterator[None]:
    """Serve the page of a run as long as it runs."""
    from unskew.dashboard.following import serve_folder

    with serve_folder(asked.folder, title=asked.application.name, host=host, port=port) as page:
        announce(page, open_browser=open_browser, aside=True)
        yield


def _follow(
    asked: "ApplicationRun", master: str | None, *, show: bool
) -> "tuple[list[GroupingRun], bool]":
    """Start Spark, run everything, and say whether it was stopped by Ctrl-C."""
    from unskew.apps.running.run_session import run_session
    from unskew.cli._application_run import LiveTable
    from unskew.cli._interrupts import noting_interrupts

    total = None if asked.max_batches is None else asked.max_batches * len(asked.groupings)
    with LiveTable(total, wanted=show) as live:
        packages = (*asked.source.packages, *asked.sink.packages)
        waits = asked.delay > 0
        spark = run_session(master, workers=asked.workers, waits=waits, packages=packages)
        try:
            with noting_interrupts() as interrupt:
                stop = interrupt.asked_to_stop
                runs = asked.run(spark, asked_to_stop=stop, on_start=live.say, on_batch=live.add)
                return runs, stop.is_set()
        finally:
            spark.stop()


def _hand_over(
    asked: "ApplicationRun",
    runs: "list[GroupingRun]",
    json: bool,
    report: Path | None,
    arguments: list[str],
) -> None:
    from unskew.cli._application_run import RunOutput

    dead = max(each.dead_letters for each in runs)
    notes = [f"{dead:,} records could not be read and were put aside"] if dead else []
    empty = [each.label for each in runs if not each.batches]
    notes += [f"{label}: there were no rows" for label in empty]
    notes += [note for each in runs for note in each.notes]
    notes += [asked.application.note] if asked.application.note else []
    left_out = f" but the first {asked.warm_up}" if asked.warm_up else ""
    facts = [
        ("run", f"{asked.application.spec}: {asked.application.description}"),
        ("source", f"{asked.source.spec}, seed {asked.seed}"),
        ("workers", f"{asked.workers}, {1000 * asked.delay:g} ms of work per row"),
        ("measured", f"all{left_out} micro-batches of each grouping"),
    ]
    fields = {
        "application": asked.application.name,
        "source": asked.source.spec,
        "sink": asked.sink.spec,
        "workers": asked.workers,
        "delay_ms": 1000 * asked.delay,
        "seed": asked.seed,
        "dead_letters": dead,
    }
    shown = [each for each in runs if each.batches]
    RunOutput(json, report, arguments, facts).hand_over(shown, fields, notes)
