"""Consistent grouping: virtual workers of equal load, which move to the workers that have time."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from unskew._compiled import compiled
from unskew._validation import check_capacity, check_int, check_real
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.hashing import Ids, derive_seeds, mix, to_range
from unskew.sketches.bloom import Bloom, add_hash

_NEXT = np.uint64(0x9E3779B97F4A7C15)
_BUSY, _IDLE = 1.5, 0.5  # parts of the mean backlog, in time
_NOTABLE = 10.0  # rows; fewer that wait are chance
_KEYS_PER_WORKER = 100  # that the filter of keys which left their first virtual worker is made for


class Consistent(Grouping):
    """Fill many small virtual workers evenly, and give a slow machine fewer of them [1].

    Every worker stands for some virtual workers. A key is hashed to a virtual worker; where that
    already has more than (1 + ``epsilon``) times its part of all rows, the key is hashed again,
    and again, until one has room. So all virtual workers get the same, whatever the keys, and a
    worker gets in proportion to how many it has. In an uneven cluster a worker whose queue is
    long hands one on to a worker that is idle, again and again, until each has what it can do.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    virtual
        Virtual workers per worker (α), at least 1.
    epsilon
        By which part of the mean a virtual worker may be above it, in (0, 1].
    capacity
        How much each worker can do, one number above 0 per worker, where that is known: virtual
        workers are then dealt out in proportion. All workers are alike by default.
    seed
        Picks the hash function; equal seeds give equal answers in every process.

    Notes
    -----
    **The bound.** At every moment no source has sent a virtual worker more than (1 + ε) times the
    mean of all, and one row. So it is for whole workers, as long as no virtual worker moves.

    The rule for rows and the exchange of virtual workers in pairs are those of the authors'
    programs [2]. Not found there, and decided: 20 virtual workers per worker and ε = 0.01; a
    worker signals overload when more than 10 rows wait and will take 1.5 times the mean of all,
    and idleness below half of that mean, at reports that come every 1,000 rows. Without queues
    (`simulate`, Spark) nothing moves.

    Memory is fixed. `candidates` answers all workers for a key that has left its first virtual
    worker, and for every key once a virtual worker has moved.

    Examples
    --------
    One key has half of all rows, and a worker of twice the capacity gets twice the load:

    >>> keys = np.arange(40_000)
    >>> keys[::2] = -1
    >>> np.round(np.bincount(Consistent(4, capacity=[2, 1, 1, 1]).route_many(keys)) / 8_000, 1)
    array([2., 1., 1., 1.])

    References
    ----------
    [1] Nasir et al., "Load Balancing for Skewed Streams on Heterogeneous Clusters",
       arXiv 1705.09073, 2017.
    [2] ``ConsistentGroupingPoRC`` of the authors' simulator.
    """

    name: ClassVar[str] = "consistent"
    paper: ClassVar[str] = "Nasir et al. 2017 (CG)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"
    report_every: int = 1000

    def __init__(
        self,
        workers: int,
        *,
        virtual: int = 20,
        epsilon: float = 0.01,
        capacity: Sequence[float] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        self.virtual = check_int("Consistent", "virtual", virtual, minimum=1)
        self.epsilon = check_real("Consistent", "epsilon", epsilon, above=0, maximum=1)
        self.capacity = None
        shares = np.ones(self.workers)
        if capacity is not None:
            self.capacity = check_capacity("Consistent", capacity, self.workers)
            shares = np.array(self.capacity)
        ends = np.cumsum(shares) / shares.sum()
        places = (np.arange(self.workers * self.virtual) + 0.5) / (self.workers * self.virtual)
        self._owners = np.searchsorted(ends, places).astype(np.int32)
        self._loads = np.zeros(self._owners.size)
        self._total = np.zeros(1)
        self._hash_seed = derive_seeds(seed, 1, purpose="consistent")[0]
        self._left_home = Bloom(_KEYS_PER_WORKER * self.workers, seed=seed)
        self._has_moved = False

    def note_queues(self, waiting: Weights, row_times: Weights) -> None:
        """Let each overloaded worker hand a virtual worker on to an idle one, in pairs."""
        times = waiting * row_times
        order = np.argsort(times, kind="stable")
        idle = order[times[order] < _IDLE * times.mean()]
        late = (times > _BUSY * times.mean()) & (waiting > _NOTABLE)
        busy = order[::-1][late[order[::-1]]]
        for giver, taker in zip(busy.tolist(), idle.tolist(), strict=False):
            own = np.flatnonzero(self._owners == giver)
            if own.size > 1:  # the last one stays: a worker without any would never be heard of
                self._owners[own[-1]] = taker
                self._has_moved = True

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        state = (self._loads, self._total, self._owners)
        filter_ = (self._left_home.words, self._left_home.probes, self._left_home.hash_seed)
        _fill_evenly(ids, weights, self._hash_seed, 1.0 + self.epsilon, state, filter_, out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        if self._has_moved or bool(self._left_home.contains_many(np.array([key_id]))[0]):
            return tuple(range(self.workers))
        return (int(self._owners[_first(key_id, self._hash_seed, self._owners.size)]),)


@compiled
def _first(key_id: np.uint64, seed: np.uint64, size: int) -> int:
    return int(to_range(mix(key_id, seed), np.uint64(size)))


@compiled
def _fill_evenly(
    ids: Ids,
    weights: Weights,
    seed: np.uint64,
    excess: float,
    state: Any,
    filter_: Any,
    out: Workers,
) -> None:
    """Send every row to the first virtual worker in its key's order that has room."""
    loads, total, owners = state
    words, probes, filter_seed = filter_
    size = np.uint64(loads.size)
    for i in range(ids.size):
        weight = weights[i] if weights.size else 1.0
        total[0] += weight
        room = excess * total[0] / loads.size
        bits = mix(ids[i], seed)
        at = to_range(bits, size)
        if loads[at] >= room and weight > 0.0:
            add_hash(words, probes, mix(ids[i], filter_seed))
            while loads[at] >= room:
                bits = mix(bits, _NEXT)
                at = to_range(bits, size)
        loads[at] += weight
        out[i] = owners[at]
