"""The Python step of `GroupedFrame.apply_in_arrow`: whole groups out of sorted partitions.

Runs inside Spark's Python workers: imports nothing but NumPy, PyArrow and the errors.
"""

import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa

from unskew.errors import InvalidParameterError
from unskew.spark._failures import failure
from unskew.spark._key_groups import key_codes, key_tokens, run_starts, sorted_groups
from unskew.spark._key_times import KeyTimes, Timing
from unskew.spark._results import as_promised

Batches: TypeAlias = Iterator[pa.RecordBatch]
Step: TypeAlias = Callable[[Batches], Batches]
GroupFunction: TypeAlias = Callable[..., pa.Table]

_BATCH_ROWS = 10_000


def whole_groups_step(function: GroupFunction, keys: Sequence[str], schema: pa.Schema) -> Step:
    """Return the function that calls ``function`` on each run of rows with equal keys.

    The rows of a partition must come sorted by key. One group at a time is in memory, and as
    many results as fill a batch.
    """
    call = group_call(function, keys, schema)

    def work(batches: Batches) -> Batches:
        return _called(call, consecutive_groups(batches, keys))

    return work


def gathered_groups_step(
    function: GroupFunction,
    keys: Sequence[str],
    schema: pa.Schema,
    *,
    timing: Timing | None = None,
) -> Step:
    """Return the function that calls ``function`` on all rows of each key, in any order.

    All rows of a partition are in memory at once. With ``timing`` its payload tells what the
    calls took.
    """
    call = group_call(function, keys, schema)

    def work(batches: Batches) -> Generator[pa.RecordBatch, None, bytes | None]:
        groups = gathered_groups(batches, keys)
        if timing is None:
            yield from _called(call, groups)
            return None
        times = timing.start()
        yield from _called(_timed(call, timing.column, times), groups)
        return times.summary().packed()

    return work


def _timed(
    call: Callable[[pa.Table], pa.Table], column: str, times: KeyTimes
) -> Callable[[pa.Table], pa.Table]:
    """Return ``call`` for groups with the identity of their key in ``column``."""

    def timed(group: pa.Table) -> pa.Table:
        own = group.drop_columns(column)
        return times.call(group[column][0].as_py(), group.num_rows, call, own)

    return timed


def takes_key(function: GroupFunction) -> bool:
    """Return whether ``function`` takes the key and the rows, or the rows alone.

    >>> takes_key(lambda table: table), takes_key(lambda key, table: table)
    (False, True)
    """
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    positional = [one for one in parameters if one.kind in kinds and one.default is one.empty]
    if len(positional) not in (1, 2):
        expected = "a function of (table) or of (key, table)"
        raise InvalidParameterError("apply_in_arrow", "function", expected, function)
    return len(positional) == 2


def consecutive_groups(batches: Batches, keys: Sequence[str]) -> Iterator[pa.Table]:
    """Give one table a run of rows with equal keys, also where it spans several batches.

    >>> batches = [pa.record_batch({"k": [1, 2]}), pa.record_batch({"k": [2, 3]})]
    >>> [table["k"].to_pylist() for table in consecutive_groups(iter(batches), ["k"])]
    [[1], [2, 2], [3]]
    """
    held: list[pa.RecordBatch] = []
    held_key: tuple[Any, ...] | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        columns = [batch.column(name) for name in keys]
        starts = run_starts(key_codes(columns)).tolist()
        ends = [*starts[1:], batch.num_rows]
        edges = key_tokens(column.take([0, batch.num_rows - 1]) for column in columns)
        for begin, end in zip(starts, ends, strict=True):
            if held and (begin > 0 or edges[0] != held_key):
                yield pa.Table.from_batches(held)
                held = []
            held.append(batch.slice(begin, end - begin))
        held_key = edges[1]
    if held:
        yield pa.Table.from_batches(held)


def gathered_groups(batches: Batches, keys: Sequence[str]) -> Iterator[pa.Table]:
    """Give one table a key, with all rows of the key.

    >>> batches = [pa.record_batch({"k": [1, 2]}), pa.record_batch({"k": [2, 1]})]
    >>> [table["k"].to_pylist() for table in gathered_groups(iter(batches), ["k"])]
    [[1, 1], [2, 2]]
    """
    gathered = [batch for batch in batches if batch.num_rows]
    if not gathered:
        return
    table = pa.Table.from_batches(gathered)
    order, starts = sorted_groups(key_codes(table[name] for name in keys))
    rows = table.take(pa.array(order)).combine_chunks()
    for begin, end in pairwise([*starts.tolist(), rows.num_rows]):
        yield rows.slice(begin, end - begin)


def _called(call: Callable[[pa.Table], pa.Table], groups: Iterator[pa.Table]) -> Batches:
    results: list[pa.Table] = []
    n_rows = 0
    for group in groups:
        results.append(call(group))
        n_rows += results[-1].num_rows
        if n_rows >= _BATCH_ROWS:
            yield from _in_batches(results)
            results, n_rows = [], 0
    yield from _in_batches(results)


def _in_batches(results: list[pa.Table]) -> Batches:
    if results:
        yield from pa.concat_tables(results).combine_chunks().to_batches()


def group_call(
    function: GroupFunction, keys: Sequence[str], schema: pa.Schema
) -> Callable[[pa.Table], pa.Table]:
    """Return ``function`` with its result as promised and its failures named."""
    with_key = takes_key(function)
    owner = getattr(function, "__name__", type(function).__name__)

    def call(group: pa.Table) -> pa.Table:
        key = group.select(keys).slice(0, 1)
        try:
            result = (
                function(tuple(key[name][0] for name in keys), group)
                if with_key
                else function(group)
            )
        except Exception as error:
            first = key.to_batches()[0]
            raise failure(owner, "the function", "worker", first, error) from error
        return as_promised(result, schema, owner)

    return call
