"""Enrich tweets with what is known of whom they mention: three classes of cost."""

import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Row

import unskew.spark as us
from unskew.apps import data
from unskew.apps.base import Application
from unskew.apps.data import zipf_rank
from unskew.apps.placing import Placing, observed
from unskew.spark.routing.schemes import runnable

COSTS = {"media": 25, "politician": 5, "other": 1}
"""The time of a row of each class, as a multiple of the delay: milliseconds in the paper."""
_TENTHS = ("media", *["politician"] * 3, *["other"] * 6)
_RESULT = "id bigint, mention string, kind string, known_since int"

_NAMES = ["id", "mention", "kind", "known_since"]


class Enrich(Application):
    """Look up whom each tweet mentions: dear for media, cheaper for politicians and others [1]_.

    Rows need no key: any worker can take any row. What a row costs depends on the mention, which
    `map_rows` learns and spreads. ``delay`` is the cost of the cheapest class; 0.001 is the
    setting of the paper.

    References
    ----------
    .. [1] Rivetti et al., "Proactive Online Scheduling for Shuffle Grouping in Distributed Stream
       Processing Systems", Middleware 2016.
    """

    name: ClassVar[str] = "enrich"
    description: ClassVar[str] = "tweets with what is known of their mention, costs 25 : 5 : 1"
    schema: ClassVar[str] = "at timestamp, id bigint, mention string"
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = ("mention",)
    output_mode: ClassVar[str] = "append"
    note: ClassVar[str | None] = (
        "enrich: rows need no key and cost 25 : 5 : 1; λ and σ count rows, which proactive-shuffle "
        "makes uneven to even out the work"
    )

    @property
    def groupings(self) -> tuple[str, ...]:
        """The schemes that place rows without regard to keys."""
        return tuple(runnable("costs", "round-robin"))

    def table(self, limit: int | None = None) -> pa.Table:
        """Return words of presidents' messages as mentions: as many, and as skewed, as tweets'."""
        words = data.words(limit)
        mentions = pc.binary_join_element_wise("@", words["word"], "")
        return pa.table({"at": words["at"], "id": np.arange(words.num_rows), "mention": mentions})

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up mentions: 35,000, the most frequent in 6.5 % of the rows, as in [1]_."""
        rank = zipf_rank("value", 1, keys=35_000, exponent=1.005)
        return numbers.select(
            sf.col("timestamp").alias("at"),
            sf.col("value").alias("id"),
            sf.format_string("@name%d", rank).alias("mention"),
        )

    def plain(self, df: DataFrame, placing: Placing = Placing()) -> DataFrame:  # noqa: B008 (frozen)
        """Return the enriched rows as plain Spark maps them, round-robin over the workers."""
        looked_up = enriching(placing.delay)

        def mapped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                rows = [looked_up(row) for row in batch.to_pylist()]
                columns = zip(*rows, strict=True) if rows else [[]] * len(_NAMES)
                yield pa.record_batch(
                    [pa.array(column, kind) for column, kind in zip(columns, _TYPES, strict=True)],
                    names=_NAMES,
                )

        rows = df.repartition(placing.workers) if placing.delay else df
        return rows.mapInArrow(mapped, _RESULT)

    def balanced(self, df: DataFrame, placing: Placing) -> DataFrame:
        """Return the same rows, worked on where there is the least work."""
        enriched = us.map_rows(
            df,
            enriching(placing.delay),
            _RESULT,
            cost_by="mention",
            workers=placing.workers,
            grouping=placing.grouping,
            plan_path=placing.plan_path if df.isStreaming and placing.learns else None,
            loads=placing.loads,
            seed=placing.seed,
        )
        if placing.observe_as is None or not df.isStreaming:
            return enriched
        # A row gives one row, on the worker that it was worked on.
        return observed(enriched, self.key, placing.workers, placing.observe_as)


_TYPES = [pa.int64(), pa.string(), pa.string(), pa.int32()]


def kind_of_mention(mention: str | None) -> str:
    """Return the class of a mention: a tenth are media, three tenths politicians.

    >>> kind_of_mention(None)
    'other'
    """
    return "other" if mention is None else _TENTHS[zlib.crc32(mention.encode()) % len(_TENTHS)]


def enriching(delay: float) -> Callable[[Row | dict[str, Any]], tuple[Any, ...]]:
    """Return the function that looks up one row, and takes as long as its class does."""

    def enrich(row: Row | dict[str, Any]) -> tuple[Any, ...]:
        mention = row["mention"]
        kind = kind_of_mention(mention)
        time.sleep(delay * COSTS[kind])
        since = None if mention is None else 1990 + zlib.crc32(mention.encode()[::-1]) % 30
        return (row["id"], mention, kind, since)

    return enrich
