"""Aggregators: partial results of a key, made anywhere, that merge into its result."""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import UnskewError

State: TypeAlias = tuple[Any, ...]
"""A partial result: plain values, one for each field of `Aggregator.state_schema`."""


class AggregatorLawError(UnskewError, AssertionError):
    """An aggregator whose result would depend on how the rows of a key were split."""


class Aggregator(ABC):
    """A result of a key's rows that can be made piece by piece and then merged.

    The rows of a key may be worked on in several places; every place makes a state of its part
    and the states are merged by the real key. So that the result never depends on the split,
    four laws must hold, for all states ``a``, ``b``, ``c`` and all batches of rows ``x``, ``y``:

    - ``merge`` is associative: ``merge(merge(a, b), c) = merge(a, merge(b, c))``
    - ``merge`` is commutative: ``merge(a, b) = merge(b, a)``
    - ``init()`` is its identity: ``merge(init(), a) = a``
    - rows may be cut anywhere: ``update(a, x followed by y) = update(update(a, x), y)``
      and ``update(a, x) = merge(a, update(init(), x))``

    "Equal" means that `finish` gives equal rows. `check_laws` tries them on data of yours.

    Notes
    -----
    A state travels between machines as Arrow data, not as a pickle: it is a tuple of plain
    values (numbers, text, bytes, dates, lists, None) that fit `state_schema`. Lists come back
    as lists. `update` and `merge` may change and return their first argument.

    The aggregator itself is sent to Spark's Python workers, which need unskew and PyArrow
    installed, and whatever the aggregator imports.

    Examples
    --------
    >>> class Longest(Aggregator):
    ...     state_schema = pa.schema([("length", pa.int64())])
    ...     def init(self):
    ...         return (0,)
    ...     def update(self, state, batch):
    ...         lengths = pa.compute.utf8_length(batch["word"])
    ...         return (max(state[0], pa.compute.max(lengths).as_py() or 0),)
    ...     def merge(self, a, b):
    ...         return (max(a[0], b[0]),)
    ...     def finish(self, state):
    ...         return state
    >>> import pyarrow.compute
    >>> batch = pa.record_batch({"word": ["to", "take", "arms"]})
    >>> check_laws(Longest(), [batch, batch.slice(1)])
    """

    state_schema: pa.Schema | Any
    """Names and types of the state: an Arrow schema, a Spark ``StructType`` or its DDL."""

    @abstractmethod
    def init(self) -> State:
        """Return a new state of no rows."""

    @abstractmethod
    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Return ``state`` with the rows of ``batch`` added: rows of one key, at least one."""

    @abstractmethod
    def merge(self, a: State, b: State) -> State:
        """Return the state of the rows of ``a`` and those of ``b`` together."""

    @abstractmethod
    def finish(self, state: State) -> Sequence[Any]:
        """Return the values of the result row, without the key columns."""

    @property
    def label(self) -> str:
        """What errors call it."""
        return type(self).__name__


def check_laws(
    aggregator: Aggregator, batches: Sequence[pa.RecordBatch], *, rel_tol: float = 1e-9
) -> None:
    """Raise `AggregatorLawError` if a law of merging fails on these batches; for your tests.

    Parameters
    ----------
    aggregator
        What to check. Its ``state_schema`` is tried too if it is an Arrow schema.
    batches
        Rows of one key each; at least one batch with at least one row. All pairs and triples of
        neighbours are tried.
    rel_tol
        How far doubles may differ: their sums are associative only up to rounding.
    """
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        raise AggregatorLawError(f"{aggregator.label}: no rows to check the laws on.")
    laws = _Laws(aggregator, rel_tol)
    for x in parts:
        laws.check_one(x)
    for x, y in pairwise([*parts, parts[0]]):
        laws.check_two(x, y)
    for x, y, z in zip(parts, parts[1:], parts[2:], strict=False):
        laws.check_three(x, y, z)


class _Laws:
    def __init__(self, aggregator: Aggregator, rel_tol: float) -> None:
        self._aggregator = aggregator
        self._rel_tol = rel_tol

    def check_one(self, x: pa.RecordBatch) -> None:
        of, merge, init = self._state, self._merge, self._aggregator.init
        self._expect("init() is the identity of merge", merge(init(), of(x)), of(x))
        self._expect("init() is the identity of merge", merge(of(x), init()), of(x))
        middle = x.num_rows // 2
        if middle:
            cut = self._update(self._update(init(), x.slice(0, middle)), x.slice(middle))
            self._expect("rows may be cut anywhere", cut, of(x))
        self._expect("a state survives the way as Arrow data", self._travelled(of(x)), of(x))

    def check_two(self, x: pa.RecordBatch, y: pa.RecordBatch) -> None:
        of, merge = self._state, self._merge
        self._expect("merge is commutative", merge(of(x), of(y)), merge(of(y), of(x)))
        self._expect("update after update is merge", self._update(of(x), y), merge(of(x), of(y)))

    def check_three(self, x: pa.RecordBatch, y: pa.RecordBatch, z: pa.RecordBatch) -> None:
        of, merge = self._state, self._merge
        left, right = merge(merge(of(x), of(y)), of(z)), merge(of(x), merge(of(y), of(z)))
        self._expect("merge is associative", left, right)

    def _state(self, batch: pa.RecordBatch) -> State:
        return self._update(self._aggregator.init(), batch)

    # Whoever changes an argument shall not change what the next law is tried on.
    def _update(self, state: State, batch: pa.RecordBatch) -> State:
        return self._aggregator.update(copy.deepcopy(state), batch)

    def _merge(self, a: State, b: State) -> State:
        return self._aggregator.merge(copy.deepcopy(a), copy.deepcopy(b))

    def _travelled(self, state: State) -> State:
        schema = self._aggregator.state_schema
        if not isinstance(schema, pa.Schema):
            return state
        row = pa.array([tuple(state)], pa.struct(list(schema)))
        return tuple(child[0].as_py() for child in row.flatten())

    def _expect(self, law: str, one: State, other: State) -> None:
        got = self._aggregator.finish(copy.deepcopy(one))
        expected = self._aggregator.finish(copy.deepcopy(other))
        if not _equal(list(got), list(expected), self._rel_tol):
            raise AggregatorLawError(
                f"{self._aggregator.label}: {law} does not hold: {got!r} against {expected!r}."
            )


def _equal(a: object, b: object, rel_tol: float) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        both_nan = math.isnan(a) and math.isnan(b)
        return both_nan or math.isclose(a, b, rel_tol=rel_tol, abs_tol=0.0)
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_equal(a[name], b[name], rel_tol) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        pairs = zip(a, b, strict=False)
        return len(a) == len(b) and all(_equal(x, y, rel_tol) for x, y in pairs)
    return bool(a == b)


class Count(Aggregator):
    """The number of rows: the smallest aggregator, to try things with.

    Spark's own ``count`` combines rows before the shuffle and is the better choice in a job.

    Examples
    --------
    >>> count = Count()
    >>> count.finish(count.update(count.init(), pa.record_batch({"x": [1, None]})))
    (2,)
    """

    state_schema = pa.schema([("rows", pa.int64())])

    def init(self) -> State:
        """Return the state of no rows."""
        return (0,)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Return ``state`` with the rows of ``batch`` added."""
        return (state[0] + batch.num_rows,)

    def merge(self, a: State, b: State) -> State:
        """Return the state of both parts together."""
        return (a[0] + b[0],)

    def finish(self, state: State) -> State:
        """Return the number."""
        return state


