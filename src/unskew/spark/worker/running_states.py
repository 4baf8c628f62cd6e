"""`GroupedFrame.apply` on a stream: the state of a key lives on from micro-batch to micro-batch.

Partial states go to Spark's state store as bytes: one text for a key, whatever its type, and one
record of Arrow's format for a state. So a key is the same key as in a batch (null, NaN, −0.0), and
`Aggregator.merge` is given the same values.
"""

import hashlib
import json
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from unskew.errors import UnskewError
from unskew.spark.aggregators import Aggregator, State
from unskew.spark.worker.key_groups import key_tokens, normal_floats
from unskew.spark.worker.partial_states import result_batch
from unskew.spark.worker.results import column_arrays, in_schema
from unskew.spark.worker.task import Batches, Step, failure

PACKED = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("row", pa.binary(), nullable=False),
        pa.field("state", pa.binary(), nullable=False),
    ]
)
"""A partial state on its way: what it is grouped by, the key columns, the state."""

_MARK_BYTES = 8


class Packing:
    """How keys and states become bytes and come back.

    Parameters
    ----------
    keys
        The key columns.
    states
        The fields of a state.

    Examples
    --------
    >>> packing = Packing(pa.schema([("user", pa.string())]), pa.schema([("n", pa.int64())]))
    >>> packing.state(packing.packed_states(pa.array([{"n": 3}]))[0], "Count")
    (3,)
    """

    def __init__(self, keys: pa.Schema, states: pa.Schema) -> None:
        self._keys = keys
        self._states = states
        spelled = ", ".join(f"{field.name} {field.type}" for field in states)
        self._mark = hashlib.blake2b(spelled.encode(), digest_size=_MARK_BYTES).digest()

    def packed(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows of key columns and a state as rows of `PACKED`."""
        n_keys = len(self._keys)
        keys = in_schema(partials.select(range(n_keys)), self._keys)
        keys = pa.RecordBatch.from_arrays([*map(normal_floats, keys.columns)], schema=self._keys)
        columns = [
            [_spelled(token) for token in key_tokens(keys.columns)],
            [keys.slice(row, 1).serialize().to_pybytes() for row in range(keys.num_rows)],
            self.packed_states(partials.column(n_keys)),
        ]
        return pa.RecordBatch.from_arrays(
            [pa.array(column, kind) for column, kind in zip(columns, PACKED.types, strict=True)],
            schema=PACKED,
        )

    def packed_states(self, states: pa.StructArray) -> list[bytes]:
        """Return each state as bytes, which say by their first ones what schema it has."""
        rows = in_schema(pa.RecordBatch.from_struct_array(states), self._states)
        return [
            self._mark + rows.slice(row, 1).serialize().to_pybytes() for row in range(len(rows))
        ]

    def packed_state(self, state: State, owner: str) -> bytes:
        """Return what `Aggregator.merge` gave as bytes, or raise if it is no state."""
        columns = column_arrays([state], list(self._states), owner, "the state")
        row = pa.RecordBatch.from_arrays(columns, schema=self._states)
        return self._mark + bytes(row.serialize().to_pybytes())

    def key_columns(self, packed: bytes) -> pa.RecordBatch:
        """Return the key columns of a row."""
        return pa.ipc.read_record_batch(pa.py_buffer(packed), self._keys)

    def state(self, packed: bytes, owner: str) -> State:
        """Return the state that was packed."""
        if packed[:_MARK_BYTES] != self._mark:
            raise UnskewError(
                f"{owner}: the checkpoint holds states of another state_schema than "
                f"{', '.join(self._states.names)}. Hint: start the query with a new checkpoint."
            )
        row = pa.ipc.read_record_batch(pa.py_buffer(packed)[_MARK_BYTES:], self._states)
        return tuple(column[0].as_py() for column in row.columns)


def packing_step(work: Step, packing: Packing) -> Step:
    """Return ``work`` with its partial states packed, and with its payload if it has one."""

    def packed(batches: Batches) -> Generator[pa.RecordBatch, None, bytes | None]:
        partials = iter(work(batches))
        while True:
            try:
                partial = next(partials)
            except StopIteration as end:
                payload: bytes | None = end.value
                return payload
            yield packing.packed(partial)

    return packed


def finish_step(aggregator: Aggregator, packing: Packing, fields: Sequence[pa.Field]) -> Step:
    """Return the function that turns rows of a packed key and its state into result rows."""

    def finish(batches: Batches) -> Batches:
        for batch in batches:
            if not batch.num_rows:
                continue
            rows, packed = (column.to_pylist() for column in batch.columns)
            keys = pa.Table.from_batches([packing.key_columns(row) for row in rows])
            states = [[packing.state(state, aggregator.label)] for state in packed]
            whole = keys.combine_chunks().to_batches()[0]
            yield result_batch(aggregator, whole, states, fields)

    return finish


class MergedStates(StatefulProcessor):
    """Merge a key's new partial states into the one that Spark keeps for it, and give that out."""

    def __init__(self, aggregator: Aggregator, packing: Packing) -> None:
        self._aggregator = aggregator
        self._packing = packing

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the place of the states."""
        self._kept = handle.getValueState("state", "packed binary")

    def handleInputRows(  # noqa: N802 (Spark's name)
        self,
        key: Any,  # noqa: ARG002 (spelled for Spark alone)
        rows: Iterator[Row],
        timerValues: Any,  # noqa: ARG002, N803 (Spark's parameter)
    ) -> Iterator[Row]:
        """Merge the states of ``rows`` into the kept one."""
        kept = self._kept.get()
        packed = [] if kept is None else [bytes(kept[0])]
        for row in rows:
            packed.append(row["state"])
        merged = packed[0] if len(packed) == 1 else self._merged(packed, row["row"])
        self._kept.update((merged,))
        yield Row(row=row["row"], state=merged)

    def close(self) -> None:
        """Do nothing: Spark closes its state store itself."""

    def _merged(self, packed: Sequence[bytes], row: bytes) -> bytes:
        aggregator, packing = self._aggregator, self._packing
        state, *others = (packing.state(one, aggregator.label) for one in packed)
        try:
            for other in others:
                state = aggregator.merge(state, other)
        except Exception as error:
            keys = packing.key_columns(row)
            raise failure(aggregator.label, "merge", "merging partition", keys, error) from error
        return packing.packed_state(state, aggregator.label)


def _spelled(token: tuple[Any, ...]) -> str:
    """Return a text that is equal exactly where keys are, in every version of Python.

    >>> _spelled(("ann", None, 1.5, b"x"))
    '["ann",null,1.5,"78"]'
    """
    return json.dumps(token, default=_plain, ensure_ascii=False, separators=(",", ":"))


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
