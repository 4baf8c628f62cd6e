"""A word count as the paper's engine ran it: workers that count, and aggregators that merge.

Every row is one unit of work for its worker. At the end of a window each worker hands its counters
over. A key that h workers hold needs h − 1 merges by the aggregator that the key hashes to; keys on
one worker need none. What a merge costs, in units of work, was measured on Spark.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import NO_WEIGHTS, Workers
from unskew.groupings.key import KeyGrouping
from unskew.groupings.registry import make_grouping
from unskew.hashing import Ids, identities
from unskew.simulator._queues import Arrivals, new_queues, serve_many
from unskew.simulator.loads import SimulationRun, cut_batches
from unskew.streams.base import Stream
from unskew_papers.engines.calibration import Calibration
from unskew_papers.experiment import Unit
from unskew_papers.figures import Chart, Lines
from unskew_papers.rows import Row

SCHEMES = {
    "SG": "shuffle",
    "KG": "key",
    "DKG": "distribution-aware",
    "PKG": "partial-key",
    "PStream": "popularity:adaptive=true,threshold_bits=4",
    "wrap": "wrap",
}
"""One row of 16 reaches the synopsis, so that it knows the hot keys after fewer rows than the
paper's billions; which keys are hot in the long run does not depend on that number."""
SCHEMES_ON_SPARK = {**SCHEMES, "PStream": "popularity:threshold_bits=2"}
"""One row of four reaches the synopsis: a job of some thousand rows has no more to learn from."""
THROUGHPUT = "rows in the time of one row's work"
PERCENTILES = [5, *range(10, 100, 10), 95, 99]
AGGREGATORS = 32
"""One a machine of the paper's cluster, however many workers there are."""
SOURCES = 8
WINDOWS = 6
"""Few and long: merges must not outnumber rows, as in the paper's ten seconds they do not."""
_WORK = 0.5
"""Milliseconds of work per row, those of the same figures on Spark."""
CALIBRATED_TEXT = (
    f"a row is a unit of work for a worker, {_WORK:g} ms and what comes to it on Spark; a merge, "
    "by one of 32 aggregators, takes as long as on Spark"
)
_USE = 0.8
"""Share of the workers' time that the rows would take if all had equal loads."""


def latency_rows(times: NDArray[np.float64], **fields: Any) -> list[Row]:
    """Return the percentiles of completion times."""
    found = np.percentile(times, PERCENTILES)
    return [
        {**fields, "percent": percent, "latency": float(value)}
        for percent, value in zip(PERCENTILES, found, strict=True)
    ]


def latency_chart(**options: Any) -> Chart:
    """Draw which share of the rows is done after how long; ``options`` are those of `Chart`."""
    lines = Lines("latency", "percent", by="scheme", as_measured=True)
    return Chart("latency, in rows of work", "rows in %", [lines], log_x=True, **options)


@dataclass(frozen=True)
class Window:
    """What one window of rows did to workers and aggregators.

    Parameters
    ----------
    assigned
        Worker of every row.
    loads
        Rows of every worker.
    merged_keys
        Key of every merge.
    split
        Whether the key of a row is on several workers.
    merge_cost
        What a merge costs, in rows.
    """

    assigned: Workers
    loads: NDArray[np.int64]
    merged_keys: Ids
    split: NDArray[np.bool_]
    merge_cost: float = 1.0

    @classmethod
    def of(cls, keys: Ids, assigned: Workers, workers: int, merge_cost: float) -> "Window":
        """Count what the workers hold at the end of a window."""
        names, places = np.unique(keys, return_inverse=True)
        held = np.unique(places * np.int64(workers) + assigned) // workers
        holders = np.bincount(held, minlength=names.size)
        return cls(
            assigned=assigned,
            loads=np.bincount(assigned, minlength=workers),
            merged_keys=np.repeat(names, holders - 1),
            split=(holders > 1)[places],
            merge_cost=merge_cost,
        )

    @property
    def throughput(self) -> float:
        """Rows in the time of one row's work, as the slowest worker or the aggregators allow."""
        merging = self.merge_cost * self.merged_keys.size / AGGREGATORS
        return self.assigned.size / max(float(self.loads.max()), merging)

    @property
    def stddev_percent(self) -> float:
        """σ of the loads, in percent of their mean."""
        return float(100 * np.std(self.loads) / np.mean(self.loads))


def merge_cost_of(unit: Unit) -> float:
    """Return what a merge costs on Spark, in rows."""
    return Calibration.of(unit["calibration"]).merge_in_rows(_WORK)


def windows_of(
    scheme: str, workers: int, stream: Stream, *, seed: int, merge_cost: float
) -> Iterator[Window]:
    """Cut a stream into windows, route it, and let schemes that learn plan after each window.

    >>> from unskew.streams import from_keys
    >>> found = list(windows_of("key", 4, from_keys([7] * 1200), seed=1, merge_cost=1))
    >>> len(found), found[0].throughput, found[0].merged_keys.size
    (6, 1.0, 0)
    """
    rows = (stream.rows or 0) // WINDOWS
    grouping = make_grouping(scheme, workers, seed=seed)
    run = SimulationRun(
        grouping,
        sources=SOURCES,
        feed="round-robin",
        learned=0,
        epoch=rows,
        n_keys=None,
        weighted=False,
    )
    keys: list[Ids] = []
    assigned: list[Workers] = []
    for batch in cut_batches(stream, 0, rows):
        routed = run.take(batch)
        if routed is not None:
            keys.append(identities(batch.keys))
            assigned.append(routed)
        if sum(map(len, keys)) == rows:
            yield Window.of(np.concatenate(keys), np.concatenate(assigned), workers, merge_cost)
            keys, assigned = [], []


def settled(windows: list[Window]) -> list[Window]:
    """Return the second half: by then every scheme knows the stream."""
    return windows[len(windows) // 2 :]


class Latency:
    """Completion times of rows that arrive evenly, whatever the scheme."""

    def __init__(self, workers: int) -> None:
        self._gap = 1 / (_USE * workers)
        self._queues = new_queues(workers)
        self._mergers = new_queues(AGGREGATORS)
        self._by_key = KeyGrouping(AGGREGATORS)
        self._served = 0

    def of(self, window: Window) -> NDArray[np.float64]:
        """Return the times of a window's rows; those of split keys wait for a merge, too."""
        rows = window.assigned.size
        out = np.empty(rows)
        serve_many(
            self._queues, window.assigned, Arrivals(self._served, self._gap), NO_WEIGHTS, out
        )
        merging = self._merging(window.merged_keys, rows, window.merge_cost)
        split = np.flatnonzero(window.split)
        if merging.size:
            out[split] += merging[np.arange(split.size) * merging.size // split.size]
        self._served += rows
        return out

    def _merging(self, keys: Ids, rows: int, cost: float) -> NDArray[np.float64]:
        """Spread the merges of a window over its time."""
        out = np.empty(keys.size)
        if keys.size:
            gap = rows * self._gap / keys.size
            first = round(self._served * self._gap / gap)
            aggregators = self._by_key.route_many(keys)
            costs = np.full(keys.size, cost)
            serve_many(self._mergers, aggregators, Arrivals(first, gap), costs, out)
        return out
