"""A word count as the paper's engine ran it: workers that count, and aggregators that merge.

Every row is one unit of work for its worker. At the end of a window each worker hands its counters
over. A key that h workers hold needs h − 1 merges by the aggregator that the key hashes to; keys on
one worker need none. A merge costs `MERGE` units of work.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import NO_WEIGHTS, Workers
from unskew.groupings.key import KeyGrouping
from unskew.groupings.popularity import Popularity
from unskew.groupings.registry import make_grouping
from unskew.hashing import Ids, identities
from unskew.simulator._queues import Arrivals, new_queues, serve_many
from unskew.simulator.loads import SimulationRun, cut_batches
from unskew.streams.base import Stream
from unskew_papers.engines.queues import identities_on_spark
from unskew_papers.engines.spark_jobs import JobResult, counted, frame, summed_up
from unskew_papers.engines.spark_streams import count_stream_on_spark
from unskew_papers.figures import Chart, Lines
from unskew_papers.rows import Row, Rows

MERGE = 1.5
"""Rows that a worker does in the time of a merge: then shuffle stops growing at 80 workers, as in
Figure 13 (10 million rows of ZF), and merges are a quarter of the work; Figure 4 has 30 to 60 %."""
SCHEMES = {
    "SG": "shuffle",
    "KG": "key",
    "DKG": "distribution-aware",
    "PKG": "partial-key",
    "PStream": "popularity:adaptive=true,threshold_bits=4",
    "wrap": "wrap",
}
"""One row of 16 reaches the synopsis, so that it knows the hot keys after fewer rows than the
paper's billions; which keys are hot in the long run does not depend on that number. DKG is the
scheme of 2015 that has this name, which keeps every key whole."""
SCHEMES_ON_SPARK = {**SCHEMES, "PStream": "popularity:threshold_bits=2"}
"""One row of four reaches the synopsis: a job of some thousand rows has no more to learn from."""
THROUGHPUT = "rows in the time of one row's work"
PERCENTILES = [5, *range(10, 100, 10), 95, 99]
AGGREGATORS = 32
"""One a machine of the paper's cluster, however many workers there are."""
SOURCES = 8
WINDOWS = 6
"""Few and long: merges must not outnumber rows, as in the paper's ten seconds they do not."""
MODEL = (
    f"a row is a unit of work for a worker, a merge takes {MERGE:g} of them, by one of 32 "
    "aggregators; DKG is the scheme of 2015 (whole keys), where the paper cites one that splits "
    "hot keys by their frequency"
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


def done_with_pstream(rows: Rows, scheme: str, percent: float) -> float:
    """Return which share of a scheme's rows is done in the time that so many of PStream's take."""
    percents, times = rows.curve("percent", "latency", scheme="PStream")
    limit = float(np.interp(percent, percents, times))
    _, of_scheme = rows.curve("percent", "latency", scheme=scheme)
    return float(np.interp(limit, of_scheme, PERCENTILES, left=0, right=100))


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
    counters
        Counters that the workers hold, all together.
    threshold
        From which share on keys are hot after the window, if the scheme has such a threshold.
    """

    assigned: Workers
    loads: NDArray[np.int64]
    merged_keys: Ids
    split: NDArray[np.bool_]
    counters: int = 0
    threshold: float | None = None

    @classmethod
    def of(
        cls, keys: Ids, assigned: Workers, workers: int, threshold: float | None = None
    ) -> "Window":
        """Count what the workers hold at the end of a window."""
        names, places = np.unique(keys, return_inverse=True)
        held = np.unique(places * np.int64(workers) + assigned) // workers
        holders = np.bincount(held, minlength=names.size)
        return cls(
            assigned=assigned,
            loads=np.bincount(assigned, minlength=workers),
            merged_keys=np.repeat(names, holders - 1),
            split=(holders > 1)[places],
            counters=held.size,
            threshold=threshold,
        )

    @property
    def throughput(self) -> float:
        """Rows in the time of one row's work, as the slowest worker or the aggregators allow."""
        merging = MERGE * self.merged_keys.size / AGGREGATORS
        return self.assigned.size / max(float(self.loads.max()), merging)

    @property
    def merging_share(self) -> float:
        """Share of all work, that of workers and aggregators, that merges are."""
        merging = MERGE * self.merged_keys.size
        return merging / (self.assigned.size + merging)

    @property
    def stddev_percent(self) -> float:
        """σ of the loads, in percent of their mean."""
        return float(100 * np.std(self.loads) / np.mean(self.loads))


def windows_of(scheme: str, workers: int, stream: Stream, *, seed: int) -> Iterator[Window]:
    """Cut a stream into windows, route it, and let schemes that learn plan after each window.

    >>> from unskew.streams import from_keys
    >>> found = list(windows_of("key", 4, from_keys([7] * 1200), seed=1))
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
            placing = run.groupings[0]
            threshold = placing.threshold if isinstance(placing, Popularity) else None
            yield Window.of(np.concatenate(keys), np.concatenate(assigned), workers, threshold)
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
        merging = self._merging(window.merged_keys, rows)
        split = np.flatnonzero(window.split)
        if merging.size:
            out[split] += merging[np.arange(split.size) * merging.size // split.size]
        self._served += rows
        return out

    def _merging(self, keys: Ids, rows: int) -> NDArray[np.float64]:
        """Spread the merges of a window over its time."""
        out = np.empty(keys.size)
        if keys.size:
            gap = rows * self._gap / keys.size
            first = round(self._served * self._gap / gap)
            aggregators = self._by_key.route_many(keys)
            costs = np.full(keys.size, MERGE)
            serve_many(self._mergers, aggregators, Arrivals(first, gap), costs, out)
        return out


def stream_on_spark(
    batches: Sequence[Ids], workers: int, scheme: str, *, milliseconds: float, seed: int
) -> list[JobResult]:
    """Count a stream on Spark, with one predictor of hot keys for all sources if there is one.

    As in the paper it stands beside the engine: it sees the rows of a micro-batch and says what is
    hot in the next. All other schemes run as `spark_streams.count_stream_on_spark` has it.
    """
    from unskew.groupings.plan import shuffling_plan
    from unskew.spark import balance

    predictor = make_grouping(scheme, workers, seed=seed)
    if not isinstance(predictor, Popularity):
        return count_stream_on_spark(batches, workers, scheme, milliseconds=milliseconds, seed=seed)
    jobs = []
    for keys in batches:
        plan = shuffling_plan(workers, predictor.hot_ids())
        job = counted(balance(frame(keys), "key", workers, plan=plan, seed=seed), milliseconds)
        started = time.perf_counter()
        found = job.toArrow()
        jobs.append(summed_up(found, keys, workers, time.perf_counter() - started))
        predictor.route_many(identities_on_spark(keys))
    return jobs
