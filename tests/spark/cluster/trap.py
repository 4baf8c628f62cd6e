"""A place in a task where an executor waits until it is killed: once, and provably.

Tasks and driver talk through the files of one folder, which all of them see.
"""

import functools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark import TaskContext

Batches = Iterator[pa.RecordBatch]
_PATIENCE = 300.0


class Visit(NamedTuple):
    """A task that came by: its partition, and the process id of its executor."""

    partition: int
    executor: int


class Trap:
    """A step of a query in which one executor, and no other, is killed in the middle of its rows.

    It is killed when another executor is done with at least one task of the step, so that the
    driver has results that stand beside those it has to make again.

    Parameters
    ----------
    folder
        A folder of its own.
    armed
        If not, `arm` has to be called first.
    """

    def __init__(self, folder: Path, *, armed: bool = True) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        if armed:
            self.arm()

    def arm(self) -> None:
        """Let the next task that comes by be trapped; a thread of the driver kills its executor.

        What was noted so far is forgotten, so there must be no task in the step.
        """
        for path in self._folder.glob("visit-*"):
            path.unlink()
        (self._folder / "armed").touch()
        threading.Thread(target=self._kill, daemon=True).start()

    def enter(self) -> bool:
        """Note the task; True if its partition was worked on by another executor before."""
        partition, executor = _context().partitionId(), _executor()
        (self._folder / f"visit-{_context().taskAttemptId()}-{partition}-{executor}").touch()
        return any(v.partition == partition and v.executor != executor for v in self.visits())

    def wait(self) -> None:
        """Stay here until the executor is dead, if this is the task that was chosen for that."""
        if not (self._folder / "armed").exists():
            return
        try:
            (self._folder / "claimed").touch(exist_ok=False)
        except FileExistsError:
            return
        own = _executor()
        wait_for(lambda: self._has_finished_a_task(but=own))
        write_whole(self._folder / "victim", f"{_context().partitionId()} {own}")
        wait_for((self._folder / "killed").exists)

    def visits(self) -> list[Visit]:
        """Return which partitions were worked on, and where, in the order of their tasks."""
        names = [path.name.split("-")[1:] for path in self._folder.glob("visit-*")]
        return [Visit(*task[1:]) for task in sorted(list(map(int, name)) for name in names)]

    def victim(self) -> Visit | None:
        """Return the task whose executor was killed, if one was."""
        if not (self._folder / "killed").exists():
            return None
        partition, executor = (self._folder / "victim").read_text().split()
        return Visit(int(partition), int(executor))

    def was_repeated(self) -> bool:
        """Whether another executor took over the task of the one that was killed."""
        victim = self.victim()
        if victim is None or is_executor(victim.executor):
            return False
        visits = self.visits()
        later = visits[visits.index(victim) + 1 :]
        return any(v.partition == victim.partition and v.executor != victim.executor for v in later)

    def _has_finished_a_task(self, *, but: int) -> bool:
        # An executor of one core that is at its second task is done with the first.
        others = [visit for visit in set(self.visits()) if visit.executor != but]
        return len(others) > len({visit.executor for visit in others})

    def _kill(self) -> None:
        wait_for((self._folder / "victim").exists)
        executor = int((self._folder / "victim").read_text().split()[1])
        os.kill(executor, signal.SIGKILL)
        wait_for(lambda: not is_executor(executor))
        (self._folder / "killed").touch()


def trapped(trap: Trap, *, turned: bool = False) -> Callable[[Batches], Batches]:
    """Return a step for ``mapInArrow`` that changes no row and has ``trap`` in its middle.

    With ``turned`` a task that is repeated elsewhere gives its rows in the opposite order: Spark
    promises none for rows that come from a shuffle.
    """

    def step(batches: Batches) -> Batches:
        again = trap.enter()
        for batch in batches:
            order = range(batch.num_rows - 1, -1, -1) if again and turned else range(batch.num_rows)
            rows = batch.take(pa.array(order, pa.int64()))
            yield rows.slice(0, batch.num_rows // 2)
            trap.wait()
            yield rows.slice(batch.num_rows // 2)

    return step


def is_executor(pid: int) -> bool:
    """Whether a process is there and is an executor of Spark."""
    return "CoarseGrainedExecutorBackend" in _ps(pid, "args")


def write_whole(path: Path, text: str) -> None:
    """Write a file that nobody sees half written."""
    half = path.with_suffix(".half")
    half.write_text(text)
    half.replace(path)


def wait_for(there: Callable[[], bool]) -> None:
    """Return as soon as something is there, or raise if that takes too long."""
    deadline = time.monotonic() + _PATIENCE
    while not there():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not happen")
        time.sleep(0.02)


@functools.cache
def _executor() -> int:
    """Return the process id of the executor: the parent of the daemon that is our parent."""
    pid = int(_ps(os.getppid(), "ppid"))
    if not is_executor(pid):
        raise RuntimeError(f"process {pid} is no executor: {_ps(pid, 'args')}")
    return pid


def _ps(pid: int, field: str) -> str:
    command = ["ps", "-ww", "-o", f"{field}=", "-p", str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("a trap works only inside of a task")
    return context
