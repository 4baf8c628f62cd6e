"""Keep a few numbers per task of a stage, and say how much time its uneven tasks lost.

How many tasks could run at a time, and for how long at least one job ran, is kept here as well.
"""

import math
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.advisor.history.plans import StageWork

_START_OF_PYTHON = "time to start Python workers"
_FIRST_ROW_OF_PYTHON = "time to initialize Python workers"


class LostTime(NamedTuple):
    """Seconds that a stage lasted, would have lasted with even tasks, and lost to uneven ones.

    ``idle`` is what it would have lasted less with as many even tasks as slots.
    """

    wall: float
    even: float
    lost: float
    idle: float


def lost_time(launched: NDArray[np.float64], finished: NDArray[np.float64], slots: int) -> LostTime:
    """Return what uneven tasks cost a stage.

    Parameters
    ----------
    launched, finished
        Seconds of each task that succeeded, on one clock; at least one task.
    slots
        Tasks that could run at a time; at least 1.

    Notes
    -----
    Tasks of equal length would have run in ``ceil(tasks / slots)`` waves of the mean task. What the
    stage lasted beyond that is lost, but no more of it than uneven tasks can explain: if all tasks
    have a slot, the longest ends the stage; if not, a stage that hands a free slot the next task
    ends within ``sum / slots + longest · (1 − 1 / slots)`` [1], whatever the order. The rest is
    waiting for others: slots that another stage held, executors that were not there yet.

    References
    ----------
    [1] Graham, "Bounds for certain multiprocessing anomalies", 1966.

    Examples
    --------
    Four tasks on four slots, one of them long: the stage waits for it.

    >>> lost_time(np.zeros(4), np.array([1.0, 1, 1, 9]), slots=4)
    LostTime(wall=9.0, even=3.0, lost=6.0, idle=0.0)

    On two slots, the long task last: the other slot is idle while it ends.

    >>> lost_time(np.array([0.0, 0, 1, 1]), np.array([1.0, 1, 2, 10]), slots=2)
    LostTime(wall=10.0, even=6.0, lost=4.0, idle=0.0)

    Equal tasks that wait for a slot which another stage holds lose nothing:

    >>> lost_time(np.array([0.0, 5.0]), np.array([2.0, 7.0]), slots=2)
    LostTime(wall=7.0, even=2.0, lost=0.0, idle=0.0)

    One task on eight slots is even by itself, and yet lets seven of them wait:

    >>> lost_time(np.zeros(1), np.array([8.0]), slots=8)
    LostTime(wall=8.0, even=8.0, lost=0.0, idle=7.0)
    """
    times = finished - launched
    total, longest, n = float(times.sum()), float(times.max()), len(times)
    wall = float(finished.max() - launched.min())
    even = math.ceil(n / slots) * total / n
    explained = longest if n <= slots else total / slots + longest * (1 - 1 / slots)
    idle = even - total / slots if n < slots else 0.0
    return LostTime(wall, even, max(0.0, min(wall, explained) - even), idle)


def most_at_a_time(launched: NDArray[np.float64], finished: NDArray[np.float64]) -> int:
    """Return how many tasks ran at once, at most: the slots, where a log does not tell them.

    >>> most_at_a_time(np.array([0.0, 0, 1, 1]), np.array([1.0, 1, 2, 10]))
    2
    """
    times = np.concatenate([finished, launched])
    steps = np.repeat([-1, 1], len(launched))
    # Ends come first where times are equal: a slot that is freed is taken at once.
    order = np.lexsort((steps, times))
    return max(1, int(np.cumsum(steps[order]).max()))


class Spread(NamedTuple):
    """The largest and the middle of what the tasks of a stage had."""

    max: float
    median: float


class TaskFacts(NamedTuple):
    """What a finished task tells about itself; 0 for what its version of Spark does not say.

    Times are in milliseconds, as Spark writes them; ``starting`` is what the task waited for its
    Python worker to start, ``collecting`` what its machine took for garbage meanwhile. ``executor``
    is a number that stands for the executor.
    """

    launched: int
    finished: int
    records: int
    shuffle_bytes: int
    starting: int
    collecting: int
    spilled: int
    executor: int


