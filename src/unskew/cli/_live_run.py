"""What a run does, while it does it: a table that grows by a row a micro-batch, and a bar."""

import sys
from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from unskew.cli._tables import new_table
from unskew.events import Epoch, HotKey
from unskew.reports.grouping_run import MeasuredBatch
from unskew.reports.tables import UNKNOWN, count_text, real_text, replication_text

_ROWS_SHOWN = 12
_KEYS_SHOWN = 3
_TITLES = ("rows", "rows/s", "seconds", "λ %", "replication", "keys split", "hottest keys")


class LiveRun:
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
    """Return a table with a row a micro-batch."""
    table = new_table()
    table.add_column("grouping", no_wrap=True)
    table.add_column("batch", justify="right")
    for title in _TITLES:
        table.add_column(title, justify="left" if title == _TITLES[-1] else "right", no_wrap=True)
    for event in events:
        table.add_row(escape(event.grouping), str(event.batch), *_cells(event))
    return table


def _cells(event: Epoch) -> list[str]:
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
