"""Queueing: how long rows take from arrival to the end of their processing."""

from collections.abc import Iterator

import numpy as np

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError, StreamError
from unskew.groupings.base import Grouping
from unskew.hashing import Keys
from unskew.simulator._queue_routers import make_router
from unskew.simulator._queues import (
    Arrivals,
    CompletionTimes,
    Phase,
    Speeds,
    check_speeds,
    new_queues,
)
from unskew.simulator.loads import (
    Progress,
    SimulationRun,
    cut_batches,
    prepared,
    rows_to_learn,
)
from unskew.simulator.results import QueueResult, SimulationResult
from unskew.streams.base import Batch, Stream
from unskew.streams.in_memory import from_keys

_OWNER = "simulate_queue"


def simulate_queue(
    grouping: Grouping,
    stream: Stream | Keys,
    *,
    over_provisioning: float = 1.0,
    speeds: Speeds | None = None,
    sources: int = 1,
    learn: float | None = None,
    epoch: int | None = None,
    feed: str = "round-robin",
    weighted: bool = False,
    mean_cost: float | None = None,
    series_every: int = 2000,
    on_progress: Progress | None = None,
) -> QueueResult:
    """Return the completion times of a stream on workers that serve first in, first out.

    Messages arrive evenly, W̄/k · over_provisioning apart (W̄ their mean cost, k workers), so that
    at 1.0 the workers could just keep up. Completion time is from arrival to the end of
    processing, queueing included [1].

    Parameters
    ----------
    grouping
        The scheme; it stays as it is, the run works on copies. `ProactiveShuffle` is given its
        feedback when the row that caused it ends, and the costs of the rows that it learns from;
        `FullKnowledge` is given costs and speeds, all others see keys alone.
    stream
        A workload, or simply keys; rows without costs cost 1 each.
    over_provisioning
        Largest sustainable rate of arrivals, divided by the actual rate.
    speeds
        A factor on execution times for each worker, or phases ``[(from_message, factors), …]``.
    sources, learn, epoch, feed
        As for `simulate`; rows that a scheme learns from come before the first message arrives.
    weighted
        Whether costs are the load: the scheme is given the cost of each row, and the placement is
        measured in it.
    mean_cost
        W̄, where known: saves reading the stream twice.
    series_every
        Messages in each point of the time series.
    on_progress
        Called with the number of rows of each batch that is done.

    Examples
    --------
    The example of the paper: two workers, a costs 10, b costs 1. Round robin makes the second a
    wait for the first (29 in all), the oracle does not (21 in all):

    >>> from unskew.groupings.full_knowledge import FullKnowledge
    >>> from unskew.groupings.shuffle import Shuffle
    >>> stream = from_keys(["a", "b", "a"], costs=[10.0, 1.0, 10.0])
    >>> [3 * simulate_queue(scheme, stream, mean_cost=2.0).mean
    ...  for scheme in (Shuffle(2), FullKnowledge(2))]
    [29.0, 21.0]

    References
    ----------
    [1] Rivetti et al., "Proactive Online Scheduling for Shuffle Grouping", 2016, section V.
    """
    workload = stream if isinstance(stream, Stream) else from_keys(stream)
    provision = check_real(_OWNER, "over_provisioning", over_provisioning, above=0)
    every = check_int(_OWNER, "series_every", series_every, minimum=1)
    if (weighted or grouping.needs_costs) and not workload.has_costs:
        raise InvalidParameterError(_OWNER, "stream", "one with costs", workload.spec)
    phases = check_speeds(_OWNER, speeds, grouping.workers)
    epoch = None if epoch is None else check_int(_OWNER, "epoch", epoch, minimum=1)
    learned = rows_to_learn(grouping, workload, learn, epoch)
    times = CompletionTimes(None if workload.rows is None else workload.rows - learned, every)
    if mean_cost is None:
        mean_cost = _mean_cost(workload, learned)
    gap = check_real(_OWNER, "mean_cost", mean_cost, minimum=0) / grouping.workers * provision
    queues = new_queues(grouping.workers)
    scheme = prepared(grouping, workload, learned, weighted=weighted)
    run = SimulationRun(
        scheme,
        sources=sources,
        feed=feed,
        learned=learned,
        epoch=epoch,
        n_keys=workload.n_keys,
        weighted=weighted,
    )
    router = make_router(scheme, run, queues, learned)
    for first, phase, batch in _pieces(cut_batches(workload, learned, epoch), learned, phases):
        if phase is not None:
            router.change_speeds(phase)
        times.add(router.serve(batch, Arrivals(first, gap)))
        if on_progress:
            on_progress(len(batch.keys))
    if times.rows == 0:
        raise StreamError(f"{workload.spec}: no rows to measure.")
    placement = SimulationResult.of(scheme, run.observer, sources=sources, learned=learned)
    return QueueResult.of(placement, times, queues, router.finish(), gap)


def _mean_cost(stream: Stream, skip: int) -> float:
    if not stream.has_costs:
        return 1.0
    count, total = 0, 0.0
    for first, _, batch in _pieces(cut_batches(stream, skip, None), skip, []):
        if first >= 0 and batch.costs is not None:
            count += len(batch.keys)
            total += float(np.sum(batch.costs))
    return total / count if count else 0.0


def _pieces(
    batches: Iterator[Batch], learned: int, phases: list[Phase]
) -> Iterator[tuple[int, Phase | None, Batch]]:
    """Yield (number of the first message, phase that begins there, rows), one phase each.

    Messages are counted from the first one that is measured; those before have negative numbers.
    """
    first, waiting = -learned, list(phases)
    for keys, costs in batches:
        start, size = 0, len(keys)
        while start < size:
            phase = waiting.pop(0) if waiting and waiting[0].first == first else None
            end = min(size, start + waiting[0].first - first) if waiting else size
            yield first, phase, Batch(keys[start:end], None if costs is None else costs[start:end])
            first, start = first + end - start, end
