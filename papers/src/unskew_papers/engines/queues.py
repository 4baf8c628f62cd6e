"""Queues in place of an engine: where a job would put its rows, and how long workers take.

Engines bound the rows that are under way (`serve`), or those that wait at one worker
(`serve_with_back_pressure`); a source waits until there is room. So an overloaded worker slows
everything down instead of queueing without end.
"""

from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings.base import Grouping, LearnedGrouping, Workers
from unskew.groupings.dynamic_key import DynamicKey
from unskew.groupings.key import KeyGrouping
from unskew.groupings.plan import HASHED_MEMBER, slots_of
from unskew.groupings.registry import make_grouping
from unskew.hashing import Ids, identities
from unskew.simulator.loads import SimulationRun, cut_batches
from unskew.simulator.sources import Sources
from unskew.streams.base import Batch, Stream
from unskew_papers.engines.simulation import epoch_of
from unskew_papers.engines.spark_jobs import SOURCES, local_spark


def placed_in_queues(keys: Ids, workers: int, scheme: str, *, seed: int) -> Workers:
    """Return the worker of every row; a scheme that learns has seen all of them before.

    Parameters
    ----------
    keys
        The key of every row.
    workers, scheme, seed
        As for `spark_jobs.count_keys_on_spark`. Keys have the identities that Spark gives them, so
        that the same ones fall on the same workers; all else is the simulator's.
    """
    from unskew.spark.routing.schemes import grouping_for

    return _routed(identities_on_spark(keys), grouping_for(scheme, workers, seed=seed))


def _routed(ids: Ids, grouping: Grouping) -> Workers:
    if isinstance(grouping, KeyGrouping):  # Spark hashes by an expression of its own
        return slots_of(ids, HASHED_MEMBER, grouping.workers).astype(np.int32)
    if isinstance(grouping, LearnedGrouping):
        grouping.learn(ids).build()
    return Sources(grouping, SOURCES).route(Batch(ids, None))


def identities_on_spark(keys: Ids) -> Ids:
    """Return the hash by which Spark knows the key of every row."""
    from unskew.spark.columns import identity

    names, places = np.unique(keys.astype(np.int64), return_inverse=True)
    frame = local_spark().createDataFrame(pa.table({"key": names}))
    found = frame.select("key", identity(frame, ["key"]).alias("id")).toArrow().sort_by("key")
    hashes: Ids = found["id"].to_numpy().astype(np.int64).view(np.uint64)
    return hashes[places]


class Served(NamedTuple):
    """What came of a run.

    ``counters`` is what a worker held when it handed its partial results over, on average.
    """

    throughput: float
    latency: float
    counters: float


def serve(
    placed: Workers,
    places: NDArray[np.int64],
    workers: int,
    *,
    milliseconds: float,
    in_flight: int,
    transit_milliseconds: float,
    period: float = np.inf,
    counter_milliseconds: float = 0.0,
) -> Served:
    """Return throughput (rows per millisecond) and mean latency (ms), rows served in their order.

    Parameters
    ----------
    placed
        Worker of every row.
    places
        Key of every row, as a number from 0 on.
    workers
        Number of workers.
    milliseconds
        Work of a row.
    in_flight
        Rows that may be under way at the same time.
    transit_milliseconds
        Time that every row is under way besides, whatever the workers do.
    period
        Milliseconds after which every worker hands its counters over and starts again.
    counter_milliseconds
        Work of handing over one counter.

    Examples
    --------
    Two workers that each take 1 ms finish two rows per millisecond, one of them one:

    >>> keys = np.zeros(1000, np.int64)
    >>> both, one = np.arange(1000) % 2, np.zeros(1000)
    >>> [round(serve(each.astype(np.int32), keys, 2, milliseconds=1, in_flight=10,
    ...              transit_milliseconds=2).throughput, 1) for each in (both, one)]
    [2.0, 1.0]
    """
    return Served(
        *_serve(
            placed,
            places,
            workers,
            float(milliseconds),
            in_flight,
            float(transit_milliseconds),
            float(period),
            float(counter_milliseconds),
        )
    )


