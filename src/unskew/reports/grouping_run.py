"""Results of one grouping in a run of an application, by micro-batch and as a whole."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from unskew.events import Epoch
from unskew.metrics import stddev
from unskew.reports.measurement import to_plain

_STEPS = 60  # halvings of an interval: exact to the last bit of a float


class Waits(NamedTuple):
    """The waits of the rows of a micro-batch, spread evenly between the newest and the oldest."""

    least: float
    """Seconds that the row waited which came last."""
    most: float
    """Seconds that the row waited which came first."""
    rows: int

    def quantile(self, share: float) -> float:
        """Return the wait that this share of the rows does not exceed.

        >>> Waits(1.0, 3.0, rows=10).quantile(0.5)
        2.0
        """
        return self.least + share * (self.most - self.least)

    def share_within(self, seconds: float) -> float:
        """Return the share of the rows that waited no longer.

        >>> Waits(1.0, 3.0, rows=10).share_within(1.5)
        0.25
        """
        if self.least < seconds < self.most:
            return (seconds - self.least) / (self.most - self.least)
        return 1.0 if seconds >= self.most else 0.0


def share_within(waits: Sequence[Waits], seconds: float) -> float:
    """Return the share of all rows that waited no longer than so many seconds."""
    rows = sum(each.rows for each in waits)
    return sum(each.rows * each.share_within(seconds) for each in waits) / rows if rows else 0.0


def quantile(waits: Sequence[Waits], share: float) -> float:
    """Return the wait that this share of all rows does not exceed; NaN without rows.

    >>> waits = [Waits(1.0, 1.0, rows=90), Waits(5.0, 5.0, rows=10)]
    >>> round(quantile(waits, 0.5), 9), round(quantile(waits, 0.95), 9)
    (1.0, 5.0)
    """
    if not any(each.rows for each in waits):
        return float("nan")
    low, high = 0.0, max(each.most for each in waits)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if share_within(waits, middle) >= share:
            high = middle
        else:
            low = middle
    return high


class MeasuredBatch(NamedTuple):
    """A micro-batch, and what its event does not tell."""

    epoch: Epoch
    waits: Waits
    keys: int
    """Distinct keys, an estimate."""
    held: int
    """Keys that workers held, each counted on every worker that had it; an estimate."""


@dataclass(frozen=True)
class GroupingRun:
    """The micro-batches of one grouping.

    Parameters
    ----------
    label
        What the user calls the grouping.
    batches
        In their order, with at least a row each.
    warm_up
        How many of them, from the start, are not measured: the JVM compiles, schemes learn. The
        last one always is.
    notes
        Further remarks, a sentence each.

    Examples
    --------
    >>> event = Epoch(
    ...     grouping="key", query="q", run="r", batch=0, started=0.0, seconds=2.0, rows=40,
    ...     loads=(30, 10), imbalance=50.0)
    >>> run = GroupingRun("key", [MeasuredBatch(event, Waits(2.0, 2.0, 40), keys=9, held=9)])
    >>> run.rows_per_second, run.imbalance_percent, run.stddev, run.replication
    (20.0, 50.0, 10.0, 1.0)
    """

    label: str
    batches: Sequence[MeasuredBatch]
    warm_up: int = 0
    notes: Sequence[str] = ()

    @property
    def measured(self) -> Sequence[MeasuredBatch]:
        """The micro-batches that count."""
        return self.batches[min(self.warm_up, max(len(self.batches) - 1, 0)) :]

    @property
    def rows(self) -> int:
        """Rows that were measured."""
        return sum(each.epoch.rows for each in self.measured)

    @property
    def seconds(self) -> float:
        """What the measured micro-batches took."""
        return sum(each.epoch.seconds or 0.0 for each in self.measured)

    @property
    def rows_per_second(self) -> float:
        """Rows over the time of their micro-batches: the throughput."""
        return self.rows / self.seconds if self.seconds else math.nan

    @property
    def loads(self) -> tuple[int, ...]:
        """Rows of each worker, all measured micro-batches together."""
        return tuple(sum(worker) for worker in zip(*self._loads(), strict=True))

    @property
    def imbalance_percent(self) -> float:
        """By how much the most loaded workers of all micro-batches exceed the means, in percent."""
        means = sum(sum(loads) / len(loads) for loads in self._loads())
        return 100.0 * (sum(map(max, self._loads())) / means - 1.0) if means else math.nan

    @property
    def stddev(self) -> float:
        """Standard deviation of the loads of a micro-batch, on average."""
        deviations = [stddev(loads) for loads in self._loads()]
        return sum(deviations) / len(deviations) if deviations else math.nan

    @property
    def replication(self) -> float:
        """On how many workers a key is in a micro-batch, on average."""
        keys = sum(each.keys for each in self.measured)
        held = sum(each.held for each in self.measured)
        return max(1.0, held / keys) if keys else math.nan

    @property
    def memory(self) -> float:
        """The most keys that all workers together held in a micro-batch."""
        return max((each.held for each in self.measured), default=math.nan) or math.nan

    @property
    def dead_letters(self) -> int:
        """Records that were put aside, those of the warm-up among them."""
        return sum(each.epoch.dead_letters for each in self.batches)

    def latency(self, share: float) -> float:
        """Return the wait in seconds that this share of the rows did not exceed."""
        return quantile([each.waits for each in self.measured], share)

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names; what is not known becomes None."""
        fields: dict[str, Any] = {
            "grouping": self.label,
            "batches": len(self.batches),
            "measured_batches": len(self.measured),
            "rows": self.rows,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
            "latency_p50": self.latency(0.50),
            "latency_p95": self.latency(0.95),
            "latency_p99": self.latency(0.99),
            "imbalance_percent": self.imbalance_percent,
            "stddev": self.stddev,
            "replication": self.replication,
            "memory": self.memory,
            "loads": self.loads,
            "batch_seconds": [each.epoch.seconds for each in self.measured],
            "dead_letters": self.dead_letters,
            "notes": list(self.notes),
        }
        plain: dict[str, Any] = to_plain(fields)
        return plain

    def _loads(self) -> Iterator[tuple[int, ...]]:
        """Return the rows of workers, where they were counted."""
        return (each.epoch.loads for each in self.measured if each.epoch.loads)
