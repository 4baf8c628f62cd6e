"""Put schemes on streams in the way that all experiments do."""

from typing import Any

import numpy as np

from unskew.groupings.base import Grouping, LearnedGrouping
from unskew.groupings.registry import make_grouping
from unskew.simulator.loads import simulate
from unskew.simulator.queueing import simulate_queue
from unskew.simulator.results import QueueResult, SimulationResult
from unskew.streams.base import Stream

_EPOCHS = 50


def loads_of(
    scheme: str,
    workers: int,
    stream: Stream,
    *,
    seed: int,
    sources: int = 1,
    feed: str = "round-robin",
    learn: float | None = None,
) -> SimulationResult:
    """Put a stream through a scheme, written as the command line has it.

    A scheme that learns is measured on every row, like the others: it starts without a plan and
    makes a new one after each fiftieth of the stream. ``learn`` gives it, and keeps out of the
    measurement, a share of the rows instead.

    Examples
    --------
    >>> from unskew.streams import zipf
    >>> stream = zipf(keys=100, exponent=2.0, rows=10_000, seed=1)
    >>> loads_of("shuffle", 4, stream, seed=1).loads
    (2500, 2500, 2500, 2500)
    """
    grouping = make_grouping(scheme, workers, seed=seed)
    epoch = epoch_of(grouping, stream) if learn is None else None
    return simulate(grouping, stream, sources=sources, feed=feed, learn=learn, epoch=epoch)


def queue_of(
    scheme: str, workers: int, stream: Stream, *, seed: int, **options: Any
) -> QueueResult:
    """Put a stream through a scheme to workers that have queues.

    Plans are made as in `loads_of`; ``options`` are those of `simulate_queue`.

    Examples
    --------
    With all rows of one key its worker works five times as long as five would:

    >>> from unskew.streams import from_keys
    >>> stream = from_keys([7] * 1000)
    >>> [queue_of(scheme, 5, stream, seed=1).makespan for scheme in ("key", "shuffle")]
    [1000.0, 200.8]
    """
    grouping = make_grouping(scheme, workers, seed=seed)
    return simulate_queue(grouping, stream, epoch=epoch_of(grouping, stream), **options)


def epoch_of(grouping: Grouping, stream: Stream) -> int | None:
    """Return after how many rows a scheme that learns makes its next plan; None for all others."""
    if not isinstance(grouping, LearnedGrouping):
        return None
    return max(1, (stream.rows or _EPOCHS * 10_000) // _EPOCHS)


def balance(result: SimulationResult) -> dict[str, Any]:
    """Return the fields about balance that rows have.

    ``fraction`` is the mean over time of I(t), divided by all rows; ``relative`` the mean of
    I(t)/t, which is what the program of the partial key grouping's authors prints. On a steady
    stream that is out of balance the second is twice the first.
    """
    return {
        "rows": result.rows,
        "p1": result.p1,
        "fraction": result.average_imbalance_fraction,
        "relative": float(np.mean([imbalance / rows for rows, imbalance in result.series])),
        "replication": result.replication,
    }