@compiled
def _serve(
    placed: Workers,
    places: NDArray[np.int64],
    workers: int,
    work: float,
    in_flight: int,
    transit: float,
    period: float,
    handing_over: float,
) -> tuple[float, float, float]:
    free = np.zeros(workers)
    done = np.zeros(in_flight)
    held = np.full((places.max() + 1, workers), -1, np.int64)
    counters = np.zeros(workers, np.int64)
    now, waited, last, handed, rounds = 0.0, 0.0, 0.0, 0, 0
    for i in range(placed.size):
        slot = np.argmin(done)
        now = max(now, done[slot])
        if now >= (rounds + 1) * period:
            for worker in range(workers):
                free[worker] = max(free[worker], now) + handing_over * counters[worker]
                handed += counters[worker]
                counters[worker] = 0
            rounds += 1
        worker = placed[i]
        free[worker] = max(free[worker], now + transit) + work
        done[slot] = free[worker]
        waited += free[worker] - now
        last = max(last, free[worker])
        if held[places[i], worker] != rounds:
            held[places[i], worker] = rounds
            counters[worker] += 1
    if rounds == 0:
        handed, rounds = counters.sum(), 1
    return placed.size / last, waited / placed.size, handed / (rounds * workers)


class Blocked(NamedTuple):
    """What came of a run in which full queues hold up the sources."""

    seconds: float
    """When the last row was done."""
    loads: NDArray[np.float64]
    """Rows of each worker, or what they carry."""
    replication: float
    """Workers that a key has, on average."""


_LOOKS = 2_000
"""How often a run has a look at the clock: about every second."""


def serve_with_back_pressure(
    scheme: str,
    workers: int,
    stream: Stream,
    *,
    seed: int,
    sources: int,
    room: int,
    row_seconds: float,
) -> Blocked:
    """Serve rows in their order; one whose worker has no room waits, and all after it.

    So a scheme that goes by event time (`DynamicKey`) sees fewer rows per second while one worker
    has too many.

    Parameters
    ----------
    scheme, workers, seed
        The scheme as the command line has it; one that learns plans as in `simulation.queue_of`.
    stream
        The rows. If they have costs these are counts that rows carry: loads are in them, while a
        row takes its worker as long as any other, and schemes do not know of them.
    sources
        Number of sources, each with an object of the scheme.
    room
        Rows that a worker may have waiting or in work.
    row_seconds
        Work of a row.

    Examples
    --------
    Three rows for one worker, then three for another, which cannot pass where there is no room:

    >>> from unskew.streams import from_keys
    >>> stream = from_keys(np.array([0, 0, 0, 1, 1, 1]))
    >>> [serve_with_back_pressure("modulo", 2, stream, seed=0, sources=1, room=room,
    ...                           row_seconds=1.0).seconds for room in (1, 2, 3)]
    [5.0, 4.0, 3.0]
    """
    grouping = make_grouping(scheme, workers, seed=seed)
    epoch = epoch_of(grouping, stream)
    run = SimulationRun(
        grouping, sources=sources, feed="round-robin", learned=0, epoch=epoch,
        n_keys=stream.n_keys, weighted=False,
    )  # fmt: skip
    ends, served = np.zeros((workers, room)), np.zeros(workers, np.int64)
    loads, now = np.zeros(workers), 0.0
    by_time = isinstance(grouping, DynamicKey)
    between_looks = max(1, (stream.rows or 0) // _LOOKS)
    for batch in cut_batches(stream, 0, between_looks if by_time else epoch):
        placed = _placed_at(now, batch, run) if by_time else cast(Workers, run.take(batch))
        now = _serve_in_order(placed, ends, served, now, float(row_seconds))
        loads += np.bincount(placed, batch.costs, workers)
    replication = run.observer.memory / run.observer.distinct_keys
    return Blocked(float(ends.max()), loads, replication)


def _placed_at(now: float, batch: Batch, run: SimulationRun) -> Workers:
    """Let every source route its rows, all of which happen now."""
    ids, sources = identities(batch.keys), run.groupings
    placed = np.empty(ids.size, np.int32)
    for source, own in enumerate(cast(list[DynamicKey], sources)):
        rows = slice((source - run.observer.rows) % len(sources), None, len(sources))
        placed[rows] = own.route_many(ids[rows], times=np.full(ids[rows].size, now))
    run.observe(batch, placed)
    return placed


@compiled
def _serve_in_order(
    placed: Workers,
    ends: NDArray[np.float64],
    served: NDArray[np.int64],
    now: float,
    work: float,
) -> float:
    """Serve rows and return when the last of them was sent.

    ``ends`` holds when each worker is done with its last rows, as many as it has room for;
    ``served`` counts the rows that it was given.
    """
    room = ends.shape[1]
    for worker in placed:
        oldest, newest = served[worker] % room, (served[worker] - 1) % room
        now = max(now, ends[worker, oldest])
        ends[worker, oldest] = max(now, ends[worker, newest]) + work
        served[worker] += 1
    return now
