"""The Python step of `GroupedFrame.apply_in_arrow`: whole groups out of sorted partitions.

Runs inside Spark's Python workers: imports nothing but NumPy, PyArrow and the errors.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from unskew.errors import InvalidParameterError
from unskew.spark._failures import failure
from unskew.spark._key_groups import key_codes, key_tokens, run_starts
from unskew.spark._results import as_promised

Batches: TypeAlias = Iterator[pa.RecordBatch]
GroupFunction: TypeAlias = Callable[..., pa.Table]

_BATCH_ROWS = 10_000


def whole_groups_step(
    function: GroupFunction, keys: Sequence[str], schema: pa.Schema
) -> Callable[[Batches], Batches]:
    """Return the function that calls ``function`` on each run of rows with equal keys.

    The rows of a partition must come sorted by key. One group at a time is in memory, and as
    many results as fill a batch.
    """
    with_key = takes_key(function)
    owner = getattr(function, "__name__", type(function).__name__)

    def work(batches: Batches) -> Batches:
        results: list[pa.Table] = []
        n_rows = 0
        for group in consecutive_groups(batches, keys):
            result = as_promised(_called(function, group, keys, with_key), schema, owner)
            results.append(result)
            n_rows += result.num_rows
            if n_rows >= _BATCH_ROWS:
                yield from _in_batches(results)
                results, n_rows = [], 0
        yield from _in_batches(results)

    return work


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


def _in_batches(results: list[pa.Table]) -> Batches:
    if results:
        yield from pa.concat_tables(results).combine_chunks().to_batches()


def _called(
    function: GroupFunction, group: pa.Table, keys: Sequence[str], with_key: bool
) -> object:
    try:
        if with_key:
            return function(tuple(group[name][0] for name in keys), group)
        return function(group)
    except Exception as error:
        key = group.select(keys).slice(0, 1).to_batches()[0]
        owner = getattr(function, "__name__", type(function).__name__)
        raise failure(owner, "the function", "worker", key, error) from error
