"""The result of one grouping on one stream, for tables, pages and programs."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.simulator.results import QueueResult, SimulationResult


@dataclass(frozen=True)
class Measurement:
    """A run and how long it took.

    Parameters
    ----------
    label
        What the user calls the grouping: its name and the parameters that were given.
    stream, seed
        The workload.
    result
        How even the load was.
    seconds
        Wall clock time of the run.
    queue
        Completion times; None for a stream without costs.
    """

    label: str
    stream: str
    seed: int
    result: SimulationResult
    seconds: float
    queue: QueueResult | None = None

    @property
    def rows_per_second(self) -> float:
        """Rows that the run put through in a second, those it learned from among them."""
        rows = self.result.rows + self.result.learned_rows
        return rows / self.seconds if self.seconds > 0 else math.inf

    def to_json(self) -> dict[str, Any]:
        """Return plain numbers and text under stable names; what is not known becomes None."""
        result = self.result
        fields: dict[str, Any] = {
            "grouping": result.grouping,
            "workers": result.workers,
            "sources": result.sources,
            "rows": result.rows,
            "keys": result.keys,
            "p1": result.p1,
            "loads": [_whole_if_possible(load) for load in result.loads],
            "imbalance_percent": result.imbalance_percent,
            "average_imbalance_fraction": result.average_imbalance_fraction,
            "stddev": result.stddev,
            "replication": result.replication,
            "memory": result.memory,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
            "learned_rows": result.learned_rows,
            "stream": self.stream,
            "seed": self.seed,
            "parameters": result.parameters,
        }
        if result.why:
            fields["why"] = result.why
        if self.queue is not None:
            fields["queueing"] = _queue_fields(self.queue)
        plain: dict[str, Any] = to_plain(fields)
        return plain


def _queue_fields(queue: QueueResult) -> dict[str, Any]:
    return {
        "unit": "ms",
        "mean": queue.mean,
        "p50": queue.p50,
        "p95": queue.p95,
        "p99": queue.p99,
        "exact_quantiles": queue.exact_quantiles,
        "makespan": queue.makespan,
        "throughput": queue.throughput,
        "control_messages": queue.control_messages,
        "gap": queue.gap,
        "busy": queue.busy,
    }


def to_plain(value: Any) -> Any:
    """Return ``value`` in the types that JSON has; what is not finite becomes None.

    >>> to_plain({"loads": np.array([1, 2]), "share": np.float64("inf"), "many": (np.int64(3),)})
    {'loads': [1, 2], 'share': None, 'many': [3]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: to_plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _whole_if_possible(load: float) -> float:
    return int(load) if float(load).is_integer() else load
