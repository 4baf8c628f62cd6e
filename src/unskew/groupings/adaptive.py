"""Flink's adaptive partitioner: round-robin that steps over workers with a backlog."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int
from unskew.groupings.base import Grouping, Weights, Workers
from unskew.hashing import Ids


class Adaptive(Grouping):
    """Send each row to the idlest of the next few workers, as Flink 2.3 can [1].

    Round-robin gives a slow worker as many rows as any other, and in the end everything waits for
    it. Here a source looks at the next ``traverse`` workers after the last one it used, takes the
    first for which nothing waits, else the one with the shortest queue. Keys do not matter: every
    worker may come to hold every key.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    traverse
        How many workers a row looks at, at least 1; 4 in Flink. With 1 it is round-robin.
    rescale
        Whether each source sends to its own part of the workers alone, as Flink's ``rescale()``
        does; else to all, as its ``rebalance()``.
    seed
        The worker before the first one that is looked at, modulo workers.

    Notes
    -----
    Flink looks at the buffers in its own output queue of each channel, at every row. Here the
    simulator's queues say every 64 rows how many rows wait, and a source adds what it has sent
    since. Without queues (`simulate`, Spark) nothing ever waits, and it is round-robin.

    Examples
    --------
    The second worker has a queue, and gets nothing while it has:

    >>> grouping = Adaptive(3)
    >>> grouping.note_queues(np.array([0.0, 50.0, 0.0]), np.ones(3))
    >>> grouping.route_many(["a"] * 6).tolist()
    [2, 0, 2, 0, 2, 0]

    References
    ----------
    [1] Apache Flink, FLIP-339 "Support Adaptive Partition Selection for StreamPartitioner", and
       ``AdaptiveLoadBasedRecordWriter`` of Flink 2.3.
    """

    name: ClassVar[str] = "adaptive"
    paper: ClassVar[str] = "Apache Flink 2.3 (FLIP-339)"
    splits_keys: bool = True
    groups_keys: ClassVar[bool] = False
    drawback: ClassVar[str] = "needs to see queues, which Spark does not have"
    report_every: int = 64

    def __init__(
        self, workers: int, *, traverse: int = 4, rescale: bool = False, seed: int = 0
    ) -> None:
        super().__init__(workers, seed=seed)
        self.traverse = check_int("Adaptive", "traverse", traverse, minimum=1)
        self.rescale = bool(rescale)
        self._channels = np.arange(self.workers, dtype=np.int32)
        self._current = self.seed % self.workers
        self._waiting = np.zeros(self.workers)
        self._has_queues = False

    def for_source(self, source: int, n_sources: int) -> Self:
        """Return an object for one source, which has a part of the workers if it rescales."""
        own = super().for_source(source, n_sources)
        if self.rescale:
            first = source * self.workers // n_sources
            end = max(first + 1, (source + 1) * self.workers // n_sources)
            own._channels = np.arange(first, end, dtype=np.int32)
        own._current = (self._current + source * own._channels.size // n_sources) % (
            own._channels.size
        )
        return own

    def note_queues(self, waiting: Weights, row_times: Weights) -> None:
        """Take in how many rows wait at each worker."""
        self._waiting = np.array(waiting, dtype=np.float64)
        self._has_queues = True

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        self._current = _idlest_of_next(
            self._current, self._channels, self._waiting, self.traverse, self._has_queues, out
        )

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return tuple(self._channels.tolist())


@compiled
def _idlest_of_next(
    current: int,
    channels: Workers,
    waiting: NDArray[np.float64],
    traverse: int,
    has_queues: bool,
    out: Workers,
) -> int:
    """Choose for every row; return the place of the last channel that was used."""
    size = channels.size
    for i in range(out.size):
        best = (current + 1) % size
        for step in range(1, min(traverse, size) + 1):
            place = (current + step) % size
            if waiting[channels[place]] < 1.0:
                best = place
                break
            if waiting[channels[place]] < waiting[channels[best]]:
                best = place
        current = best
        out[i] = channels[best]
        if has_queues:
            waiting[channels[best]] += 1.0
    return current
