"""The columns of a table of measurements, and which of their values are the best."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from unskew.reports.measurement import Measurement
from unskew.reports.numbers import count_text, real_text, replication_text
from unskew.simulator.results import QueueResult

UNKNOWN = "–"


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
        "rows that this simulation put through in a second",
        lambda each: each.rows_per_second,
        real_text,
        more_is_better=True,
    ),
)
"""How even the load is, and at what memory."""


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
        "rows that the workers finish in a second",
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
"""How long rows take, where they have costs."""


def have_queues(measurements: Sequence[Measurement]) -> bool:
    """Whether all measurements have completion times."""
    return all(each.queue is not None for each in measurements)


def legend(columns: Sequence[Column[Row]]) -> list[tuple[str, str]]:
    """Return title and meaning of each column."""
    return [(column.title, column.meaning) for column in columns]
