"""What schemes that hear of queues have in common: a cluster with a slow worker."""

from unskew import simulate_queue, zipf
from unskew.groupings.base import Grouping
from unskew.simulator.results import QueueResult


def with_a_slow_worker(grouping: Grouping, *, times: float = 3.0) -> QueueResult:
    """A run in which the first worker takes ``times`` as long for a row as any other.

    Together they could do a sixth more rows than come.
    """
    factors = [times] + [1.0] * (grouping.workers - 1)
    speed = sum(1 / factor for factor in factors) / grouping.workers
    stream = zipf(keys=10_000, exponent=1.0, rows=100_000, seed=7)
    return simulate_queue(grouping, stream, speeds=factors, over_provisioning=1.2 / speed)
