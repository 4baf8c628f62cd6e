"""What is done with a sample before a batch is placed: its keys are worked on, and timed.

Runs inside Spark's Python workers: imports nothing but PyArrow and the errors.
"""

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import TypeAlias

import pyarrow as pa

from unskew.spark._key_times import Clock
from unskew.spark._whole_groups import gathered_groups

Batches: TypeAlias = Iterator[pa.RecordBatch]

MEASURED = pa.schema([("id", pa.int64()), ("rows", pa.int64()), ("seconds", pa.float64())])
"""What is measured: a row a key and task."""


def measuring_step(
    call: Callable[[pa.Table], object],
    names: Sequence[str],
    keys: Sequence[str],
    *,
    clock: Clock = perf_counter,
) -> Callable[[Batches], Batches]:
    """Return the function that times ``call`` on the rows of each key, and gives out just that.

    Before that it calls once for a single row: what a function loads or connects to when it is
    first used is no matter of the key.

    Parameters
    ----------
    call
        Works on rows of one key.
    names
        The columns; the last one has the identities.
    keys
        The key columns.
    clock
        Seconds that never go back.

    Examples
    --------
    >>> ticks = iter([0.0, 3.0, 3.0, 4.0])
    >>> step = measuring_step(len, ["k", "id"], ["k"], clock=lambda: next(ticks))
    >>> rows = pa.record_batch({"c0": ["a", "b", "a"], "c1": [70, 80, 70]})
    >>> next(step(iter([rows]))).to_pydict()
    {'id': [70, 80], 'rows': [2, 1], 'seconds': [3.0, 1.0]}
    """
    own = list(names)

    def measure(batches: Batches) -> Batches:
        ids: list[int] = []
        rows: list[int] = []
        seconds: list[float] = []
        named = (batch.rename_columns(own) for batch in batches)
        for whole in gathered_groups(named, keys):
            group = whole.drop_columns(own[-1])
            if not ids:
                call(group.slice(0, 1))
            begin = clock()
            call(group)
            seconds.append(clock() - begin)
            ids.append(whole[own[-1]][0].as_py())
            rows.append(group.num_rows)
        yield pa.RecordBatch.from_pydict(
            {"id": ids, "rows": rows, "seconds": seconds}, schema=MEASURED
        )

    return measure
