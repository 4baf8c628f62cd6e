"""Check the settings of ``unskew run``, show micro-batches as they end, and hand over results."""

import json
import shlex
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from unskew._validation import check_int, check_real
from unskew.cli._terminal import FittingTable, console, print_meanings, table_of
from unskew.errors import InvalidParameterError, MissingExtraError
from unskew.events import Epoch, HotKey
from unskew.reports.grouping_run import GroupingRun, MeasuredBatch
from unskew.reports.tables import RUN_COLUMNS, UNKNOWN, count_text, real_text, replication_text
from unskew.reports.verdicts import verdict_of_runs

if TYPE_CHECKING:
    from unskew.apps.running.runner import ApplicationRun

_MOST_WORKERS = 10_000
_ROWS_SHOWN = 12
_KEYS_SHOWN = 3
_TITLES = ("rows", "rows/s", "seconds", "λ %", "replication", "keys split", "hottest keys")


@dataclass(frozen=True)
class RunSettings:
    """The options of ``unskew run``, as they were typed."""

    application: str
    source: str
    sink: str
    groupings: tuple[str, ...]
    workers: int
    delay: float
    master: str | None
    batch_rows: int | None
    trigger: float | None
    max_batches: int | None
    warm_up: int
    checkpoint: Path | None
    dead_letters: Path | None
    seed: int

    def check(self, report: Path | None) -> None:
        """Refuse numbers that make no sense, a report nobody could write, a missing Spark."""
        check_int("unskew run", "--workers", self.workers, minimum=1, maximum=_MOST_WORKERS)
        check_real("unskew run", "--delay", self.delay, minimum=0)
        check_int("unskew run", "--warm-up", self.warm_up, minimum=0)
        for name in ("batch_rows", "max_batches"):
            value = getattr(self, name)
            if value is not None:
                check_int("unskew run", f"--{name.replace('_', '-')}", value, minimum=1)
        if self.trigger is not None:
            check_real("unskew run", "--trigger", self.trigger, above=0)
        if len(set(self.groupings)) < len(self.groupings):
            got = ", ".join(self.groupings)
            raise InvalidParameterError("unskew run", "--grouping", "each given once", got)
        if report is not None:
            from unskew.reports.page import check_report

            check_report(report)
        if find_spec("pyspark") is None:
            raise MissingExtraError("unskew run", "pyspark", "spark")

    def to_run(self, folder: Path) -> "ApplicationRun":
        """Return what is to be run, with its record in ``folder``."""
        from unskew.apps.registry import make_application
        from unskew.apps.running.runner import ApplicationRun
        from unskew.apps.running.sinks import parse_sink
        from unskew.apps.running.sources import BatchSizes, parse_source
        from unskew.spark.routing.choosing import AUTO

        application = make_application(self.application)
        pool = (self.checkpoint or folder) / "input"
        # A run that is gone on with may want more than the first one.
        limit = None if self.checkpoint else self.max_batches
        portions = BatchSizes(self.batch_rows, self.trigger, limit, pool)
        return ApplicationRun(
            application=application,
            source=parse_source(self.source, portions),
            sink=parse_sink(self.sink),
            groupings=self.groupings or (AUTO,),
            workers=self.workers,
            folder=folder,
            delay=self.delay / 1000,
            seed=self.seed,
            checkpoint=self.checkpoint,
            batch_rows=self.batch_rows,
            trigger=self.trigger,
            max_batches=self.max_batches,
            warm_up=self.warm_up,
            dead_letters=self.dead_letters,
        )


class LiveTable:
    """Show micro-batches as they end; says nothing unless stderr is a terminal.

    Parameters
    ----------
    batches
        Micro-batches that all groupings together will have; None where it is not known.
    wanted
        Whether the user wants to see it.
    """

    def __init__(self, batches: int | None, *, wanted: bool = True) -> None:
        self._shown = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._events: deque[Epoch] = deque(maxlen=_ROWS_SHOWN)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("micro-batches"),
            TimeElapsedColumn(),
        )
        self._task = self._bar.add_task("starting Spark …", total=batches)
        self._live = Live(
            self._bar, console=Console(stderr=True), transient=True, refresh_per_second=4
        )

    def say(self, text: str) -> None:
        """Say what is being done."""
        self._bar.update(self._task, description=text)

    def add(self, batch: MeasuredBatch) -> None:
        """Show a micro-batch that has ended."""
        self._events.append(batch.epoch)
        self._bar.advance(self._task)
        if self._shown:
            self._live.update(Group(table_of_batches(list(self._events)), self._bar))

    def __enter__(self) -> Self:
        if self._shown:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            self._live.stop()


def table_of_batches(events: list[Epoch]) -> Table:
    """Return a table with a row per micro-batch."""
    table = FittingTable()
    table.add_column("grouping", no_wrap=True)
    for title in ("batch", *_TITLES[:-1]):
        table.add_number(title)
    table.add_column(_TITLES[-1])
    for event in events:
        table.add_row(escape(event.grouping), str(event.batch), *_batch_cells(event))
    return table


def _batch_cells(event: Epoch) -> list[str]:
    speed = UNKNOWN if event.rows_per_second is None else real_text(event.rows_per_second)
    copies = UNKNOWN if event.replication is None else replication_text(event.replication)
    return [
        count_text(event.rows),
        speed,
        real_text(event.seconds or 0.0),
        real_text(event.imbalance) if event.loads else UNKNOWN,
        copies,
        UNKNOWN if event.split_keys is None else count_text(event.split_keys),
        escape(", ".join(_spelled(key) for key in event.hot_keys[:_KEYS_SHOWN])) or UNKNOWN,
    ]


def _spelled(key: HotKey) -> str:
    """Return a key and its share of the rows.

    >>> _spelled(HotKey("the", 0.0842, ()))
    'the 8.4 %'
    """
    return f"{key.key[:20]} {100 * key.share:.1f} %"


@dataclass(frozen=True)
class RunOutput:
    """Where the user wants the outcome.

    Parameters
    ----------
    json, report, arguments
        As in `Output`.
    facts
        Names and texts of what all groupings had in common.
    """

    json: bool
    report: Path | None
    arguments: Sequence[str]
    facts: Sequence[tuple[str, str]]

    def hand_over(
        self, runs: Sequence[GroupingRun], fields: dict[str, Any], notes: Sequence[str]
    ) -> None:
        """Write the report, then print JSON or a table with ``notes`` below it."""
        if self.report is not None:
            self._write_report(self.report, runs, notes)
        if self.json:
            results = [run.to_json() for run in runs]
            typer.echo(
                json.dumps({**fields, "results": results, "notes": list(notes)}, allow_nan=False)
            )
            return
        out = console()
        if verdict := verdict_of_runs(runs):
            out.print(f"[bold]{escape(verdict)}[/bold]\n")
        for name, text in self.facts:
            out.print(f"[dim]{name:9}[/dim]{escape(text)}")
        out.print(table_of(RUN_COLUMNS, runs))
        print_meanings(out, RUN_COLUMNS)
        for note in [*notes, *([f"report: {self.report}"] if self.report else [])]:
            out.print(escape(note))

    def _write_report(self, path: Path, runs: Sequence[GroupingRun], notes: Sequence[str]) -> None:
        from unskew.reports.page import render_run, write_page

        command = shlex.join(["unskew", *self.arguments])
        title = f"{self.arguments[1] if len(self.arguments) > 1 else 'run'} · unskew run"
        page = render_run(runs, title=title, command=command, facts=self.facts, notes=notes)
        write_page(path, page)
