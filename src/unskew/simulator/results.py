"""The results of simulations: loads and memory, and completion times where there are queues."""

import math
from dataclasses import dataclass
from html import escape
from typing import Any

from unskew import metrics
from unskew._bars import bars_of
from unskew.groupings.base import Grouping
from unskew.simulator._queues import CompletionTimes, Queues
from unskew.simulator.observer import Observer


@dataclass(frozen=True)
class SimulationResult:
    """How even the load was, and at what memory, over the measured rows of one run.

    Parameters
    ----------
    grouping
        Name of the scheme.
    parameters
        The scheme's parameters.
    workers, sources
        Numbers of workers and sources.
    rows
        Rows that were measured: the sum of the loads, unless rows have weights.
    learned_rows
        Rows before these, from which a scheme could learn.
    keys
        Distinct keys among the measured rows.
    p1
        Share of the most frequent key.
    loads
        What each worker received.
    imbalance_percent
        λ: by how many percent the largest load exceeds the mean.
    average_imbalance_fraction
        Mean over time of I(t) = max − mean, divided by the total load.
    stddev
        σ of the loads.
    replication
        Workers that hold a key, on average; 1 for key grouping.
    memory
        Keys held, summed over the workers.
    series
        (rows so far, I(t)) through the run.
    why
        What a scheme that chooses has chosen, and why; empty for all others.
    """

    grouping: str
    parameters: dict[str, Any]
    workers: int
    sources: int
    rows: int
    learned_rows: int
    keys: int
    p1: float
    loads: tuple[float, ...]
    imbalance_percent: float
    average_imbalance_fraction: float
    stddev: float
    replication: float
    memory: int
    series: tuple[tuple[int, float], ...]
    why: str = ""

    @classmethod
    def of(
        cls, grouping: Grouping, observer: Observer, *, sources: int, learned: int
    ) -> "SimulationResult":
        """Sum up what ``observer`` saw of a run of ``grouping``, which is as the run left it."""
        return cls(
            grouping=grouping.name,
            parameters=grouping.parameters(),
            workers=grouping.workers,
            sources=sources,
            rows=observer.rows,
            learned_rows=learned,
            keys=observer.distinct_keys,
            p1=observer.top_share,
            loads=tuple(observer.loads.tolist()),
            imbalance_percent=metrics.imbalance_percent(observer.loads),
            average_imbalance_fraction=observer.average_imbalance_fraction,
            stddev=metrics.stddev(observer.loads),
            replication=metrics.replication(observer.memory, observer.distinct_keys),
            memory=observer.memory,
            series=tuple(observer.series),
            why=grouping.why,
        )

    def __repr__(self) -> str:
        return (
            f"<{self.grouping}: {self.rows:,} rows on {self.workers} workers, "
            f"imbalance {self.imbalance_percent:.3g} %, replication {self.replication:.4g}>"
        )

    def _repr_html_(self) -> str:
        """Return the same, and a bar for the load of each worker."""
        return f"<div><b>{escape(repr(self))}</b></div>{bars_of(self.loads, 'load per worker')}"


@dataclass(frozen=True)
class QueueResult:
    """Completion times of one run; all times are in the unit of the stream's costs.

    Parameters
    ----------
    placement
        How even the load was, and at what memory, in the same run.
    rows
        Messages that were measured.
    mean, p50, p95, p99
        Mean and quantiles of the completion time.
    exact_quantiles
        Whether the quantiles are exact or come from a sketch.
    makespan
        When the last worker was done; the first message arrived at 0.
    throughput
        Messages in a unit of time, over the makespan (infinite where nothing cost anything).
    busy
        How long each worker worked.
    control_messages
        Messages that the scheme itself sent between workers and scheduler.
    gap
        Time between two arrivals.
    series
        (max, mean, min) completion time of each stretch of rows.
    """

    placement: SimulationResult
    rows: int
    mean: float
    p50: float
    p95: float
    p99: float
    exact_quantiles: bool
    makespan: float
    throughput: float
    busy: tuple[float, ...]
    control_messages: int
    gap: float
    series: tuple[tuple[float, float, float], ...]

    @classmethod
    def of(
        cls,
        placement: SimulationResult,
        times: CompletionTimes,
        queues: Queues,
        control_messages: int,
        gap: float,
    ) -> "QueueResult":
        """Sum up what happened in a run."""
        makespan = float(queues.free.max())
        p50, p95, p99 = times.quantiles([0.5, 0.95, 0.99])
        return cls(
            placement=placement,
            rows=times.rows,
            mean=times.mean(),
            p50=p50,
            p95=p95,
            p99=p99,
            exact_quantiles=times.exact,
            makespan=makespan,
            throughput=times.rows / makespan if makespan > 0 else math.inf,
            busy=tuple(queues.busy.tolist()),
            control_messages=control_messages,
            gap=gap,
            series=tuple((most, mean, least) for most, mean, least in times.series().tolist()),
        )

    def __repr__(self) -> str:
        return (
            f"<{self.placement.grouping}: {self.rows:,} rows on "
            f"{self.placement.workers} workers, "
            f"mean completion {self.mean:.4g}, p99 {self.p99:.4g}>"
        )

    def _repr_html_(self) -> str:
        """Return the same, and a bar for the time that each worker was busy."""
        return f"<div><b>{escape(repr(self))}</b></div>{bars_of(self.busy, 'work per worker')}"
