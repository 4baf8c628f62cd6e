"""Runs over small sources, and what they must give."""

from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from unskew.apps.registry import make_application
from unskew.apps.running.runner import ApplicationRun
from unskew.apps.running.sinks import memory_table, parse_sink
from unskew.apps.running.sources import BatchSizes, parse_source

WORKERS = 4
BATCH_ROWS = 2_000


def asked(
    folder: Path,
    *groupings: str,
    source: str = "built-in",
    sink: str = "memory",
    app: str = "wordcount",
    batch_rows: int | None = BATCH_ROWS,
    limit: int | None = None,
    **more: Any,
) -> ApplicationRun:
    """Return a checked run; built-in data has ``limit`` or else ``max_batches`` micro-batches."""
    pool = (more.get("checkpoint") or folder) / "input"
    portions = BatchSizes(batch_rows, more.get("trigger"), limit or more.get("max_batches"), pool)
    run = ApplicationRun(
        make_application(app),
        parse_source(source, portions),
        parse_sink(sink),
        groupings or ("wrap",),
        WORKERS,
        folder,
        batch_rows=batch_rows,
        **more,
    )
    run.check()
    return run


def words(rows: int) -> Counter[str]:
    """Return the counts of the first words, as plain Python has them."""
    return Counter(make_application("wordcount").table(rows)["word"].to_pylist())


def last_counts(spark: SparkSession, grouping: str) -> dict[str, int]:
    """Return the counts in force in the memory sink: they only grow."""
    counts: dict[str, int] = {}
    for row in spark.table(memory_table(grouping)).collect():
        counts[row["word"]] = max(counts.get(row["word"], 0), row["count"])
    return counts
