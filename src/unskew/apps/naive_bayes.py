"""Train a text classifier on a stream: a counter for every word and class."""

import math
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew.apps import data
from unskew.apps.base import KeyedApplication
from unskew.apps.data import uniform_draw, zipf_rank

_PASSAGE = 200
_PARTIES = ("Democratic", "Republican")
_TEST_SHARE = 5


class NaiveBayes(KeyedApplication):
    """Count how often each word came in documents of each class: all that naive Bayes learns [1]_.

    Training is one pass of counting, on a stream too, with counters placed by word; `classified`
    says of what class new documents are.

    References
    ----------
    .. [1] Nasir et al., "The Power of Both Choices", ICDE 2015.
    """

    name: ClassVar[str] = "naive-bayes"
    description: ClassVar[str] = "streaming training of a text classifier: word-class counters"
    schema: ClassVar[str] = "at timestamp, document string, word string, label string"
    time: ClassVar[str | None] = "at"
    key: ClassVar[tuple[str, ...]] = ("word",)
    result_key = ("word", "label")

    def table(self, limit: int | None = None) -> pa.Table:
        """Return passages of 200 words from presidents' messages; the class is the party."""
        words = data.words(None)
        words = words.filter(pc.is_in(words["party"], pa.array(_PARTIES))).slice(0, limit)
        passage = pa.array(np.arange(words.num_rows) // _PASSAGE).cast(pa.string())
        names = pc.binary_join_element_wise(words["document"], passage, " ")
        return pa.table(
            {"at": words["at"], "document": names, "word": words["word"], "label": words["party"]}
        )

    def drawn(self, numbers: DataFrame) -> DataFrame:
        """Return made-up documents of 100 words and two classes, each fond of its own words."""
        document = sf.floor(sf.col("value") / 100)
        right = uniform_draw(document, 1) < 0.5
        rank = zipf_rank("value", 2, keys=20_000, exponent=1.2)
        own = uniform_draw("value", 3) < 0.2
        return numbers.select(
            sf.col("timestamp").alias("at"),
            sf.format_string("document%d", document).alias("document"),
            sf.format_string(
                "word%d", sf.when(own, rank * 2 + right.cast("int")).otherwise(rank)
            ).alias("word"),
            sf.when(right, "right").otherwise("left").alias("label"),
        )

    def merged(self, rows: DataFrame) -> DataFrame:
        """Return the counters: how often each word came in documents of each class."""
        return rows.groupBy(*self.result_key).agg(sf.count("*").alias("count"))


def is_held_out(document: Column | str) -> Column:
    """Whether a document is of the fifth that is kept out of training, to be classified."""
    return sf.pmod(sf.xxhash64(document), sf.lit(_TEST_SHARE)) == 0


def classified(documents: DataFrame, counters: DataFrame) -> DataFrame:
    """Return the most likely class of each document, as ``document`` and ``predicted``.

    Multinomial naive Bayes with one added to every counter. How likely a class is beforehand is
    its share of all words; words that training never met say nothing.

    Parameters
    ----------
    documents
        Rows of ``document`` and ``word``.
    counters
        What training gave: ``word``, ``label``, ``count``. Read several times: cache it.
    """
    totals = {row["label"]: row["total"] for row in _class_totals(counters).collect()}
    labels = sorted(totals)
    known = counters.groupBy("word").pivot("label", labels).agg(sf.sum("count"))
    n_words, n_rows = known.count(), sum(totals.values())
    words = (
        documents.groupBy("document", "word").agg(sf.count("*").alias("times")).join(known, "word")
    )
    scores = [
        (
            sf.sum(sf.col("times") * _log_share(label, totals[label] + n_words))
            + math.log(totals[label] / n_rows)
        ).alias(label)
        for label in labels
    ]
    scored = words.groupBy("document").agg(*scores)
    best = sf.greatest(*(sf.col(label) for label in labels)) if len(labels) > 1 else sf.lit(None)
    predicted: Column = sf.lit(labels[-1])
    for label in reversed(labels[:-1]):
        predicted = sf.when(sf.col(label) == best, label).otherwise(predicted)
    return scored.select("document", predicted.alias("predicted"))


def _class_totals(counters: DataFrame) -> DataFrame:
    return counters.groupBy("label").agg(sf.sum("count").alias("total"))


def _log_share(label: str, total: int) -> Column:
    return sf.log((sf.coalesce(sf.col(label), sf.lit(0)) + 1) / sf.lit(float(total)))
