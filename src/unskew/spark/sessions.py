"""Number the sessions of each key: stretches of rows without a long gap between them."""

import datetime as dt
import re

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql.types import NumericType, TimestampNTZType, TimestampType

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.spark.columns import By, check_by, quoted
from unskew.spark.routing.learning import refuse_stream
from unskew.spark.windows.carrying import CutWindow
from unskew.spark.windows.ordering import check_order
from unskew.spark.windows.ranges import learn_ranges

_BEGINS, _NUMBER, _FIRST, _LAST, _JOINS, _BEFORE = (
    f"_unskew_{name}" for name in ("begins", "session", "first", "last", "joins", "before")
)
_INTERVAL = re.compile(r"\d+(\.\d+)? *(second|minute|hour|day|week)s?", re.IGNORECASE)


def sessions(
    df: DataFrame,
    by: By,
    time: str,
    gap: str | float | dt.timedelta,
    *,
    workers: int,
    name: str = "session",
    seed: int = 0,
) -> DataFrame:
    """Return ``df`` with the number of each row's session, from 1 for each key.

    A row begins a session if it comes more than ``gap`` after the row of its key before it. The
    same as ``lag`` and a running sum over a window of Spark, but a key that is too large for one
    task is cut in its order of time, and sessions go on over the cuts.

    Parameters
    ----------
    df
        A batch DataFrame that has the same rows each time it is read.
    by
        The key column, or a list of several.
    time
        A column of timestamps, or of numbers. A row without a time is a session of its own.
    gap
        For timestamps a ``timedelta``, or text such as ``"30 minutes"``; for numbers a number.
    workers
        Number of tasks, at least 1.
    name
        The new column, of type bigint.
    seed
        Picks the sample that shows where to cut.

    Raises
    ------
    InvalidParameterError
        For a stream, an unknown column, a gap that does not fit the column of time.

    Examples
    --------
    ``us.sessions(clicks, "user", "at", "30 minutes", workers=64)``; the length of each session is
    then ``.groupBy("user", "session").agg(sf.max("at") - sf.min("at"))``.
    """
    refuse_stream("sessions", df)
    keys = check_by(df, by, owner="sessions")
    order = check_order(df, time, owner="sessions", parameter="time")
    count = check_int("sessions", "workers", workers, minimum=1)
    if name.lower() in {one.lower() for one in df.columns}:
        raise InvalidParameterError("sessions", "name", "a name that no column has", name)
    at, pause = sf.col(quoted(order[0].name)), _gap(df, order[0].name, gap)
    ranges = learn_ranges(df, keys, order, count, seed)
    cut = CutWindow(df, ranges, exact=False)
    window = cut.window().ordered

    def begins(before: Column) -> Column:
        return sf.when(at <= before + pause, 0).otherwise(1)

    def numbered(rows: DataFrame) -> DataFrame:
        """Return rows with the number of their session, from 1 in each piece."""
        flagged = rows.withColumn(_BEGINS, begins(sf.lag(at).over(window)))
        running = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        return flagged.withColumn(_NUMBER, sf.sum(_BEGINS).over(running))

    kept = [sf.col(quoted(each)) for each in df.columns]
    result = numbered(cut.all_sorted())
    if not ranges.cut_keys:
        return result.select(*kept, sf.col(_NUMBER).alias(name))
    # Nulls come before all times: a piece that has one begins with it.
    records = cut.records(
        numbered(cut.sorted(cut.cut_rows())),
        {
            _NUMBER: sf.max(_NUMBER),
            _FIRST: sf.when(sf.count(at) == sf.count(sf.lit(1)), sf.min(at)),
            _LAST: sf.max(at),
        },
    )
    goes_on = sf.col(_FIRST) <= sf.lag(_LAST).over(cut.of_key()) + pause
    known = records.withColumn(_JOINS, sf.when(goes_on, 1).otherwise(0))
    before = sf.sum(sf.col(_NUMBER) - sf.col(_JOINS)).over(cut.of_key("before"))
    known = known.withColumn(_BEFORE, sf.coalesce(before, sf.lit(0)) - sf.col(_JOINS))
    result = cut.carried_to(result, known, [_BEFORE])
    number = sf.col(_NUMBER) + sf.coalesce(sf.col(_BEFORE), sf.lit(0))
    return result.select(*kept, number.alias(name))


def _gap(df: DataFrame, time: str, gap: str | float | dt.timedelta) -> Column:
    """Return the gap as a column that can be added to the time, or raise."""
    kind = df.schema[time].dataType
    if isinstance(kind, NumericType):
        number = check_real("sessions", "gap", gap, minimum=0)
        return sf.lit(int(number) if number.is_integer() else number)
    if not isinstance(kind, TimestampType | TimestampNTZType):
        expected, got = "a column of timestamps or numbers", f"{time}: {kind.simpleString()}"
        raise InvalidParameterError("sessions", "time", expected, got, hint="cast it first")
    if isinstance(gap, dt.timedelta) and gap >= dt.timedelta(0):
        return sf.lit(gap)
    if isinstance(gap, str) and _INTERVAL.fullmatch(gap.strip()):
        return sf.expr(f"INTERVAL '{gap.strip()}'")
    expected = 'a timedelta >= 0, or text such as "30 minutes"'
    raise InvalidParameterError("sessions", "gap", expected, gap)
