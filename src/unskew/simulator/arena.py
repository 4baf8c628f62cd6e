"""The arena: every scheme on every stream, at several numbers of workers, and who is on the front.

A scheme is on the front of a stream if no other one is both at least as even and at least as small,
and better in one of the two: the choice between those on the front is one of taste, all others can
be left alone.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.groupings.base import Grouping, LearnedGrouping, OfflineGrouping
from unskew.groupings.registry import GROUPINGS, make_all
from unskew.hashing import Ids, identities
from unskew.simulator.loads import count_keys
from unskew.simulator.queueing import simulate_queue
from unskew.streams.base import Stream
from unskew.streams.registry import parse_stream

WORKERS = (10, 50, 100, 1_000)
SOURCES = 5
LEARNED, EPOCHS = 0.2, 10
"""The share of the rows that schemes may learn from, and how often those that plan do so then."""
LOAD = 0.9
"""What arrives at the queues, as a part of what the workers can do."""
_ROWS = 200_000
_ROWS_TO_TIME = 50_000
STREAMS = (
    *(f"zipf:keys=100k,exponent={z},rows={_ROWS}" for z in (0.8, 1.0, 1.2, 1.4, 1.6, 2.0)),
    *(f"drift:keys=100k,exponent={z},every=20k,rows={_ROWS}" for z in (1.0, 1.4)),
    f"LN1:rows={_ROWS}",
    f"LN2:rows={_ROWS}",
    f"uniform:rows={_ROWS}",
    f"countries:rows={_ROWS}",
    f"countries-half:rows={_ROWS}",
)
"""What is run where nobody names a stream."""


@dataclass(frozen=True)
class Bout:
    """What one scheme did on one stream with so many workers.

    Parameters
    ----------
    stream, workers, grouping
        What was run.
    imbalance_percent, average_imbalance_fraction, replication, memory
        As `SimulationResult` has them.
    p99
        The completion time that 99 % of the rows do not exceed, in times of a row's work, where
        `LOAD` of what the workers can do arrives.
    ns_per_row
        What routing took, in nanoseconds per row; by the clock, so never twice the same.
    competes
        Whether it may be on the front: a scheme with a drawback, such as that it knows all rows
        beforehand, is there to compare with. Seeing queues is none here.
    """

    stream: str
    workers: int
    grouping: str
    imbalance_percent: float
    average_imbalance_fraction: float
    replication: float
    memory: int
    p99: float
    ns_per_row: float
    competes: bool


def front(bouts: Sequence[Bout]) -> list[Bout]:
    """Return those of one stream and number of workers that no other beats, the evenest first.

    >>> def bout(name, imbalance, replication, competes=True):
    ...     return Bout("s", 4, name, imbalance, 0.0, replication, 9, 1.0, 1.0, competes)
    >>> bouts = [bout("a", 5.0, 1.0), bout("b", 0.0, 4.0), bout("c", 5.0, 2.0),
    ...          bout("oracle", 0.0, 1.0, competes=False)]
    >>> [each.grouping for each in front(bouts)]
    ['b', 'a']
    """
    rivals = [each for each in bouts if each.competes]
    kept = [one for one in rivals if not any(_beats(other, one) for other in rivals)]
    return sorted(kept, key=lambda each: (each.imbalance_percent, each.replication, each.grouping))


def _beats(one: Bout, other: Bout) -> bool:
    mine = (one.imbalance_percent, one.replication)
    theirs = (other.imbalance_percent, other.replication)
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def run_arena(
    streams: Sequence[str] = STREAMS,
    workers: Sequence[int] = WORKERS,
    *,
    groupings: Callable[[Stream, int], dict[str, Grouping]] | None = None,
    seed: int = 0,
    on_bout: Callable[[Bout], None] = lambda _: None,
) -> list[Bout]:
    """Run every scheme on every stream with every number of workers.

    Parameters
    ----------
    streams, workers
        What to run on.
    groupings
        What returns the schemes, by label; by default all of the registry, but for those that only
        choose among others or need rows with costs.
    seed
        Picks rows and hash functions.
    on_bout
        Called with each outcome.

    Examples
    --------
    >>> bouts = run_arena(["zipf:keys=1k,rows=20k"], [8])
    >>> {"key", "flow"} <= {each.grouping for each in front(bouts)}
    True
    """
    bouts = []
    for spec in streams:
        stream = parse_stream(spec, seed=seed)
        for size in workers:
            schemes = (groupings or _all)(stream, size)
            for bout in _bouts(stream, size, schemes):
                bouts.append(bout)
                on_bout(bout)
    return bouts


def _all(stream: Stream, workers: int) -> dict[str, Grouping]:
    schemes = {name: scheme for name, scheme in GROUPINGS.items() if not scheme.chooses}
    return make_all(schemes, workers, costs=False, seed=stream.seed)[0]


def _bouts(stream: Stream, workers: int, schemes: dict[str, Grouping]) -> Iterator[Bout]:
    ids = identities(next(stream.batches(_ROWS_TO_TIME)).keys)
    rows = stream.rows or ids.size
    for label, grouping in schemes.items():
        queue = simulate_queue(
            grouping,
            stream,
            sources=SOURCES,
            learn=LEARNED,
            epoch=max(1, int((1 - LEARNED) * rows) // EPOCHS),
            over_provisioning=1 / LOAD,
        )
        placed, unit = queue.placement, queue.gap * workers * LOAD
        yield Bout(
            stream=stream.spec,
            workers=workers,
            grouping=label,
            imbalance_percent=placed.imbalance_percent,
            average_imbalance_fraction=placed.average_imbalance_fraction,
            replication=placed.replication,
            memory=placed.memory,
            p99=queue.p99 / unit if unit else 0.0,
            ns_per_row=_routing_cost(grouping, stream, ids),
            competes=not grouping.drawback or grouping.report_every > 0,
        )


def _routing_cost(grouping: Grouping, stream: Stream, ids: Ids) -> float:
    """Return what routing takes per row, once its loops are compiled and its plan is made."""
    ready: Any = grouping.for_sources(1)[0]
    if isinstance(ready, LearnedGrouping):
        ready.learn(ids).build()
    elif isinstance(ready, OfflineGrouping):
        ready.fit(*count_keys(stream))
    ready.route_many(ids[:1000])
    started = time.perf_counter()
    ready.route_many(ids)
    return 1e9 * (time.perf_counter() - started) / ids.size


@dataclass(frozen=True)
class Standing:
    """How one scheme did over all streams and numbers of workers.

    Parameters
    ----------
    grouping
        The scheme.
    fronts, bouts
        How often it was on the front, and in how many bouts it took part.
    imbalance_percent, replication, p99, ns_per_row
        Medians over all bouts.
    """

    grouping: str
    fronts: int
    bouts: int
    imbalance_percent: float
    replication: float
    p99: float
    ns_per_row: float


def standings(bouts: Sequence[Bout]) -> list[Standing]:
    """Return a line per scheme: those that were on the front most often first."""
    won = [each for group in by_setting(bouts).values() for each in front(group)]
    found = []
    for name in dict.fromkeys(each.grouping for each in bouts):
        own = [each for each in bouts if each.grouping == name]
        found.append(
            Standing(
                grouping=name,
                fronts=sum(each.grouping == name for each in won),
                bouts=len(own),
                imbalance_percent=float(np.median([each.imbalance_percent for each in own])),
                replication=float(np.median([each.replication for each in own])),
                p99=float(np.median([each.p99 for each in own])),
                ns_per_row=float(np.median([each.ns_per_row for each in own])),
            )
        )
    return sorted(found, key=lambda each: (-each.fronts, each.imbalance_percent, each.grouping))


def by_setting(bouts: Sequence[Bout]) -> dict[tuple[str, int], list[Bout]]:
    """Return the bouts of each stream and number of workers."""
    found: dict[tuple[str, int], list[Bout]] = {}
    for each in bouts:
        found.setdefault((each.stream, each.workers), []).append(each)
    return found


def sentence(stream: str, bouts: Sequence[Bout]) -> str:
    """Say who is on the front of a stream, and with which numbers of workers.

    >>> bouts = [Bout("s", 4, "a", 1.0, 0.0, 1.0, 9, 1.0, 1.0, True),
    ...          Bout("s", 8, "a", 1.0, 0.0, 2.0, 9, 1.0, 1.0, True),
    ...          Bout("s", 8, "b", 2.0, 0.0, 1.0, 9, 1.0, 1.0, True)]
    >>> sentence("s", bouts)
    'On s the front is a with any number of workers, and besides b (W = 8).'
    """
    fronts = {
        workers: [each.grouping for each in front(group)]
        for (name, workers), group in by_setting(bouts).items()
        if name == stream
    }
    where: dict[str, list[int]] = {}
    for workers, names in fronts.items():
        for name in names:
            where.setdefault(name, []).append(workers)
    always = [name for name, found in where.items() if len(found) == len(fronts)]
    at_times = [
        f"{name} (W = {', '.join(f'{each:,}' for each in found)})"
        for name, found in where.items()
        if name not in always
    ]
    parts = [f"{_listed(always)} with any number of workers"] if always else []
    if at_times:
        parts.append(_listed(at_times))
    return f"On {stream} the front is {', and besides '.join(parts)}."


def _listed(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
