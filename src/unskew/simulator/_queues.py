"""Workers that serve rows first in, first out, at their own speeds."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined


class Arrivals(NamedTuple):
    """Row i of a batch arrives at (first + i) · gap."""

    first: int
    gap: float


class Queues(NamedTuple):
    """One queue a worker."""

    free: NDArray[np.float64]
    """When each worker has served all that it was given."""
    busy: NDArray[np.float64]
    """For how long each worker has worked."""
    factors: NDArray[np.float64]
    """What each worker multiplies execution times by."""


def new_queues(workers: int) -> Queues:
    """Return empty queues of workers with equal speeds."""
    return Queues(np.zeros(workers), np.zeros(workers), np.ones(workers))


@inlined
def serve(queues: Queues, worker: int, arrival: float, cost: float) -> float:
    """Put one row at the end of a worker's queue and return when it will be done."""
    took = cost * queues.factors[worker]
    end: float = max(arrival, queues.free[worker]) + took
    queues.free[worker] = end
    queues.busy[worker] += took
    return end


@compiled
def serve_many(
    queues: Queues,
    workers: NDArray[np.int32],
    arrivals: Arrivals,
    costs: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Serve assigned rows and write their completion times; empty ``costs`` mean all are 1."""
    for i in range(workers.size):
        arrival = (arrivals.first + i) * arrivals.gap
        cost = costs[i] if costs.size else 1.0
        out[i] = serve(queues, workers[i], arrival, cost) - arrival
