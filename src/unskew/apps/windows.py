"""Windows of event time for results that are kept by key and window."""

import re

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew.errors import InvalidParameterError

_PART = r"\d+ (microsecond|millisecond|second|minute|hour|day|week)s?"
_LENGTH = re.compile(f"{_PART}( {_PART})*")


def check_length(owner: str, parameter: str, value: object, *, zero: bool = False) -> str:
    """Return a length of time if Spark takes it, or raise; ``zero`` is whether it may be nothing.

    >>> check_length("vwap", "window", "1 hour 30 minutes")
    '1 hour 30 minutes'
    >>> check_length("vwap", "window", "1 month")
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: vwap: window must be a length such as '1 hour' …
    """
    text = value.strip().lower() if isinstance(value, str) else ""
    if _LENGTH.fullmatch(text) and (zero or re.search("[1-9]", text)):
        return text
    expected = "a length such as '1 hour' or '90 seconds', in weeks or smaller units"
    raise InvalidParameterError(owner, parameter, expected, value)


def windowed(rows: DataFrame, time: str, length: str, late: str) -> DataFrame:
    """Return rows with the window that each one falls into as the column ``window``.

    On a stream a window is forgotten when a row came that is later than its end by ``late``, and
    rows that come after that are dropped, as Spark does it.
    """
    if rows.isStreaming:
        rows = rows.withWatermark(time, late)
    return rows.withColumn("window", sf.window(time, length))
