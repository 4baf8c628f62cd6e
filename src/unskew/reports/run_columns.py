"""The columns of the table that compares groupings after a run."""

from unskew.reports.columns import Column
from unskew.reports.grouping_run import GroupingRun
from unskew.reports.numbers import count_text, real_text, replication_text

RUN_COLUMNS: tuple[Column[GroupingRun], ...] = (
    Column(
        "rows/s",
        "rows over the time of their micro-batches",
        lambda run: run.rows_per_second,
        real_text,
        more_is_better=True,
    ),
    Column(
        "p50 s",
        "half of the rows have their result within so many seconds",
        lambda run: run.latency(0.50),
        real_text,
    ),
    Column("p95 s", "so have 95 of 100 rows", lambda run: run.latency(0.95), real_text),
    Column("p99 s", "and 99 of 100 rows", lambda run: run.latency(0.99), real_text),
    Column(
        "λ %",
        "by how much the busiest worker of a micro-batch exceeds the mean load; 0 is even",
        lambda run: run.imbalance_percent,
        real_text,
    ),
    Column(
        "σ",
        "standard deviation of the workers' rows in a micro-batch",
        lambda run: run.stddev,
        real_text,
    ),
    Column(
        "replication",
        "workers that hold a key in a micro-batch, on average (an estimate, to some 1 %)",
        lambda run: run.replication,
        replication_text,
    ),
    Column(
        "memory",
        "keys held in a micro-batch, all workers together, at most (an estimate)",
        lambda run: run.memory,
        count_text,
    ),
)
"""Throughput, latency, balance and memory."""
