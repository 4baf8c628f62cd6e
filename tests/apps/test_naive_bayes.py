"""What is trained on Spark classifies as scikit-learn's naive Bayes does on one machine."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from sklearn.naive_bayes import MultinomialNB  # type: ignore[import-untyped]  # it has no hints

from unskew.apps.naive_bayes import NaiveBayes, classified, is_held_out
from unskew.apps.placing import Placing


def _some_passages() -> pa.Table:
    """Return every tenth passage, so that all years and both parties are there."""
    table = NaiveBayes().table()
    number = pc.list_element(pc.split_pattern(table["document"], " "), 1).cast(pa.int64())
    return table.filter(pa.array(number.to_numpy() % 10 == 0))


def _matrix(
    documents: list[str], rows: list[dict[str, str]], vocabulary: dict[str, int]
) -> NDArray[np.int64]:
    place = {document: number for number, document in enumerate(documents)}
    matrix = np.zeros((len(documents), len(vocabulary)), np.int64)
    for row in rows:
        if row["document"] in place and row["word"] in vocabulary:
            matrix[place[row["document"]], vocabulary[row["word"]]] += 1
    return matrix


def test_new_documents_are_classified_as_on_one_machine(spark: SparkSession) -> None:
    table = _some_passages()
    df = spark.createDataFrame(table)
    tested = df.where(is_held_out("document")).cache()
    training = df.where(~is_held_out("document"))
    counters = NaiveBayes().balanced(training, Placing("wrap", 3)).cache()
    predicted = {row[0]: row[1] for row in classified(tested, counters).collect()}

    rows = table.to_pylist()
    label_of = {row["document"]: row["label"] for row in rows}
    test_documents = sorted(predicted)
    train_documents = sorted(set(label_of) - set(predicted))
    kept_out = {row[0] for row in tested.select("document").distinct().collect()}
    assert set(test_documents) == kept_out
    learned = [row for row in rows if row["document"] not in kept_out]
    vocabulary = {word: n for n, word in enumerate(sorted({row["word"] for row in learned}))}
    words = Counter(row["label"] for row in learned)
    prior = [words[label] / len(learned) for label in sorted(words)]
    reference = MultinomialNB(class_prior=prior)
    reference.fit(
        _matrix(train_documents, learned, vocabulary), [label_of[one] for one in train_documents]
    )
    expected = reference.predict(_matrix(test_documents, rows, vocabulary))
    assert [predicted[document] for document in test_documents] == expected.tolist()
    right = [predicted[document] == label_of[document] for document in test_documents]
    most_common = Counter(label_of[document] for document in test_documents).most_common(1)[0][1]
    assert sum(right) > most_common  # it has learned something
