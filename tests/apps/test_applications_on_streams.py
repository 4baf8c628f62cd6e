"""Every application gives on a stream, micro-batch after micro-batch, what it gives in a batch."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.apps.application_cases import (
    STREAMED,
    WORKERS,
    application_of,
    halves,
    multiset,
    streamed,
    table_of,
)
from tests.spark.stream_cases import epochs_after

from unskew.apps.placing import Observed, Placing
from unskew.spark.schemes import RUNNABLE


def _expected(spark: SparkSession, spec: str) -> Counter[str]:
    """Return the plain result: of all rows, or of each micro-batch where nothing runs on."""
    application = application_of(spec)
    parts = [table_of(spec)] if application.result_key else halves(table_of(spec))
    results = [multiset(application.plain(spark.createDataFrame(part)).collect()) for part in parts]
    return sum(results, Counter())


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("spec", STREAMED)
def test_a_stream_gives_the_result_of_plain_spark(
    spark: SparkSession, tmp_path: Path, spec: str
) -> None:
    expected = _expected(spark, spec)
    assert expected
    for grouping in STREAMED[spec]:
        placing = Placing(
            grouping, WORKERS, plan_path=tmp_path / f"plans-{grouping}", observe_as="placed"
        )
        found, reports = streamed(spark, spec, placing, tmp_path)
        assert len(reports) == 2
        assert found == expected, grouping


def test_every_grouping_runs_on_a_stream() -> None:
    assert {name for names in STREAMED.values() for name in names} >= set(RUNNABLE)


def test_a_micro_batch_tells_where_its_rows_were(spark: SparkSession, tmp_path: Path) -> None:
    placing = Placing("wrap", 2, plan_path=tmp_path / "plans", observe_as="placed")
    _, reports = streamed(spark, "wordcount", placing, tmp_path)
    observed = [Observed.read(one["observedMetrics"]["placed"].asDict(), 2) for one in reports]
    words = [Counter(half["word"].to_pylist()) for half in halves(table_of("wordcount"))]
    assert [sum(one.loads) for one in observed] == [sum(counts.values()) for counts in words]
    epochs = epochs_after(tmp_path / "plans", len(reports))
    assert [one.loads for one in observed] == [one.loads for one in epochs]
    for one, counts in zip(observed, words, strict=True):
        assert one.hottest[0].rows == counts.most_common(1)[0][1]
        assert one.keys == pytest.approx(len(counts), rel=0.05)
        assert one.keys <= one.pieces <= one.keys * 2
