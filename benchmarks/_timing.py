"""Time things beside each other, so that a noisy machine disturbs all of them alike."""

import statistics
import time
from collections.abc import Callable, Mapping

from rich.console import Console
from rich.table import Table


def interleaved(actions: Mapping[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """Return the median seconds of each action; every round runs all of them once.

    One round goes before that is not counted: it compiles and warms.
    """
    seconds: dict[str, list[float]] = {name: [] for name in actions}
    for round_number in range(rounds + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            if round_number:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def show(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a table."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*row)
    Console(width=100).print(table)
