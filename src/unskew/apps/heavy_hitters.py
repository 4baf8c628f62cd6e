"""The heavy keys of a stream: a summary on every worker, added up by key."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew._validation import check_int
from unskew.apps.base import KeyedApplication, by_hash
from unskew.apps.placing import Placing
from unskew.apps.wordcount import WordCount

_SUMMARY = "word string, count bigint, error bigint"


class HeavyHitters(KeyedApplication):
    """Count frequent words in a fixed number of counters on each worker, and add up by word [1]_.

    Every worker keeps a `SpaceSaving` summary of the rows of a micro-batch (or of a batch job). A
    word's count is the sum over the summaries it is in, and so is its error, the most by which
    the count can be too high. So the fewer workers a word is on the smaller is its error: with
    ``key`` it is on one, with ``wrap`` but for a few words too, with ``partial-key`` on at most
    two, with ``shuffle`` on all, each of which meets all words and forgets rare ones alike.

    A word that a summary forgot is missing from the sum: ``count − error`` is never too high,
    ``count`` is never too low for a word that every summary of its rows kept. Where each worker's
    words all fit, counts are exact and errors 0.

    Parameters
    ----------
    capacity
        Counters of a summary.

    References
    ----------
    .. [1] Nasir et al., "The Power of Both Choices", ICDE 2015; Berinde et al., "Space-optimal
       heavy hitters with strong error bounds", TODS 2010.
    """

    name: ClassVar[str] = "heavy-hitters"
    description: ClassVar[str] = "frequent words from a bounded summary on every worker"
    schema: ClassVar[str] = WordCount.schema
    time: ClassVar[str | None] = WordCount.time
    key: ClassVar[tuple[str, ...]] = WordCount.key
    result_key = ("word",)

    def __init__(self, *, capacity: int = 1000) -> None:
        self.capacity = check_int("heavy-hitters", "capacity", capacity, minimum=1)

    def table(self, limit: int | None = None) -> pa.Table:
        """Return the words of the annual messages of US presidents."""
        return WordCount().table(limit)

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up words of a Zipf distribution."""
        return WordCount().drawn(numbers)

    def plain(self, df: DataFrame, placing: Placing = Placing()) -> DataFrame:  # noqa: B008 (frozen)
        """Return the exact counts, as plain Spark computes them."""
        rows = by_hash(self.prepared(df), self.key, placing)
        counted = rows.groupBy("word").agg(sf.count("*").alias("count"))
        return counted.withColumn("error", sf.lit(0).cast("bigint"))

    def prepared(self, df: DataFrame) -> DataFrame:
        """Return rows with a word."""
        return df.where("word is not null")

    def merged(self, rows: DataFrame) -> DataFrame:
        """Return counts and errors, added up over the workers' summaries."""
        capacity = self.capacity

        def summed_up(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield summary(batches, capacity)

        summaries = rows.select("word").mapInArrow(summed_up, _SUMMARY)
        totals = [sf.sum(name).alias(name) for name in ("count", "error")]
        return summaries.groupBy("word").agg(*totals)


def summary(batches: Iterator[pa.RecordBatch], capacity: int) -> pa.RecordBatch:
    """Return what a summary keeps of batches of words: ``word``, ``count``, ``error``.

    >>> rows = pa.RecordBatch.from_pydict({"word": ["a", "hot", "b", "hot", "c", "hot", "hot"]})
    >>> summary(iter([rows]), 3).to_pylist()[0]
    {'word': 'hot', 'count': 4, 'error': 0}
    """
    # Only a Python worker that summarises needs Numba.
    from unskew.hashing import identities
    from unskew.sketches.space_saving import SpaceSaving

    sketch = SpaceSaving(capacity)
    names: dict[int, str] = {}
    for batch in batches:
        encoded = batch["word"].dictionary_encode()
        ids = identities(encoded.dictionary)
        sketch.update_many(ids[encoded.indices.to_numpy()])
        names.update(zip(ids.tolist(), encoded.dictionary.to_pylist(), strict=True))
        names = {kept: names[kept] for kept in sketch.items()[0].tolist()}
    kept, counts, errors = sketch.items()
    return pa.RecordBatch.from_pydict(
        {
            "word": pa.array([names[one] for one in kept.tolist()], pa.string()),
            "count": counts.astype(np.int64),
            "error": errors.astype(np.int64),
        }
    )
