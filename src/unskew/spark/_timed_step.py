"""What the two timed steps share: a partition's rows and their identities in, results out.

Runs inside Spark's Python workers.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.spark._failures import failure
from unskew.spark._row_timeout import RowTimeout
from unskew.spark._task import partition_number

if TYPE_CHECKING:
    from unskew.spark._cost_machine import CostMachine
    from unskew.spark.cost_messages import ControlSource, Matrices

Batches: TypeAlias = Iterator[pa.RecordBatch]
Step: TypeAlias = Callable[[Batches], Batches]
MeasuredBatches: TypeAlias = Generator[pa.RecordBatch, None, bytes]
IdentifiedBatch: TypeAlias = tuple[pa.RecordBatch, NDArray[np.uint64]]
"""Rows, and the identity of what each one's cost depends on."""

WORK_DONE = "work_done"
"""The column of measures: a `cost_messages.WorkDone`, as bytes."""


class UserFunction(NamedTuple):
    """A user's function, and what is said when it fails."""

    function: Callable[..., Any]
    name: str
    cost_by: Sequence[str]
    row_timeout: float | None

    def failed(self, rows: pa.RecordBatch, error: Exception | RowTimeout) -> Exception:
        """Return the error to raise; ``rows`` begins with the row in question."""
        if isinstance(error, RowTimeout):
            error = TimeoutError(f"it took longer than row_timeout={self.row_timeout:g} s a row")
        return failure(self.name, "the call", "worker", rows.select(list(self.cost_by)), error)


class Listener(Protocol):
    """Who is told what rows took."""

    def take_rows(self, ids: NDArray[np.uint64], seconds: NDArray[np.float64]) -> None:
        """Take in rows that were timed one by one."""

    def take_call(self, ids: NDArray[np.uint64], seconds: float) -> None:
        """Take in rows that were timed together."""


class TimedStep(Protocol):
    """Work on the rows of a partition; it travels to the task, so it must pickle."""

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out the results; tell ``listener``, if there is one, what rows took."""


def identified(batches: Batches, names: Sequence[str]) -> Iterator[IdentifiedBatch]:
    """Take the last column, the identity, off each batch and give the others their ``names``.

    >>> batch = pa.record_batch([pa.array(["a"]), pa.array([-1])], names=["c0", "c1"])
    >>> rows, ids = next(identified(iter([batch]), ["user"]))
    >>> rows.to_pylist(), ids.tolist()
    ([{'user': 'a'}], [18446744073709551615])
    """
    own = list(names)
    for batch in batches:
        if batch.num_rows:
            ids = batch.column(len(own)).to_numpy(zero_copy_only=False).astype(np.int64)
            yield batch.select(range(len(own))).rename_columns(own), ids.view(np.uint64)


def results_of(step: TimedStep, names: Sequence[str]) -> Step:
    """Return the function for Spark that gives out the results and measures nothing."""

    def work(batches: Batches) -> Batches:
        return step.run(identified(batches, names), None)

    return work


def measured_results_of(
    step: TimedStep, names: Sequence[str], matrices: "Matrices", source: "ControlSource"
) -> Callable[[Batches], MeasuredBatches]:
    """Return the function for Spark that gives out the results, and returns what it measured.

    What it returns are the bytes of a `cost_messages.WorkDone`, the payload for `with_stats`.
    ``source`` tells where the machine of this worker stands, and what was expected of it.
    """

    def work(batches: Batches) -> MeasuredBatches:
        machine = _machine(matrices, source)
        yield from step.run(identified(batches, names), machine)
        return machine.finish(flush=machine.is_waited_for).to_bytes()

    return work


def measures_of(
    step: TimedStep, names: Sequence[str], matrices: "Matrices", source: "ControlSource"
) -> Step:
    """Return the function for Spark that measures rows, and gives out the measures alone."""

    def work(batches: Batches) -> Batches:
        machine = _machine(matrices, source)
        for _ in step.run(identified(batches, names), machine):
            pass
        done = machine.finish(flush=True).to_bytes()
        yield pa.record_batch([pa.array([done], pa.binary())], names=[WORK_DONE])

    return work


def _machine(matrices: "Matrices", source: "ControlSource") -> "CostMachine":
    # Numba, which only those need who measure, takes a second to load.
    from unskew.spark._cost_machine import CostMachine

    return CostMachine(partition_number(), matrices, source.read())
