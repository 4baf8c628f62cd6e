"""Count words: how often each one came, running or per window."""

from typing import ClassVar

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew.apps import data
from unskew.apps.base import KeyedApplication, check_length, windowed
from unskew.apps.data import zipf_rank


class WordCount(KeyedApplication):
    """Count how often each word came, since the beginning or in each window [1]_ [2]_.

    Parameters
    ----------
    window
        Length of a window (``1 hour``); by default counts run on for ever.
    late
        How late a row may be before its window is closed.

    References
    ----------
    .. [1] Nasir et al., "The Power of Both Choices", ICDE 2015 (streaming top-k word count).
    .. [2] Chen, Zhang, Jin, "Popularity-aware differentiated distributed stream processing".
    """

    name: ClassVar[str] = "wordcount"
    description: ClassVar[str] = "how often each word came, running or per window"
    schema: ClassVar[str] = "at timestamp, word string"
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = ("word",)

    def __init__(self, *, window: str | None = None, late: str = "1 hour") -> None:
        self.window = None if window is None else check_length("wordcount", "window", window)
        self.late = check_length("wordcount", "late", late, zero=True)
        self.result_key = ("word",) if window is None else ("word", "window")

    def table(self, limit: int | None = None) -> pa.Table:
        """Return the words of the annual messages of US presidents."""
        return data.words(limit).select(["at", "word"])

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up words of a Zipf distribution."""
        rank = zipf_rank("value", 1, keys=100_000, exponent=1.2)
        return numbers.select(
            sf.col("timestamp").alias("at"), sf.format_string("word%d", rank).alias("word")
        )

    def merged(self, rows: DataFrame) -> DataFrame:
        """Return the counts of words."""
        if self.window is not None:
            rows = windowed(rows, "at", self.window, self.late)
        return rows.groupBy(*self.result_key).agg(sf.count("*").alias("count"))
