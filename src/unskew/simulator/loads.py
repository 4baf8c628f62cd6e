"""Put a stream through a grouping and see how even the load is, at what memory."""

import copy
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError, StreamError
from unskew.groupings.base import (
    NO_WEIGHTS,
    Grouping,
    LearnedGrouping,
    OfflineGrouping,
    Weights,
    Workers,
)
from unskew.hashing import Ids, Keys, identities
from unskew.simulator.observer import KeyIndex, Observer
from unskew.simulator.results import SimulationResult
from unskew.simulator.sources import Sources
from unskew.streams.base import DEFAULT_BATCH, Batch, Stream
from unskew.streams.in_memory import from_keys

Progress = Callable[[int], None]

DEFAULT_LEARN = 0.2
"""The share of a stream on which a scheme learns if nothing else was said."""


def simulate(
    grouping: Grouping,
    stream: Stream | Keys,
    *,
    sources: int = 1,
    learn: float | None = None,
    epoch: int | None = None,
    feed: str = "round-robin",
    weighted: bool = False,
    on_progress: Progress | None = None,
) -> SimulationResult:
    """Route every row of ``stream`` and measure what the workers receive.

    Parameters
    ----------
    grouping
        The scheme. It stays as it is: the run works on copies.
    stream
        A workload, or simply keys.
    sources
        Number of sources; each has its own state unless the scheme shares it.
    learn
        Share of the stream, from its start, that is not measured: a scheme that learns builds its
        plan from it, the others route it to warm up. By default 0.2 for a scheme that learns and
        has no plan yet, unless ``epoch`` is given, and else 0.
    epoch
        A scheme that learns makes a new plan after every so many measured rows.
    feed
        Which source sends a row: one after the other (``round-robin``), or always the same one
        for a ``key``.
    weighted
        Whether the costs of the rows are the load, instead of their number.
    on_progress
        Called with the number of rows of each batch that is done.

    Examples
    --------
    >>> from unskew.groupings.key import KeyGrouping
    >>> from unskew.groupings.partial_key import PartialKey
    >>> from unskew.streams import zipf
    >>> stream = zipf(keys=1000, exponent=1.0, rows=20_000, seed=1)
    >>> plain, split = (simulate(scheme, stream) for scheme in (KeyGrouping(8), PartialKey(8)))
    >>> split.imbalance_percent < 0.1 * plain.imbalance_percent
    True
    """
    workload = stream if isinstance(stream, Stream) else from_keys(stream)
    if weighted and not workload.has_costs:
        raise InvalidParameterError(
            "simulate", "weighted", "False for a stream without costs", weighted
        )
    epoch = None if epoch is None else check_int("simulate", "epoch", epoch, minimum=1)
    learned = rows_to_learn(grouping, workload, learn, epoch)
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
    for batch in cut_batches(workload, learned, epoch):
        run.take(batch)
        if on_progress:
            on_progress(len(batch.keys))
    if run.observer.rows == 0:
        raise StreamError(f"{workload.spec}: no rows to measure.")
    return SimulationResult.of(scheme, run.observer, sources=sources, learned=learned)


