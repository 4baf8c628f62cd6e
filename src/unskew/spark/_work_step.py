"""The two Python steps of `GroupedFrame.apply`: partial states on every worker, then their merge.

Runs inside Spark's Python workers: imports nothing but NumPy, PyArrow and the errors.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from unskew.spark._failures import failure
from unskew.spark._key_groups import key_codes, key_tokens, sorted_groups
from unskew.spark._results import column_arrays
from unskew.spark.aggregator import Aggregator, State

Batches: TypeAlias = Iterator[pa.RecordBatch]
Step: TypeAlias = Callable[[Batches], Batches]

# Rows are gathered before they are grouped: the more rows a key has in a round, the fewer calls.
_ROUND_ROWS = 131_072
_ROUND_BYTES = 64 * 2**20
_MOST_STATES = 100_000
_BATCH_ROWS = 10_000


def work_step(
    aggregator: Aggregator, keys: Sequence[str], state: pa.Field, *, most_states: int = _MOST_STATES
) -> Step:
    """Return the function that makes a partial state of every key of a partition.

    It gives rows of the key columns and the state. A key may come out more than once: when there
    are more than ``most_states`` keys, what there is goes out and memory starts anew.
    """

    def work(batches: Batches) -> Batches:
        held = _HeldStates(aggregator, keys, state)
        for table in _rounds(batches):
            held.add(table)
            if len(held) > most_states:
                yield from held.drain()
        yield from held.drain()

    return work


def merge_step(aggregator: Aggregator, n_keys: int, fields: Sequence[pa.Field]) -> Step:
    """Return the function that turns rows of a key and all its states into result rows."""

    def merge(batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                yield _finished(aggregator, batch, n_keys, fields)

    return merge


def with_names(step: Step, names: Sequence[str]) -> Step:
    """Return ``step`` with the columns of its batches renamed before it sees them."""
    own = list(names)

    def renamed(batches: Batches) -> Batches:
        return step(batch.rename_columns(own) for batch in batches)

    return renamed


class _HeldStates:
    """The states of the keys that one worker has met since it last let them go."""

    def __init__(self, aggregator: Aggregator, keys: Sequence[str], state: pa.Field) -> None:
        self._aggregator = aggregator
        self._keys = list(keys)
        self._state = state
        self._places: dict[tuple[Any, ...], int] = {}
        self._states: list[State] = []
        self._key_rows: list[pa.Table] = []

    def __len__(self) -> int:
        return len(self._states)

    def add(self, table: pa.Table) -> None:
        """Update the state of every key of ``table``."""
        order, starts = sorted_groups(key_codes(table[name] for name in self._keys))
        # One batch: gathered rows are far fewer than would make Arrow cut a column.
        rows = table.take(pa.array(order)).combine_chunks().to_batches()[0]
        firsts = table.select(self._keys).take(pa.array(order[starts]))
        ends = [*starts[1:].tolist(), rows.num_rows]
        new = []
        for group, token in enumerate(key_tokens(firsts.columns)):
            place = self._places.setdefault(token, len(self._states))
            if place == len(self._states):
                self._states.append(self._aggregator.init())
                new.append(group)
            begin = int(starts[group])
            part = rows.slice(begin, ends[group] - begin)
            self._states[place] = self._updated(self._states[place], part)
        if new:
            self._key_rows.append(firsts.take(pa.array(new)))

    def drain(self) -> Batches:
        """Give out all states with their keys, and forget them."""
        if not self._states:
            return
        keys = pa.concat_tables(self._key_rows).combine_chunks()
        for begin in range(0, len(self._states), _BATCH_ROWS):
            states = self._states[begin : begin + _BATCH_ROWS]
            fields = list(self._state.type)
            children = column_arrays(states, fields, self._aggregator.label, "the state")
            packed = pa.StructArray.from_arrays(children, fields=fields)
            part = keys.slice(begin, _BATCH_ROWS).append_column(self._state, packed)
            yield from part.combine_chunks().to_batches()
        self._places, self._states, self._key_rows = {}, [], []

    def _updated(self, state: State, part: pa.RecordBatch) -> State:
        try:
            return self._aggregator.update(state, part)
        except Exception as error:
            keys = part.select(self._keys)
            raise failure(self._aggregator.label, "update", "worker", keys, error) from error


def _rounds(batches: Batches) -> Iterator[pa.Table]:
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows:
            gathered.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _ROUND_ROWS or size >= _ROUND_BYTES:
            yield pa.Table.from_batches(gathered)
            gathered, rows, size = [], 0, 0
    if gathered:
        yield pa.Table.from_batches(gathered)


def _finished(
    aggregator: Aggregator, batch: pa.RecordBatch, n_keys: int, fields: Sequence[pa.Field]
) -> pa.RecordBatch:
    lists = batch.column(n_keys)
    states = list(zip(*(child.to_pylist() for child in lists.flatten().flatten()), strict=True))
    keys = batch.select(range(n_keys))
    rows, begin = [], 0
    for row, count in enumerate(lists.value_lengths().to_pylist()):
        step = "merge"
        try:
            state = states[begin]
            for other in states[begin + 1 : begin + count]:
                state = aggregator.merge(state, other)
            step = "finish"
            rows.append(aggregator.finish(state))
        except Exception as error:
            key = keys.slice(row)
            raise failure(aggregator.label, step, "merging partition", key, error) from error
        begin += count
    values = column_arrays(rows, fields, aggregator.label, "the result")
    schema = pa.schema([*keys.schema, *fields])
    return pa.RecordBatch.from_arrays([*keys.columns, *values], schema=schema)
