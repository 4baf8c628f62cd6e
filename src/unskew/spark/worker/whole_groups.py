"""The step of `GroupedFrame.apply_in_arrow`, whole groups, and the one that measures a sample.

Imports nothing but NumPy, PyArrow and the errors.
"""

import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any, TypeAlias

import pyarrow as pa

from unskew.errors import InvalidParameterError
from unskew.spark.worker.key_groups import key_codes, key_tokens, run_starts, sorted_groups
from unskew.spark.worker.key_times import Clock, KeyTimes, Timing
from unskew.spark.worker.results import as_promised
from unskew.spark.worker.task import Batches, Step, failure, renamed

GroupFunction: TypeAlias = Callable[..., pa.Table]
GroupCall: TypeAlias = Callable[[pa.Table], pa.Table]

_BATCH_ROWS = 10_000


def whole_groups_step(call: GroupCall, keys: Sequence[str]) -> Step:
    """Return the function that calls ``call`` on each run of rows with equal keys.

    The rows of a partition must come sorted by key. One group at a time is in memory, and as
    many results as fill a batch.
    """

    def work(batches: Batches) -> Batches:
        return _called(call, consecutive_groups(batches, keys))

    return work


def gathered_groups_step(
    call: GroupCall, keys: Sequence[str], *, timing: Timing | None = None
) -> Step:
    """Return the function that calls ``call`` on all rows of each key, in any order.

    All rows of a partition are in memory at once. With ``timing`` its payload reports what the
    calls took.
    """

    def work(batches: Batches) -> Generator[pa.RecordBatch, None, bytes | None]:
        groups = gathered_groups(batches, keys)
        if timing is None:
            yield from _called(call, groups)
            return None
        times = timing.start()
        yield from _called(_timed(call, timing.column, times), groups)
        return times.summary().packed()

    return work


def _timed(call: GroupCall, column: str, times: KeyTimes) -> GroupCall:
    """Return ``call`` for groups with the identity of their key in ``column``."""

    def timed(group: pa.Table) -> pa.Table:
        own = group.drop_columns(column)
        return times.call(group[column][0].as_py(), group.num_rows, call, own)

    return timed


def takes_key(owner: str, function: Callable[..., object]) -> bool:
    """Return whether ``function`` takes the key and the rows, or the rows alone.

    >>> takes_key("doctest", lambda table: table), takes_key("doctest", lambda key, table: table)
    (False, True)
    """
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    positional = [one for one in parameters if one.kind in kinds and one.default is one.empty]
    if len(positional) not in (1, 2):
        expected = "a function of (table) or of (key, table)"
        raise InvalidParameterError(owner, "func", expected, function)
    return len(positional) == 2


def consecutive_groups(batches: Batches, keys: Sequence[str]) -> Iterator[pa.Table]:
    """Give one table per run of rows with equal keys, also where it spans several batches.

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
    """Give one table per key, with all rows of the key.

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


def _called(call: GroupCall, groups: Iterator[pa.Table]) -> Batches:
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
    function: GroupFunction, keys: Sequence[str], schema: pa.Schema, *, with_key: bool = False
) -> GroupCall:
    """Return ``function`` with its result as promised and its failures named."""
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


MEASURED = pa.schema([("id", pa.int64()), ("rows", pa.int64()), ("seconds", pa.float64())])
"""The measures: a row per key and task."""


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
        named = (renamed(batch, own) for batch in batches)
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
