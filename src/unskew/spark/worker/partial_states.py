"""The two steps of `GroupedFrame.apply`: partial states on every worker, then their merge.

Imports nothing but NumPy, PyArrow and the errors.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.spark.aggregators import Aggregator, State
from unskew.spark.worker.key_groups import key_codes, key_tokens, sorted_groups
from unskew.spark.worker.key_times import Timing
from unskew.spark.worker.results import column_arrays
from unskew.spark.worker.task import Batches, Step, failure, renamed

# Rows are gathered before they are grouped: the more rows of a key are in a round, the fewer calls.
_ROUND_ROWS = 131_072
_ROUND_BYTES = 64 * 2**20
_MOST_STATES = 100_000
_BATCH_ROWS = 10_000


def work_step(
    aggregator: Aggregator,
    keys: Sequence[str],
    state: pa.Field,
    *,
    most_states: int = _MOST_STATES,
    timing: Timing | None = None,
) -> Step:
    """Return the function that makes a partial state of every key of a partition.

    It gives rows of the key columns and the state. A key may come out more than once: when there
    are more than ``most_states`` keys, what there is goes out and memory starts again. With
    ``timing`` its payload tells what the calls took.
    """

    def work(batches: Batches) -> Generator[pa.RecordBatch, None, bytes | None]:
        held = _HeldStates(aggregator, keys, state, timing)
        for table in _rounds(batches):
            held.add(table)
            if len(held) > most_states:
                yield from held.drain()
        yield from held.drain()
        return held.payload()

    return work


def merge_step(aggregator: Aggregator, n_keys: int, fields: Sequence[pa.Field]) -> Step:
    """Return the function that turns rows of a key and all its states into result rows."""

    def merge(batches: Batches) -> Batches:
        for batch in batches:
            if batch.num_rows:
                keys = batch.select(range(n_keys))
                yield result_batch(aggregator, keys, _states_of_keys(batch.column(n_keys)), fields)

    return merge


def with_names(step: Step, names: Sequence[str]) -> Step:
    """Return ``step`` with the columns of its batches renamed before it sees them."""
    own = list(names)

    def with_own_names(batches: Batches) -> Batches:
        return step(renamed(batch, own) for batch in batches)

    return with_own_names


class _HeldStates:
    """The states of the keys that one worker has met since it last let them go."""

    def __init__(
        self,
        aggregator: Aggregator,
        keys: Sequence[str],
        state: pa.Field,
        timing: Timing | None = None,
    ) -> None:
        self._aggregator = aggregator
        self._timing = timing
        self._times = None if timing is None else timing.start()
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
        update = self._update_of(table, order[starts])
        if self._timing is not None:
            table = table.drop_columns(self._timing.column)
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
            self._states[place] = update(group, self._states[place], part)
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

    def payload(self) -> bytes | None:
        """Return what the driver is to know of the time that the keys took."""
        return None if self._times is None else self._times.summary().packed()

    def _update_of(self, table: pa.Table, firsts: NDArray[np.intp]) -> Callable[..., State]:
        """Return how the state of a group, given by its number and first row, is updated."""
        times, timing = self._times, self._timing
        if times is None or timing is None:
            return lambda _, state, part: updated(self._aggregator, self._keys, state, part)
        ids = table[timing.column].take(pa.array(firsts)).to_pylist()
        return lambda group, state, part: times.call(
            ids[group], part.num_rows, updated, self._aggregator, self._keys, state, part
        )


def updated(
    aggregator: Aggregator, keys: Sequence[str], state: State, part: pa.RecordBatch
) -> State:
    """Return the state with rows of its key; where that fails, the error says which."""
    try:
        return aggregator.update(state, part)
    except Exception as error:
        raise failure(
            aggregator.label, "update", "worker", part.select(list(keys)), error
        ) from error


def first_update(aggregator: Aggregator, keys: Sequence[str]) -> Callable[[pa.Table], State]:
    """Return the function that makes the state of some rows of one key, to be timed."""

    def call(rows: pa.Table) -> State:
        part = rows.combine_chunks().to_batches()[0]
        return updated(aggregator, keys, aggregator.init(), part)

    return call


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


def result_batch(
    aggregator: Aggregator,
    keys: pa.RecordBatch,
    states: Iterable[Sequence[State]],
    fields: Sequence[pa.Field],
) -> pa.RecordBatch:
    """Return the keys with the results of their states: for each key those to be merged."""
    rows = []
    for number, (state, *others) in enumerate(states):
        step = "merge"
        try:
            for other in others:
                state = aggregator.merge(state, other)
            step = "finish"
            rows.append(aggregator.finish(state))
        except Exception as error:
            key = keys.slice(number)
            raise failure(aggregator.label, step, "merging partition", key, error) from error
    values = column_arrays(rows, fields, aggregator.label, "the result")
    schema = pa.schema([*keys.schema, *fields])
    return pa.RecordBatch.from_arrays([*keys.columns, *values], schema=schema)


def _states_of_keys(lists: pa.ListArray) -> Iterator[Sequence[State]]:
    states = list(zip(*(child.to_pylist() for child in lists.flatten().flatten()), strict=True))
    begin = 0
    for count in lists.value_lengths().to_pylist():
        yield states[begin : begin + count]
        begin += count