class SimulationRun:
    """One run: learn from the first rows, then route, measure and plan again at each epoch.

    Parameters
    ----------
    scheme
        The scheme, knowing what it may know beforehand; the run changes it.
    sources, feed
        See `simulate`.
    learned
        Rows, from the start, that are learned from and not measured.
    epoch
        Measured rows after which a scheme that learns makes a new plan.
    n_keys
        Number of keys if they are known to be 0 … n_keys − 1.
    weighted
        Whether the costs of the rows are the load, instead of their number.
    """

    def __init__(
        self,
        scheme: Grouping,
        *,
        sources: int,
        feed: str,
        learned: int,
        epoch: int | None,
        n_keys: int | None,
        weighted: bool,
    ) -> None:
        self.observer = Observer(scheme.workers, n_keys=n_keys)
        self._planner = scheme if isinstance(scheme, LearnedGrouping) else None
        self._sources = Sources(scheme, sources, feed=feed)
        self._still_to_learn = learned
        self._epoch = epoch
        self._weighted = weighted
        self._knows_costs = weighted or scheme.needs_costs

    @property
    def groupings(self) -> list[Grouping]:
        """The objects that the sources route with."""
        return self._sources.groupings

    def take(self, batch: Batch) -> Workers | None:
        """Take a batch that lies on one side of the learning share and in one epoch.

        Returns the worker of every row, or None where the rows were only learned from.
        """
        weights = batch.costs if self._knows_costs else None
        if self._still_to_learn > 0:
            self._warm_up(batch, weights)
            return None
        workers = self._sources.route(batch, weights)
        self.observe(batch, workers)
        if self._planner and self._epoch:
            self._planner.learn(batch.keys, weights=weights)
            if self.observer.rows % self._epoch == 0:
                self._plan()
        return workers

    def observe(self, batch: Batch, workers: Workers) -> None:
        """Measure rows that went to ``workers``."""
        costs = batch.costs if self._weighted else None
        weights = NO_WEIGHTS if costs is None else costs
        self.observer.observe(identities(batch.keys), workers, weights)

    def _warm_up(self, batch: Batch, weights: Weights | None) -> None:
        if self._planner is None:
            self._sources.route(batch, weights)
        else:
            self._planner.learn(batch.keys, weights=weights)
        self._still_to_learn -= len(batch.keys)
        if self._planner and self._still_to_learn == 0:
            self._plan()

    def _plan(self) -> None:
        if self._planner is not None:
            self._planner.note_loads(self.observer.loads)
            self._planner.build()
            for source in self._sources.groupings:
                if isinstance(source, LearnedGrouping):
                    source.adopt(self._planner)


def rows_to_learn(
    grouping: Grouping, stream: Stream, learn: float | None, epoch: int | None
) -> int:
    """Return how many rows, from the start of ``stream``, are learned from and not measured."""
    share = learning_share(grouping, learn, epoch)
    return int(share * count_rows(stream)) if share else 0


def prepared(grouping: Grouping, stream: Stream, learned: int, *, weighted: bool) -> Grouping:
    """Return a copy of the scheme that knows what it may know before the first row."""
    scheme = copy.deepcopy(grouping)
    if isinstance(scheme, OfflineGrouping):
        skip = learned if scheme.knows_measured_part_only else 0
        scheme.fit(*count_keys(stream, skip=skip, weighted=weighted))
    return scheme


def learning_share(grouping: Grouping, learn: float | None, epoch: int | None) -> float:
    """Return the share of a stream on which ``grouping`` learns if the user said ``learn``."""
    if learn is None:
        needs_plan = isinstance(grouping, LearnedGrouping) and not grouping.is_built
        return DEFAULT_LEARN if needs_plan and epoch is None else 0.0
    return check_real("simulate", "learn", learn, minimum=0, below=1)


def count_rows(stream: Stream) -> int:
    """Return the number of rows of a stream, reading it through where it does not know."""
    if stream.rows is not None:
        return stream.rows
    return sum(len(batch.keys) for batch in stream.batches())


def count_keys(
    stream: Stream, *, skip: int = 0, weighted: bool = False
) -> tuple[Ids, NDArray[np.float64]]:
    """Return the distinct identities of a stream, without the first ``skip`` rows, and their loads.

    >>> ids, loads = count_keys(from_keys([7, 7, 8]))
    >>> ids.tolist(), loads.tolist()
    ([7, 8], [2.0, 1.0])
    """
    index = KeyIndex()
    loads = np.zeros(1024)
    seen = 0
    for batch in cut_batches(stream, skip, None):
        seen += len(batch.keys)
        if seen <= skip:
            continue
        places = index.places_of(identities(batch.keys))
        if index.size > loads.size:
            loads = np.pad(loads, (0, max(index.size, 2 * loads.size) - loads.size))
        np.add.at(loads, places, batch.costs if weighted and batch.costs is not None else 1.0)
    return index.ids(), loads[: index.size]


def cut_batches(stream: Stream, first: int, every: int | None) -> Iterator[Batch]:
    """Read a stream in batches that end after ``first`` rows and then after each ``every``."""
    size = DEFAULT_BATCH
    if stream.rows is not None:  # enough points for I(t), also in a short stream
        size = int(np.clip(stream.rows // 256, 1024, size))
    position = 0
    for batch in stream.batches(size):
        start = 0
        while start < len(batch.keys):
            upto = len(batch.keys) - start
            if position < first:
                upto = min(upto, first - position)
            elif every is not None:
                upto = min(upto, every - (position - first) % every)
            costs = None if batch.costs is None else batch.costs[start : start + upto]
            yield Batch(batch.keys[start : start + upto], costs)
            start += upto
            position += upto
