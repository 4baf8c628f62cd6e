"""The Python step of `map_batches`: call a function with batches of like rows, and time each call.

Runs inside Spark's Python workers.
"""

from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.spark._results import as_promised
from unskew.spark._row_timeout import RowTimeout, TimeLimit
from unskew.spark._task import partition_number
from unskew.spark._timed_step import Batches, IdentifiedBatch, Listener, TimedStep, UserFunction

BatchFunction: TypeAlias = Callable[[pa.RecordBatch], pa.RecordBatch | pa.Table]

# Rows are gathered before they are sorted: the more there are, the more calls have but one key.
_ROUND_ROWS = 131_072
_ROUND_BYTES = 64 * 2**20


class TimedBatches(TimedStep):
    """Call ``function`` with up to ``batch_rows`` rows at a time, those of a key together.

    Parameters
    ----------
    called
        The user's function and what is said of it in errors.
    promised
        The columns that it has to return.
    batch_rows
        The most rows of a call.
    """

    def __init__(self, called: UserFunction, promised: pa.Schema, batch_rows: int) -> None:
        self._called = called
        self._promised = promised
        self._batch_rows = batch_rows

    def run(self, batches: Iterator[IdentifiedBatch], listener: Listener | None) -> Batches:
        """Give out what the function makes of the rows; tell ``listener`` what each call took."""
        for rows, ids in _sorted_rounds(batches):
            for begin in _begins(rows.num_rows, self._batch_rows):
                part = rows.slice(begin, self._batch_rows)
                result, seconds = self._call(part)
                if listener is not None:
                    listener.take_call(ids[begin : begin + self._batch_rows], seconds)
                yield from result.to_batches()

    def _call(self, part: pa.RecordBatch) -> tuple[pa.Table, float]:
        called = self._called
        try:
            with TimeLimit(called.row_timeout) as limit:
                begin = perf_counter_ns()
                limit.start(part.num_rows)
                result = called.function(part)
                seconds = (perf_counter_ns() - begin) * 1e-9
            return as_promised(result, self._promised, called.name), seconds
        except (Exception, RowTimeout) as error:
            raise called.failed(part, error) from error


def _sorted_rounds(
    batches: Iterator[IdentifiedBatch],
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint64]]]:
    """Gather batches and sort their rows by identity."""
    held: list[IdentifiedBatch] = []
    rows = size = 0
    for batch, ids in batches:
        held.append((batch, ids))
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROUND_ROWS or size >= _ROUND_BYTES:
            yield _sorted(held)
            held, rows, size = [], 0, 0
    if held:
        yield _sorted(held)


def _sorted(held: list[IdentifiedBatch]) -> tuple[pa.RecordBatch, NDArray[np.uint64]]:
    ids = np.concatenate([ids for _, ids in held])
    order = np.argsort(ids, kind="stable")
    table = pa.Table.from_batches([batch for batch, _ in held]).take(pa.array(order))
    # One batch: gathered rows are far fewer than would make Arrow cut a column.
    return table.combine_chunks().to_batches()[0], ids[order]


def _begins(rows: int, batch_rows: int) -> list[int]:
    """Return where the calls begin, on every worker from another one on.

    What the first call of a task takes is not learned from; so it must not be the same keys' on
    all workers.
    """
    begins = list(range(0, rows, batch_rows))
    first = partition_number() % len(begins)
    return begins[first:] + begins[:first]