class Mean(Aggregator):
    """The mean of a column of numbers, nulls left out; None if there are none.

    Parameters
    ----------
    column
        Name of the column.

    Examples
    --------
    >>> mean = Mean("price")
    >>> state = mean.update(mean.init(), pa.record_batch({"price": [1.0, None, 4.0]}))
    >>> mean.finish(mean.merge(state, state))
    (2.5,)
    """

    state_schema = pa.schema([("sum", pa.float64()), ("n", pa.int64())])

    def __init__(self, column: str) -> None:
        self.column = column

    def init(self) -> State:
        """Return the state of no rows."""
        return (0.0, 0)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Return ``state`` with the rows of ``batch`` added."""
        values = batch[self.column]
        total = pc.sum(values, min_count=0).as_py()
        return (state[0] + float(total), state[1] + len(values) - values.null_count)

    def merge(self, a: State, b: State) -> State:
        """Return the state of both parts together."""
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, state: State) -> tuple[float | None]:
        """Return the mean."""
        total, n = state
        return (total / n if n else None,)


class TopRows(Aggregator):
    """The ``k`` greatest values of a column with a label each, greatest first.

    Nulls and NaN are left out; of equal values the lesser label comes first.

    Parameters
    ----------
    column
        Name of the column of numbers.
    label
        Name of the column of text.
    k
        How many to keep.

    Examples
    --------
    >>> top = TopRows("price", "item", k=2)
    >>> rows = pa.record_batch({"price": [1.0, 5.0, 3.0], "item": ["a", "b", "c"]})
    >>> top.finish(top.update(top.init(), rows))
    ([5.0, 3.0], ['b', 'c'])
    """

    state_schema = pa.schema(
        [("values", pa.list_(pa.float64())), ("labels", pa.list_(pa.string()))]
    )

    def __init__(self, column: str, label: str, *, k: int) -> None:
        self.column = column
        self.label_column = label
        self.k = k

    def init(self) -> State:
        """Return the state of no rows."""
        return ([], [])

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Return ``state`` with the rows of ``batch`` added."""
        rows = pa.table(
            {
                "value": pc.cast(batch[self.column], pa.float64()),
                "label": pc.cast(batch[self.label_column], pa.string()),
            }
        )
        rows = rows.filter(pc.fill_null(pc.invert(pc.is_nan(rows["value"])), False))
        order = [("value", "descending"), ("label", "ascending")]
        if rows.num_rows > self.k:
            rows = rows.take(pc.select_k_unstable(rows, self.k, sort_keys=order))
        return self.merge(state, (rows["value"].to_pylist(), rows["label"].to_pylist()))

    def merge(self, a: State, b: State) -> State:
        """Return the state of both parts together."""
        pairs = [*zip(*a, strict=True), *zip(*b, strict=True)]
        top = sorted(pairs, key=_greatest_first)[: self.k]
        return ([value for value, _ in top], [label for _, label in top])

    def finish(self, state: State) -> State:
        """Return the values and their labels."""
        return state


def _greatest_first(pair: tuple[float, str | None]) -> tuple[Any, ...]:
    value, label = pair
    return (-value, label is None, label or "")
