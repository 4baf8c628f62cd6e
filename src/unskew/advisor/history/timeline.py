"""For how long at least one job ran."""

from collections.abc import Mapping
from typing import Any

from unskew.advisor.history.tasks import number


class BusyTime:
    """Adds up the time in which jobs ran, those side by side once.

    >>> busy = BusyTime()
    >>> busy.job_start({"Job ID": 0, "Submission Time": 1000})
    >>> busy.job_start({"Job ID": 1, "Submission Time": 2000})
    >>> busy.job_end({"Job ID": 0, "Completion Time": 3000})
    >>> busy.job_end({"Job ID": 1, "Completion Time": 5000})
    >>> busy.seconds()
    4.0
    """

    def __init__(self) -> None:
        self._running: set[object] = set()
        self._since = 0.0
        self._done = 0.0
        self._first = float("inf")
        self._last = 0.0

    def job_start(self, event: Mapping[str, Any]) -> None:
        """Take in the start of a job."""
        started = number(event.get("Submission Time"))
        if not self._running:
            self._since = started or self._last
        self._running.add(event.get("Job ID"))

    def job_end(self, event: Mapping[str, Any]) -> None:
        """Take in the end of a job."""
        if event.get("Job ID") not in self._running:
            return
        self._running.discard(event.get("Job ID"))
        ended = number(event.get("Completion Time"))
        self._last = max(self._last, ended)
        if not self._running:
            self._add_up_to(self._last)

    def seen(self, launched: float, finished: float) -> None:
        """Take in that a task ran then, in milliseconds: a log may lack the ends of jobs."""
        self._first = min(self._first, launched)
        self._last = max(self._last, finished)

    def seconds(self) -> float:
        """Return the sum; a log without jobs counts from its first task to its last."""
        if self._running:
            self._running.clear()
            self._add_up_to(self._last)
        return (self._done or max(0.0, self._last - self._first)) / 1e3

    def _add_up_to(self, end: float) -> None:
        # Old logs do not tell when a job was submitted: then its first task is the best guess.
        since = self._since or min(self._first, end)
        self._done += max(0.0, end - since)
