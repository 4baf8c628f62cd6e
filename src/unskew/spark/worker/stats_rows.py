"""A step that ends its output with one more row: what it did, for the driver.

Imports nothing but PyArrow and the errors.
"""

from time import perf_counter

import pyarrow as pa

from unskew.spark.worker.results import in_schema
from unskew.spark.worker.task import Batches, Step, partition_number

STATS_TYPE = pa.struct(
    [
        ("worker", pa.int32()),
        ("rows", pa.int64()),
        ("seconds", pa.float64()),
        ("payload", pa.binary()),
    ]
)
"""What a step says of itself: its partition, rows that it took in, seconds that it was busy."""


def with_stats(step: Step, schema: pa.Schema, name: str) -> Step:
    """Return ``step`` with a column of stats: null for its own rows, set in one last row.

    The step is busy while it works, not while it waits for rows or for who takes its results. A
    step that is a generator and returns bytes sends them to the driver as its payload.

    Parameters
    ----------
    step
        Makes batches out of a partition's batches.
    schema
        What ``step`` gives.
    name
        The column of stats, which comes last.

    Examples
    --------
    >>> def double(batches):
    ...     for batch in batches:
    ...         yield pa.record_batch({"n": pa.compute.multiply(batch["n"], 2)})
    ...     return b"all doubled"
    >>> import pyarrow.compute
    >>> noted = with_stats(double, pa.schema([pa.field("n", pa.int64(), nullable=False)]), "stats")
    >>> first, last = noted(iter([pa.record_batch({"n": [1, 2]})]))
    >>> first.to_pylist()
    [{'n': 2, 'stats': None}, {'n': 4, 'stats': None}]
    >>> stats = last["stats"][0].as_py()
    >>> last["n"].to_pylist(), stats["rows"], stats["seconds"] > 0, stats["payload"]
    ([0], 2, True, b'all doubled')
    """
    noted = schema.append(pa.field(name, STATS_TYPE))

    def work(batches: Batches) -> Batches:
        pa.array([None])  # loads pandas, if it is there, when first called: not the step's time
        meter = _Meter()
        results = iter(step(meter.watched(batches)))
        while True:
            meter.start()
            try:
                batch = next(results)
            except StopIteration as end:
                meter.stop()
                payload = end.value
                break
            meter.stop()
            yield _without_stats(batch, noted)
        yield _stats_row(noted, meter, payload)

    return work


class _Meter:
    """Counts what a step takes in, and the seconds between start and stop."""

    def __init__(self) -> None:
        self.rows = 0
        self.seconds = 0.0
        self._since = 0.0

    def start(self) -> None:
        self._since = perf_counter()

    def stop(self) -> None:
        self.seconds += perf_counter() - self._since

    def watched(self, batches: Batches) -> Batches:
        """Give the batches on, and let the clock stand still while they are waited for."""
        while True:
            self.stop()
            batch = next(batches, None)
            self.start()
            if batch is None:
                return
            self.rows += batch.num_rows
            yield batch


def _without_stats(batch: pa.RecordBatch, noted: pa.Schema) -> pa.RecordBatch:
    # All batches of a partition must have one schema, down to whether a column has nulls.
    columns = [*batch.columns, pa.nulls(batch.num_rows, STATS_TYPE)]
    return in_schema(pa.RecordBatch.from_arrays(columns, names=noted.names), noted)


def _stats_row(noted: pa.Schema, meter: _Meter, payload: bytes | None) -> pa.RecordBatch:
    stats = {
        "worker": partition_number(),
        "rows": meter.rows,
        "seconds": meter.seconds,
        "payload": payload,
    }
    columns = [*map(_no_value, list(noted)[:-1]), pa.array([stats], STATS_TYPE)]
    return pa.RecordBatch.from_arrays(columns, schema=noted)


def _no_value(field: pa.Field) -> pa.Array:
    """Return one null, or where the column has none a value that nobody will look at."""
    return pa.nulls(1, field.type) if field.nullable else _zero(field.type)


def _zero(kind: pa.DataType) -> pa.Array:
    """Return one zero, one empty text, one empty list.

    >>> kinds = [pa.int8(), pa.string(), pa.decimal128(9, 2), pa.timestamp("us", "UTC")]
    >>> [_zero(kind).null_count for kind in kinds]
    [0, 0, 0, 0]
    >>> _zero(pa.struct([pa.field("a", pa.list_(pa.int8()), nullable=False)])).to_pylist()
    [{'a': []}]
    """
    if pa.types.is_struct(kind):
        fields = list(kind)
        return pa.StructArray.from_arrays([_zero(one.type) for one in fields], fields=fields)
    if pa.types.is_nested(kind):
        return pa.array([[]], kind)
    nothing = pa.nulls(1, kind)
    if pa.types.is_null(kind):
        return nothing
    # The bytes under a null are zeros: it takes only to forget that it is one.
    return pa.Array.from_buffers(kind, 1, [None, *nothing.buffers()[1:]])
