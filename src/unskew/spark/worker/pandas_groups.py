"""The function of `GroupedFrame.apply_in_pandas`, made to one that takes and returns Arrow tables.

Values become what Spark's own ``applyInPandas`` makes of them: times are naive, in the time zone of
the session, and a map is a dict.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from unskew.errors import UnskewError

if TYPE_CHECKING:
    import pandas as pd

PandasFunction: TypeAlias = "Callable[..., pd.DataFrame]"


def on_arrow(
    function: PandasFunction,
    keys: Sequence[str],
    schema: pa.Schema,
    timezone: str,
    *,
    with_key: bool,
) -> Callable[[pa.Table], pa.Table]:
    """Return ``function`` for Arrow tables.

    Parameters
    ----------
    function
        Takes the rows of a key as a pandas DataFrame, or the key (a tuple) and the rows.
    keys
        The key columns.
    schema
        The columns of its result, found by name, or by position where it has numbers for names.
    timezone
        The time zone of the session.
    with_key
        Whether it takes the key.

    Examples
    --------
    >>> schema = pa.schema([("k", pa.string()), ("n", pa.int64())])
    >>> call = on_arrow(lambda rows: rows.assign(n=len(rows)), ["k"], schema, "UTC", with_key=False)
    >>> call(pa.table({"k": ["a", "a"]})).to_pydict()
    {'k': ['a', 'a'], 'n': [2, 2]}
    """

    def call(group: pa.Table) -> pa.Table:
        frame = _to_pandas(group, timezone)
        if with_key:
            key = tuple(frame[name].iloc[0] for name in keys)
            return _to_arrow(function(key, frame), schema, timezone)
        return _to_arrow(function(frame), schema, timezone)

    call.__name__ = getattr(function, "__name__", type(function).__name__)
    return call


def _to_pandas(table: pa.Table, timezone: str) -> "pd.DataFrame":
    frame = table.to_pandas(maps_as_pydicts="lossy")
    for field in table.schema:
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            local = frame[field.name].dt.tz_convert(timezone)
            frame[field.name] = local.dt.tz_localize(None)
    return frame


def _to_arrow(frame: Any, schema: pa.Schema, timezone: str) -> pa.Table:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise UnskewError(f"the result must be a pandas.DataFrame, got {frame!r}.")
    if frame.empty and not len(frame.columns):
        return schema.empty_table()
    named = all(isinstance(name, str) for name in frame.columns)
    if named and sorted(frame.columns) != sorted(schema.names):
        expected, got = ", ".join(schema.names), ", ".join(frame.columns)
        raise UnskewError(f"the result must have the columns {expected}; got {got}.")
    if len(frame.columns) != len(schema):
        raise UnskewError(f"the result must have {len(schema)} columns, got {len(frame.columns)}.")
    columns = [
        _array(frame[field.name] if named else frame.iloc[:, place], field, timezone)
        for place, field in enumerate(schema)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _array(series: "pd.Series[Any]", field: pa.Field, timezone: str) -> pa.Array:
    import pandas as pd

    if pa.types.is_timestamp(field.type) and field.type.tz is not None:
        times = pd.to_datetime(series)
        if times.dt.tz is None:
            times = times.dt.tz_localize(timezone, ambiguous=False)
        series = times.dt.tz_convert("UTC")
    return pa.Array.from_pandas(series, type=field.type)
