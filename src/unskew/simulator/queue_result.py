"""What a simulation of queues says in the end."""

import math
from dataclasses import dataclass

from unskew.simulator._completion import CompletionTimes
from unskew.simulator._queues import Queues
from unskew.simulator.result import SimulationResult


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
