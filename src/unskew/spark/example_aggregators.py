"""Two aggregators to use as they are or to read before writing one."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unskew.spark.aggregator import Aggregator, State


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
