"""Apache Storm's LoadAwareShuffleGrouping: a shuffled ring in which busy workers lose places."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import Grouping, Weights, Workers
from unskew.hashing import Ids, derive_seeds

_PLACES = 1000  # of the ring, in Storm
_FULL_QUEUE = 1024.0  # rows that wait for a worker whose load is 1
_MOST, _MORE, _LESS = 100, 1, 10
_CLOSE = 0.05


class LoadAware(Grouping):
    """Shuffle rows over the workers, and send less to those whose queues are fuller [1].

    A source goes round a shuffled ring of 1,000 places in which every worker has a number of
    them. Each time it hears of the queues, a worker whose queue is within 5 % of the emptiest
    gains a little weight (1 of 100 at most), any other loses ten times as much; the ring is then
    made again. Keys do not matter: every worker may come to hold every key.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Picks how the ring is shuffled.

    Notes
    -----
    As in Storm a worker's load is how full its queue is, here of 1,024 rows, and news comes every
    1,000 rows, once round the ring (Storm: every few seconds). Without queues (`simulate`) all
    workers keep equal parts. Left out: that Storm prefers workers in the same process, host or
    rack, as none of these is known here. Where there are more workers than places, the ring has
    one for each; Storm's would leave some out.

    Examples
    --------
    >>> grouping = LoadAware(4)
    >>> np.bincount(grouping.route_many(["a"] * 1000)).tolist()
    [250, 250, 250, 250]

    A queue that is a quarter full costs the first worker a tenth of its weight at each report:

    >>> grouping.note_queues(np.array([256.0, 0, 0, 0]), np.ones(4))
    >>> bool(np.bincount(grouping.route_many(["a"] * 1000))[0] < 240)
    True

    References
    ----------
    [1] Apache Storm, ``org.apache.storm.grouping.LoadAwareShuffleGrouping``.
    """

    name: ClassVar[str] = "load-aware"
    paper: ClassVar[str] = "Apache Storm (LoadAwareShuffleGrouping)"
    splits_keys: bool = True
    groups_keys: ClassVar[bool] = False
    drawback: ClassVar[str] = "needs to see queues, which Spark does not have"
    report_every: int = _PLACES

    def __init__(self, workers: int, *, seed: int = 0) -> None:
        super().__init__(workers, seed=seed)
        self._weights = np.full(self.workers, _MOST)
        self._restart(0)

    def for_source(self, source: int, n_sources: int) -> Self:
        """Return an object for one source, whose ring is shuffled in its own way."""
        own = super().for_source(source, n_sources)
        own._restart(source)
        return own

    def _restart(self, source: int) -> None:
        self._chance = np.random.default_rng(int(derive_seeds(self.seed, source + 1)[source]))
        self._make_ring()

    def note_queues(self, waiting: Weights, row_times: Weights) -> None:
        """Take weight from workers whose queues are full, and give some to the others."""
        load = np.minimum(waiting / _FULL_QUEUE, 1.0)
        close = load <= load.min() + _CLOSE
        changed = np.where(close, self._weights + _MORE, self._weights - _LESS)
        self._weights = np.clip(changed, 0, _MOST)
        self._make_ring()

    def _make_ring(self) -> None:
        places = max(_PLACES, self.workers)
        counts = self._weights * places // self._weights.sum()
        ring = np.repeat(np.arange(self.workers, dtype=np.int32), counts)
        rest = self._chance.choice(ring, places - ring.size)
        self._ring: NDArray[np.int32] = self._chance.permutation(np.concatenate([ring, rest]))
        self._next = 0

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        places = (self._next + np.arange(out.size)) % self._ring.size
        out[:] = self._ring[places]
        self._next = (self._next + out.size) % self._ring.size

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return tuple(range(self.workers))
