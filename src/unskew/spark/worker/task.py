"""Facts of the running task: its partition, the error of a failed call, the time limit of a row."""

import signal
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import Self, TypeAlias

import pyarrow as pa

from unskew.errors import UnskewError

Batches: TypeAlias = Iterator[pa.RecordBatch]
Step: TypeAlias = Callable[[Batches], Batches]
"""Makes batches out of the batches of a partition; a generator may return bytes for the driver."""


def renamed(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Return ``batch`` with other names (``RecordBatch.rename_columns``, PyArrow 16).

    >>> renamed(pa.RecordBatch.from_pydict({"c0": [1]}), ["n"]).to_pydict()
    {'n': [1]}
    """
    return pa.RecordBatch.from_arrays(batch.columns, names=list(names))


def partition_number() -> int:
    """Return the number of the partition that this task works on, 0 outside of a task.

    It is the number of the worker, but where a union puts other partitions before those of the
    workers: take it modulo the number of workers. Then all are counted, each under a number of its
    own, only not always the one that the plan has for it.

    >>> partition_number()
    0
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def failure(owner: str, step: str, place: str, keys: pa.RecordBatch, error: Exception) -> Exception:
    """Return the error to raise instead of ``error``; ``keys`` begins with the row in question.

    >>> keys = pa.record_batch({"user": ["ann", "bob"]})
    >>> print(failure("Mean", "update", "worker", keys, KeyError("price")))
    Mean: update failed on worker ? at key user='ann': KeyError: 'price'
    """
    names = zip(keys.schema.names, keys.columns, strict=True)
    key = ", ".join(f"{name}={_shown(column[0])}" for name, column in names)
    return UnskewError(
        f"{owner}: {step} failed on {place} {_partition()} at key {key}: "
        f"{type(error).__name__}: {error}"
    )


def _shown(scalar: pa.Scalar) -> str:
    try:
        return repr(scalar.as_py())
    except (ValueError, OverflowError):  # a time that Python's datetime cannot hold
        return str(scalar)


def _partition() -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    return "?" if context is None else str(context.partitionId())


class RowTimeout(BaseException):
    """Raised inside a function that has run too long.

    Not an `Exception`: a function that tries again after every exception must not catch it.
    """


class TimeLimit:
    """Within the ``with`` block, raise `RowTimeout` when a time is over that `start` set.

    Parameters
    ----------
    seconds
        The time for one row; None for no limit, then nothing is done at all.

    Notes
    -----
    The operating system's alarm interrupts Python and what waits (sleep, sockets, files). A call
    into a library that computes without looking back is interrupted when it returns.

    Examples
    --------
    >>> import time
    >>> with TimeLimit(0.01) as limit:
    ...     limit.start(2)
    ...     time.sleep(10)
    Traceback (most recent call last):
    unskew.spark.worker.task.RowTimeout
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    def __enter__(self) -> Self:
        if self._seconds is not None:
            try:
                self._before = signal.signal(signal.SIGALRM, _raise)
            except (AttributeError, ValueError) as error:
                raise UnskewError(
                    "row_timeout needs the operating system's alarm, which this Python has not, "
                    f"or not outside its main thread: {error}."
                ) from error
        return self

    def start(self, rows: int = 1) -> None:
        """Give the function the time for so many rows from now on."""
        if self._seconds is not None:
            # Rings again after as long: Python loses what is raised while it frees an object.
            signal.setitimer(signal.ITIMER_REAL, self._seconds * rows, self._seconds * rows)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)


def _raise(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (a handler gets both)
    raise RowTimeout
