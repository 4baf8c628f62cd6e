"""Applications on a stream of two micro-batches, under many groupings at once."""

import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.apps.application_cases import (
    WORKERS,
    application_of,
    halves,
    in_force,
    multiset,
    table_of,
)

from unskew.apps.placing import Observed, Placing
from unskew.events import Epoch, read_epochs
from unskew.groupings.registry import GROUPINGS
from unskew.spark.routing.schemes import learning_on_streams

WINDOWED = {
    "wordcount:window=1 minute": "popularity-counted",
    "hashtags:window=1 minute,k=3": "distribution-aware",
}
"""What else runs by windows, and under which grouping: `vwap` and `roads` always do."""
_OBSERVED = "placed"
_PATIENCE_SECONDS = 300  # all queries of an application tell one listener
# Rows that workers get of a row of the application.
_PLACED = {"field-grid": 4, "decision-tree:bins=1000": 6}
_KEY_COLUMN = {"wordcount": "word", "enrich": "mention"}


class Streamed(NamedTuple):
    """What a query has done with two micro-batches."""

    found: Counter[str]
    """The results in force."""
    reports: list[dict[str, Any]]
    """Spark's, of the micro-batches with rows."""
    epochs: list[Epoch]
    """What a scheme that learns has on record of them."""


def check_all_groupings(spark: SparkSession, spec: str, folder: Path) -> None:
    """Raise unless the stream of an application gives the plain result under all groupings."""
    expected = expected_of(spark, spec)
    assert expected
    all_done = streamed(spark, spec, application_of(spec).groupings, folder)
    wrong = [grouping for grouping, done in all_done.items() if done.found != expected]
    assert not wrong
    for grouping, done in all_done.items():
        _check_learning(grouping, done)
        _check_loads(spec, grouping, done)


def expected_of(spark: SparkSession, spec: str) -> Counter[str]:
    """Return the plain result: of all rows, or of each micro-batch where nothing runs on."""
    application = application_of(spec)
    parts = [table_of(spec)] if application.result_key else halves(table_of(spec))
    results = [multiset(application.plain(spark.createDataFrame(part)).collect()) for part in parts]
    return sum(results, Counter())


def observed_in(report: dict[str, Any]) -> Observed:
    """Return what a micro-batch told of its placed rows."""
    return Observed.read(report["observedMetrics"][_OBSERVED].asDict(), WORKERS)


def streamed(
    spark: SparkSession, spec: str, groupings: Iterable[str], folder: Path
) -> dict[str, Streamed]:
    """Return what queries of a grouping each do with the halves of the data.

    They run beside each other over the same files. The second half comes when all schemes that
    learn have learned from the first.
    """
    (folder / "in").mkdir(parents=True)
    placings = {name: _placing(name, folder) for name in groupings}
    queries = {name: _started(spark, spec, placings[name], folder) for name in placings}
    try:
        for number, half in enumerate(halves(table_of(spec)), start=1):
            pq.write_table(half, folder / "in" / f".{number}")  # a name that Spark does not look at
            (folder / "in" / f".{number}").replace(folder / "in" / f"{number}.parquet")
            for query in queries.values():
                query.processAllAvailable()
            epochs = {name: _epochs(placing, number) for name, placing in placings.items()}
    finally:
        for query in queries.values():
            query.stop()
    return {
        name: Streamed(
            in_force(application_of(spec), _rows(spark, query)),
            [dict(one) for one in query.recentProgress if one["numInputRows"]],
            epochs[name],
        )
        for name, query in queries.items()
    }


def _placing(grouping: str, folder: Path) -> Placing:
    return Placing(grouping, WORKERS, plan_path=folder / f"plans-{grouping}", observe_as=_OBSERVED)


def _started(spark: SparkSession, spec: str, placing: Placing, folder: Path) -> StreamingQuery:
    application = application_of(spec)
    stream = spark.readStream.schema(application.schema).parquet(str(folder / "in"))
    name = f"{application.name}_{placing.grouping}".replace("-", "_")
    writer = application.balanced(stream, placing).writeStream.format("memory").queryName(name)
    place = str(folder / f"checkpoint-{placing.grouping}")
    return writer.outputMode(application.output_mode).option("checkpointLocation", place).start()


def _epochs(placing: Placing, batches: int) -> list[Epoch]:
    if not placing.learns:
        return []
    deadline = time.monotonic() + _PATIENCE_SECONDS
    folder = Path(str(placing.plan_path))
    while len(epochs := read_epochs(folder)) < batches:
        assert time.monotonic() < deadline, f"{placing.grouping} has not learned"
        time.sleep(0.05)
    return epochs


def _rows(spark: SparkSession, query: StreamingQuery) -> list[Row]:
    return spark.table(str(query.name)).collect()


def _check_learning(grouping: str, done: Streamed) -> None:
    """See to it that a scheme that learns had what it learned for the second micro-batch."""
    versions = [epoch.version for epoch in done.epochs]
    if grouping in learning_on_streams():
        assert versions == [0, 1], grouping
    elif grouping == "proactive-shuffle" or GROUPINGS[grouping].remembers_on_streams:
        assert (versions[0] or 0) < (versions[1] or 0), grouping
    else:
        assert not versions, grouping


def _check_loads(spec: str, grouping: str, done: Streamed) -> None:
    """See to it that a micro-batch tells where all its rows were, and which keys are hot."""
    seen = [observed_in(report) for report in done.reports]
    assert done.epochs == [] or [one.loads for one in seen] == [one.loads for one in done.epochs]
    for one, half in zip(seen, halves(table_of(spec)), strict=True):
        assert sum(one.loads) == half.num_rows * _PLACED.get(spec, 1), grouping
        assert np.count_nonzero(one.loads) == (1 if grouping == "single" else WORKERS), grouping
        if GROUPINGS[grouping].splits_keys:
            assert one.keys <= one.pieces <= one.keys * WORKERS, grouping
        else:
            assert one.pieces == one.keys, grouping
        counts = _keys_of(spec, half)
        if counts:
            assert one.keys == pytest.approx(len(counts), rel=0.02), grouping
            assert one.hottest[0].rows == counts.most_common(1)[0][1], grouping


def _keys_of(spec: str, table: pa.Table) -> Counter[object]:
    """Return the rows of each key, where that is easily told without Spark."""
    if spec in _KEY_COLUMN:
        return Counter(table[_KEY_COLUMN[spec]].to_pylist())
    if spec != "field-grid":
        return Counter()
    x, y = table["x"].to_numpy(), table["y"].to_numpy()
    cells = [
        (
            rows,
            min(max(int(down / 68 * rows), 0), rows - 1),
            min(int(along / 105 * columns), columns - 1),
        )
        for rows, columns in ((8, 13), (16, 25), (32, 50), (64, 100))
        for along, down in zip(x.tolist(), y.tolist(), strict=True)
    ]
    return Counter(cells)
