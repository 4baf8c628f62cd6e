"""The hashtags that came most often, running or per window."""

from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

import unskew.spark as us
from unskew._validation import check_int
from unskew.apps import data
from unskew.apps.base import KeyedApplication, check_length, windowed
from unskew.apps.data import zipf_rank

_FEWEST_LETTERS = 7


class Hashtags(KeyedApplication):
    """Keep the ``k`` most frequent hashtags, since the beginning or of each window [1]_.

    Rows are placed by hashtag and every worker counts its own; the summaries of all workers are
    merged into the list. Of equally frequent hashtags the lesser in the alphabet comes first.

    Parameters
    ----------
    k
        How many to keep.
    window
        Length of a window (``1 hour``); by default the list runs on for ever.
    late
        How late a row may be before its window is closed.
    capacity
        How many hashtags are counted exactly, in a window or in all; beyond it is an estimate.

    References
    ----------
    .. [1] Chen, Zhang, Jin, "Popularity-aware differentiated distributed stream processing".
    """

    name: ClassVar[str] = "hashtags"
    description: ClassVar[str] = "the most frequent hashtags, running or per window"
    schema: ClassVar[str] = "at timestamp, hashtag string"
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = ("hashtag",)
    result_key = ("window",)

    def __init__(
        self,
        *,
        k: int = 10,
        window: str | None = None,
        late: str = "1 hour",
        capacity: int = 100_000,
    ) -> None:
        self.capacity = check_int("hashtags", "capacity", capacity, minimum=1, maximum=1_000_000)
        self.k = check_int("hashtags", "k", k, minimum=1, maximum=self.capacity)
        self.window = None if window is None else check_length("hashtags", "window", window)
        self.late = check_length("hashtags", "late", late, zero=True)

    def table(self, limit: int | None = None) -> pa.Table:
        """Return the long words of the annual messages of US presidents as if they were tags."""
        words = data.words(None if limit is None else 8 * limit + 1000)
        long = words.filter(pc.greater_equal(pc.utf8_length(words["word"]), _FEWEST_LETTERS))
        tags = pc.binary_join_element_wise("#", long["word"], "")
        return pa.table({"at": long["at"], "hashtag": tags}).slice(0, limit)

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up hashtags of a Zipf distribution whose favourites change by the minute."""
        rank = zipf_rank("value", 1, keys=50_000, exponent=1.3)
        shift = sf.minute("timestamp") * 3
        return numbers.select(
            sf.col("timestamp").alias("at"),
            sf.format_string("#tag%d", (rank + shift) % 50_000).alias("hashtag"),
        )

    def merged(self, rows: DataFrame) -> DataFrame:
        """Return the most frequent hashtags, as an array of ``item`` and ``count``."""
        if self.window is None:
            rows = rows.withColumn("window", sf.lit("all"))
        else:
            rows = windowed(rows, "at", self.window, self.late)
        top = us.top_k("hashtag", self.k, capacity=self.capacity)
        return rows.groupBy("window").agg(top.alias("top"))
