"""Windows of event time for results that are kept by key and window."""

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame


def windowed(rows: DataFrame, time: str, length: str, late: str) -> DataFrame:
    """Return rows with the window that each one falls into as the column ``window``.

    On a stream a window is forgotten when a row came that is later than its end by ``late``, and
    rows that come after that are dropped, as Spark does it.
    """
    if rows.isStreaming:
        rows = rows.withWatermark(time, late)
    return rows.withColumn("window", sf.window(time, length))
