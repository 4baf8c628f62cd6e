"""The sources of a simulation: who sends a row, and what each has sent before."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_choice, check_int
from unskew.groupings.base import Grouping, Weights, Workers
from unskew.hashing import Ids, derive_seeds, identities, mix, to_range
from unskew.streams.base import Batch

FEEDS = ("round-robin", "key")


class Sources:
    """Feed rows to the sources and let each route its own.

    Parameters
    ----------
    grouping
        The scheme; it stays as it is, the sources use objects of their own.
    n_sources
        Number of sources, at least 1.
    feed
        Which source sends a row: one after the other (``round-robin``), or always the same one
        for a ``key`` (then sources see skewed streams).

    Examples
    --------
    >>> from unskew.groupings.shuffle import Shuffle
    >>> sources = Sources(Shuffle(4), 2)
    >>> sources.route(Batch(np.zeros(6, np.uint64), None)).tolist()
    [0, 2, 1, 3, 2, 0]
    """

    def __init__(
        self, grouping: Grouping, n_sources: int = 1, *, feed: str = "round-robin"
    ) -> None:
        self.n_sources = check_int("Sources", "sources", n_sources, minimum=1)
        self.feed = check_choice("Sources", "feed", feed, FEEDS)
        self.groupings = grouping.for_sources(self.n_sources)
        self._shared = all(own is self.groupings[0] for own in self.groupings)
        self._position = 0
        self._seed = derive_seeds(0, 1, purpose="sources")[0]

    def route(self, batch: Batch, weights: Weights | None = None) -> Workers:
        """Return the worker of every row of ``batch``."""
        keys = batch.keys if self.groupings[0].reads_keys else identities(batch.keys)
        if self._shared:
            return self.groupings[0].route_many(keys, weights=weights)
        workers = np.empty(len(keys), np.int32)
        for rows, grouping in zip(self._rows(batch, len(keys)), self.groupings, strict=True):
            own_weights = None if weights is None else weights[rows]
            workers[rows] = grouping.route_many(_take(keys, rows), weights=own_weights)
        self._position += len(keys)
        return workers

    def _rows(self, batch: Batch, size: int) -> Sequence[slice | NDArray[np.int64]]:
        if self.feed == "round-robin":
            first = [(source - self._position) % self.n_sources for source in self._numbers]
            return [slice(start, size, self.n_sources) for start in first]
        owners = _source_of(identities(batch.keys), self._seed, self.n_sources)
        return [np.flatnonzero(owners == source) for source in self._numbers]

    @property
    def _numbers(self) -> range:
        return range(self.n_sources)


def _take(keys: NDArray[Any] | pa.Array, rows: slice | NDArray[np.int64]) -> Any:
    if isinstance(keys, np.ndarray):
        return keys[rows]
    return keys.take(pa.array(np.arange(len(keys))[rows]))


@compiled
def _source_of(ids: Ids, seed: np.uint64, n_sources: int) -> NDArray[np.int64]:
    sources = np.empty(ids.size, np.int64)
    for i in range(ids.size):
        sources[i] = to_range(mix(ids[i], seed), np.uint64(n_sources))
    return sources
