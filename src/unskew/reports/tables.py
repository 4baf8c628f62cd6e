"""Tables of results: numbers as people read them, columns, and what a table is about."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from unskew.reports.grouping_run import GroupingRun
from unskew.reports.measurement import Measurement
from unskew.simulator.results import QueueResult

UNKNOWN = "–"


def real_text(value: float) -> str:
    """Write three significant digits, thousands apart.

    >>> [real_text(value) for value in (0, 0.0612345, 1.5, 883.4, 1234567.0, 1.4e-6)]
    ['0', '0.0612', '1.50', '883', '1,230,000', '1.40e-6']
    """
    rounded = float(f"{value:.3g}")
    if rounded == 0:
        return "0"
    size = math.floor(math.log10(abs(rounded)))
    if size < -3:
        mantissa, _, exponent = f"{rounded:.2e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{rounded:,.{max(0, 2 - size)}f}"


def count_text(value: float) -> str:
    """Write a count in full, thousands apart.

    >>> count_text(1234567)
    '1,234,567'
    """
    return f"{value:,.0f}"


def replication_text(value: float) -> str:
    """Write a replication so that 1.0004 and 1 are told apart.

    >>> replication_text(1.00042), replication_text(40.0123)
    ('1.0004', '40.0')
    """
    return f"{value:.4f}" if value < 10 else real_text(value)


def share_text(value: float) -> str:
    """Write a share in percent.

    >>> share_text(0.8), share_text(0.123456)
    ('80 %', '12.3 %')
    """
    return f"{100 * value:.3g} %"


class Labelled(Protocol):
    """What has a row of its own in a table."""

    @property
    def label(self) -> str:
        """What stands in front of the row."""


Row = TypeVar("Row", bound=Labelled)


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One figure of every measurement.

    Parameters
    ----------
    title
        What stands above it.
    meaning
        What it says, in plain words.
    value
        Takes the figure from a measurement.
    text
        Writes it.
    more_is_better
        Whether the largest value is the best; None where no value is better than another.
    """

    title: str
    meaning: str
    value: Callable[[Row], float]
    text: Callable[[float], str]
    more_is_better: bool | None = False

    def cells(self, measurements: Sequence[Row]) -> list[tuple[str, bool]]:
        """Return the text of every measurement and whether it is among the best.

        Values that look the same are equally good, and where all do, none stands out.
        """
        values = [self.value(each) for each in measurements]
        texts = [self.text(value) if math.isfinite(value) else UNKNOWN for value in values]
        known = [value for value in values if math.isfinite(value)]
        if self.more_is_better is None or not known or len(set(texts)) == 1:
            return [(text, False) for text in texts]
        best = self.text(max(known) if self.more_is_better else min(known))
        return [(text, text == best) for text in texts]


LOAD_COLUMNS: tuple[Column[Measurement], ...] = (
    Column(
        "λ %",
        "by how much the busiest worker exceeds the mean load; 0 is even",
        lambda each: each.result.imbalance_percent,
        real_text,
    ),
    Column(
        "avg I/m",
        "how far it was above the mean at each moment, on average, as a share of all load",
        lambda each: each.result.average_imbalance_fraction,
        real_text,
    ),
    Column("σ", "standard deviation of the loads", lambda each: each.result.stddev, real_text),
    Column(
        "replication",
        "workers that hold a key, on average; 1 needs no merge",
        lambda each: each.result.replication,
        replication_text,
    ),
    Column(
        "memory",
        "keys held, all workers together",
        lambda each: each.result.memory,
        count_text,
    ),
    Column(
        "rows/s",
        "rows that this simulation put through per second",
        lambda each: each.rows_per_second,
        real_text,
        more_is_better=True,
    ),
)
"""Columns about balance and memory."""


LEAST_COLUMNS = (
    "σ",
    "avg I/m",
    "control messages",
    "mean ms",
    "p50 ms",
    "p50 s",
    "p95 ms",
    "p95 s",
)
"""What is left out first where a table is too wide."""


def _queue(measurement: Measurement) -> QueueResult:
    if measurement.queue is None:
        raise TypeError(f"{measurement.label} has no completion times")
    return measurement.queue


QUEUE_COLUMNS: tuple[Column[Measurement], ...] = (
    Column(
        "mean ms",
        "completion time, from a row's arrival to the end of its work",
        lambda each: _queue(each).mean,
        real_text,
    ),
    Column("p50 ms", "half of the rows take no longer", lambda each: _queue(each).p50, real_text),
    Column("p95 ms", "95 of 100 rows take no longer", lambda each: _queue(each).p95, real_text),
    Column("p99 ms", "99 of 100 rows take no longer", lambda each: _queue(each).p99, real_text),
    Column(
        "throughput/s",
        "rows that the workers finish per second",
        lambda each: 1000 * _queue(each).throughput,
        real_text,
        more_is_better=True,
    ),
    Column(
        "control messages",
        "messages that the scheme itself sends",
        lambda each: _queue(each).control_messages,
        count_text,
        more_is_better=None,
    ),
)
"""Columns about completion times, where rows have costs."""


def have_queues(measurements: Sequence[Measurement]) -> bool:
    """Whether all measurements have completion times."""
    return all(each.queue is not None for each in measurements)


def legend(columns: Sequence[Column[Row]]) -> list[tuple[str, str]]:
    """Return title and meaning of each column."""
    return [(column.title, column.meaning) for column in columns]


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


def measurement_facts(measurements: Sequence[Measurement]) -> list[tuple[str, str]]:
    """Return name and text of what all measurements have in common."""
    first = measurements[0]
    result = first.result
    return [
        ("stream", f"{first.stream}, seed {first.seed}"),
        ("workers", count_text(result.workers)),
        ("sources", count_text(result.sources)),
        ("rows", rows_text(first)),
        ("keys", f"{count_text(result.keys)}, the hottest has {share_text(result.p1)} of the rows"),
    ]


def rows_text(measurement: Measurement) -> str:
    """Say how many rows were measured, and which, where it is not all of them."""
    measured, learned = measurement.result.rows, measurement.result.learned_rows
    text = count_text(measured)
    if not learned:
        return text
    return f"{text}, measured on the last {share_text(measured / (measured + learned))}"
