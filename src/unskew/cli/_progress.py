"""A progress bar on stderr, if someone is there to look at it."""

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class Display:
    """Show how far a run has come; says nothing unless stderr is a terminal.

    Parameters
    ----------
    rows
        Rows that all runs together will have; None where it is not known.
    wanted
        Whether the user wants to see it.
    """

    def __init__(self, rows: int | None, *, wanted: bool = True) -> None:
        shown = wanted and sys.stderr is not None and sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(show_speed=True),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            disable=not shown,
        )
        self._task = self._bar.add_task("", total=rows)

    def say(self, text: str) -> None:
        """Say what is being done."""
        self._bar.update(self._task, description=text)

    def advance(self, rows: int) -> None:
        """Count rows that are done."""
        self._bar.advance(self._task, rows)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