class TaskColumns(NamedTuple):
    """The same of many tasks, a column each."""

    launched: "array[int]"
    finished: "array[int]"
    records: "array[int]"
    shuffle_bytes: "array[int]"
    starting: "array[int]"
    collecting: "array[int]"
    spilled: "array[int]"
    executor: "array[int]"


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
    return TaskFacts(
        launched=int(launched),
        finished=int(finished),
        records=int(records),
        shuffle_bytes=int(size),
        starting=int(min(_start_of_python(info), finished - launched)),
        collecting=int(number(metrics.get("JVM GC Time"))),
        spilled=int(number(metrics.get("Disk Bytes Spilled"))),
        executor=zlib.crc32(str(info.get("Executor ID")).encode()),
    )


def _start_of_python(info: Mapping[str, Any]) -> float:
    """Return the milliseconds that a task waited for its Python worker to start.

    A worker that is used again takes the time since its last task ended for the time "to
    initialize" it, which may be longer than the task: that counts only where one was started.
    """
    found = dict.fromkeys((_START_OF_PYTHON, _FIRST_ROW_OF_PYTHON), 0.0)
    for counted in info.get("Accumulables") or []:
        if counted.get("Name") in found:
            found[counted["Name"]] += number(counted.get("Update"))
    return sum(found.values()) if found[_START_OF_PYTHON] > 0 else 0.0


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

    64 bytes per task, and only while the stage runs.
    """

    work: StageWork = field(default_factory=StageWork)
    slots: int = 0
    elsewhere: float = 0.0
    """Seconds that tasks of other stages held slots meanwhile."""
    _columns: TaskColumns = field(default_factory=_no_tasks)

    def __len__(self) -> int:
        return len(self._columns.launched)

    def add(self, task: TaskFacts, slots: int) -> None:
        """Take in a task; ``slots`` as they are when it ends, 0 where they are not known."""
        for column, value in zip(self._columns, task, strict=True):
            column.append(value)
        self.slots = max(self.slots, slots)

    def shared_with(self, running: Iterable[tuple[float, float]]) -> float:
        """Return for how many seconds tasks of stages that still run may have held slots meanwhile.

        Of each it is known when it was submitted, in milliseconds, and how many tasks it has.
        """
        begin, end = min(self._columns.launched), max(self._columns.finished)
        return sum(max(0.0, end - max(begin, since)) * count / 1e3 for since, count in running)

    def lost(self) -> LostTime:
        """Return what uneven tasks cost."""
        origin = min(self._columns.launched)
        launched = (np.asarray(self._columns.launched) - origin) / 1e3
        finished = (np.asarray(self._columns.finished) - origin) / 1e3
        self.slots = self.slots or most_at_a_time(launched, finished)
        time = lost_time(launched, finished, self.slots)
        return time._replace(idle=max(0.0, time.idle - self.elsewhere / self.slots))

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
    def collecting_seconds(self) -> NDArray[np.float64]:
        """How long garbage was collected where each task ran."""
        return np.asarray(self._columns.collecting) / 1e3

    @property
    def spilled(self) -> NDArray[np.int64]:
        """How many bytes each wrote to disk because they did not fit into memory."""
        return np.asarray(self._columns.spilled)

    @property
    def executors(self) -> NDArray[np.int64]:
        """Where each ran."""
        return np.asarray(self._columns.executor)

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


class Slots:
    """The cores of the executors that are there, divided by what a task takes.

    >>> slots = Slots()
    >>> slots.added({"Executor ID": "1", "Executor Info": {"Total Cores": 8}})
    >>> slots.environment({"Spark Properties": {"spark.task.cpus": "2"}})
    >>> slots.count
    4
    """

    def __init__(self) -> None:
        self._cores: dict[str, int] = {}
        self._cores_per_task = 1

    @property
    def count(self) -> int:
        """The slots at this moment; 0 if the log names no executors."""
        return sum(cores // self._cores_per_task for cores in self._cores.values())

    def environment(self, event: Mapping[str, Any]) -> None:
        """Take in the settings."""
        cores = (event.get("Spark Properties") or {}).get("spark.task.cpus")
        self._cores_per_task = max(1, int(number(cores)))

    def added(self, event: Mapping[str, Any]) -> None:
        """Take in an executor that came."""
        cores = int(number((event.get("Executor Info") or {}).get("Total Cores")))
        self._cores[str(event.get("Executor ID"))] = cores

    def removed(self, event: Mapping[str, Any]) -> None:
        """Take in an executor that went."""
        self._cores.pop(str(event.get("Executor ID")), None)


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
