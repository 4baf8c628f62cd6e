"""What the tasks of one stage took and read, kept in a few numbers a task."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.advisor.history.losing import LostTime, lost_time, most_at_a_time
from unskew.advisor.history.plans import Work

_STARTS_OF_PYTHON = ("time to start Python workers", "time to initialize Python workers")


class Spread(NamedTuple):
    """The largest and the middle of what the tasks of a stage had."""

    max: float
    median: float


class TaskFacts(NamedTuple):
    """What a finished task tells about itself; 0 for what its version of Spark does not say.

    Times are in milliseconds, as Spark writes them; ``starting`` is what the task waited for its
    Python worker to start.
    """

    launched: int
    finished: int
    records: int
    shuffle_bytes: int
    starting: int


class TaskColumns(NamedTuple):
    """The same of many tasks, a column each."""

    launched: "array[int]"
    finished: "array[int]"
    records: "array[int]"
    shuffle_bytes: "array[int]"
    starting: "array[int]"


def task_facts(event: Mapping[str, Any]) -> TaskFacts | None:
    """Return the facts of a task that succeeded, else None."""
    info = event.get("Task Info") or {}
    reason = (event.get("Task End Reason") or {}).get("Reason", "Success")
    launched, finished = number(info.get("Launch Time")), number(info.get("Finish Time"))
    if reason != "Success" or info.get("Failed") or info.get("Killed") or not launched < finished:
        return None
    metrics = event.get("Task Metrics") or {}
    shuffled = metrics.get("Shuffle Read Metrics") or {}
    records = number(shuffled.get("Total Records Read"))
    records = records or number((metrics.get("Input Metrics") or {}).get("Records Read"))
    size = number(shuffled.get("Remote Bytes Read")) + number(shuffled.get("Local Bytes Read"))
    starting = sum(
        number(counted.get("Update"))
        for counted in info.get("Accumulables") or []
        if counted.get("Name") in _STARTS_OF_PYTHON
    )
    return TaskFacts(*map(int, (launched, finished, records, size, starting)))


def number(value: object) -> float:
    """Return a number of a log, which may be text; 0 if it is missing or none.

    >>> number("3600"), number(None), number({})
    (3600.0, 0.0, 0.0)
    """
    try:
        return float(value)  # type: ignore[arg-type] # what is no number is caught
    except (TypeError, ValueError):
        return 0.0


def _no_tasks() -> TaskColumns:
    return TaskColumns(*(array("q") for _ in TaskColumns._fields))


@dataclass
class StageTasks:
    """The finished tasks of a stage, and what is known of their work.

    Forty bytes a task, and only while the stage runs.
    """

    work: Work = field(default_factory=Work)
    slots: int = 0
    _columns: TaskColumns = field(default_factory=_no_tasks)

    def __len__(self) -> int:
        return len(self._columns.launched)

    def add(self, task: TaskFacts, slots: int) -> None:
        """Take in a task; ``slots`` as they are when it ends, 0 where they are not known."""
        for column, value in zip(self._columns, task, strict=True):
            column.append(value)
        self.slots = max(self.slots, slots)

    def lost(self) -> LostTime:
        """Return what uneven tasks cost."""
        origin = min(self._columns.launched)
        launched = (np.asarray(self._columns.launched) - origin) / 1e3
        finished = (np.asarray(self._columns.finished) - origin) / 1e3
        self.slots = self.slots or most_at_a_time(launched, finished)
        return lost_time(launched, finished, self.slots)

    @property
    def seconds(self) -> NDArray[np.float64]:
        """How long each task held its slot."""
        columns = self._columns
        took: NDArray[np.int64] = np.asarray(columns.finished) - np.asarray(columns.launched)
        return took / 1e3

    @property
    def working_seconds(self) -> NDArray[np.float64]:
        """How long each task worked: without the start of its Python worker."""
        return np.maximum(0.0, self.seconds - np.asarray(self._columns.starting) / 1e3)

    @property
    def records(self) -> NDArray[np.int64]:
        """How many rows each read, from a shuffle or a file."""
        return np.asarray(self._columns.records)

    @property
    def shuffle_bytes(self) -> NDArray[np.int64]:
        """How many bytes each read from a shuffle."""
        return np.asarray(self._columns.shuffle_bytes)


def spread(values: NDArray[Any]) -> Spread:
    """Return the largest and the middle value.

    >>> spread(np.array([1, 2, 9]))
    Spread(max=9.0, median=2.0)
    """
    return Spread(float(values.max()), float(np.median(values)))
