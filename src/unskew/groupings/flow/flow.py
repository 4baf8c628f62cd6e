"""Flow: a key stays where it is until its worker is full; the hottest make way first."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_capacity, check_int, check_real
from unskew.groupings.base import NO_WEIGHTS, Grouping, SparkMode, Weights, Workers
from unskew.groupings.flow.known_keys import KnownKeys
from unskew.groupings.flow.routing import (
    HOT_EXCESS,
    Memory,
    go_on_at,
    new_memory,
    route_rows,
    start_with,
    table_size,
    workers_of,
)
from unskew.hashing import Ids, derive_seeds
from unskew.sketches.bloom import Bloom

_REPORT_EVERY = 1000
_NOT_ASKED = np.empty(0, np.bool_)


class Flow(Grouping):
    """Leave every key where it is while there is room; let the hottest keys fill the gaps.

    Nothing is learned beforehand and nothing is planned: a source knows what it has sent itself,
    and that is all. A key starts on the worker that its hash gives it. A row goes to the key's
    present worker while that is not above the mean of all workers, else to the next of the key's
    workers that is not. A key gets a further worker only when all that it has are *full*, and
    what is full depends on the key: for the hottest ones a worker is full a few rows above the
    mean, for a key that is hardly ever seen far above it. So the few hot keys, which cost few
    copies, even out the loads, and all others stay whole.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    excess
        By which part of the mean a worker may be above it, in [0, 1].
    slack
        By how many rows of mean weight it may be above the mean besides, at least 1.
    hot
        Which part of a worker's fair share makes a key less patient than any other, in (0, 1]. A
        key with ten times as much puts up with a tenth of the excess, and so on.
    max_replicas
        Most workers that one key may live on; 1 is plain hashing. No limit by default.
    capacity
        How much each worker can do, one number above 0 per worker: loads are kept in proportion.
        All workers are alike by default.
    follow_speeds
        Whether to go by what rows take at each worker and by the queues, where these can be seen:
        in `simulate_queue`, every 1,000 rows. For rows that cost about the same.
    seed
        Picks the hash functions; equal seeds give equal answers in every process.

    Notes
    -----
    **The bound.** Whatever the stream, at every moment no source has sent a worker more than
    (1 + ``excess``) · mean + 2 · √mean + ``slack`` rows, where the mean is that of the rows that
    the source has sent so far (at least one row may always be sent). A worker that is new to a key
    is one below the mean, or the least loaded of all, which is never above the mean. With
    ``max_replicas`` there is no bound: a key that may not move on can fill its workers alone.

    The workers that a key gets come in an order of the key's own, the same in all sources, so that
    sources that never talk choose alike.

    Memory is fixed: a table of 256 keys per worker (4,096 to 262,144) and the workers of those that
    have left their home. When the table is full, the coldest key of a bucket is forgotten: it
    starts at home again, which may cost a copy and never breaks the bound. Counts are halved after
    500 rows per worker (at least 5,000); a key that has cooled by then gives back what it no longer
    needs of its workers.

    With ``follow_speeds`` the bound holds from each report on, over capacities as they were
    measured, with what waits counted as sent.

    With weights, rows of mean weight take the place of rows; a row that is heavier than what is
    left of the room may exceed the bound by itself, by its own weight at most.

    Examples
    --------
    One key has half of all rows. The loads are even, and all other keys stay whole:

    >>> keys = np.arange(100_000) % 2_000
    >>> keys[::2] = -1
    >>> grouping = Flow(8)
    >>> workers = grouping.route_many(keys)
    >>> loads = np.bincount(workers)
    >>> bool(loads.max() < 1.001 * loads.mean())
    True
    >>> copies = len(set(zip(keys.tolist(), workers.tolist()))) - len(set(keys.tolist()))
    >>> copies <= 8
    True
    """

    name: ClassVar[str] = "flow"
    paper: ClassVar[str] = "unskew"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"
    spark_requires: ClassVar[Mapping[str, Any]] = {"follow_speeds": False}
    remembers_on_streams: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        *,
        excess: float = 0.01,
        slack: float = 2.0,
        hot: float = 0.002,
        max_replicas: int | None = None,
        capacity: Sequence[float] | None = None,
        follow_speeds: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        self.excess = check_real("Flow", "excess", excess, minimum=0, maximum=1)
        self.slack = check_real("Flow", "slack", slack, minimum=1)
        self.hot = check_real("Flow", "hot", hot, above=0, maximum=1)
        if max_replicas is not None:
            max_replicas = check_int("Flow", "max_replicas", max_replicas, minimum=1)
        self.max_replicas = max_replicas
        self.capacity = None if capacity is None else check_capacity("Flow", capacity, self.workers)
        self.follow_speeds = bool(follow_speeds)
        self.report_every = _REPORT_EVERY if follow_speeds else 0
        self.splits_keys = max_replicas != 1
        self._moved = Bloom(2 * table_size(self.workers), seed=seed)
        self._memory: Memory | None = None  # from the first row on: it is large

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        if self._memory is None:
            self._memory = self._new_memory()
        route_rows(self._memory, ids, weights, out, _NOT_ASKED)

    def note_queues(self, waiting: Weights, row_times: Weights) -> None:
        """Go on at the speeds that rows have shown, if that was asked for."""
        if self.follow_speeds and self._memory is not None and row_times.min() > 0:
            go_on_at(self._memory, row_times, waiting)

    def route_noting(self, ids: Ids) -> tuple[Workers, NDArray[np.bool_]]:
        """Return the worker of every row, and whether its key was given this one just then."""
        if self._memory is None:
            self._memory = self._new_memory()
        out, moved = np.empty(ids.size, np.int32), np.zeros(ids.size, np.bool_)
        route_rows(self._memory, ids, NO_WEIGHTS, out, moved)
        return out, moved

    def starting_with(self, known: KnownKeys) -> Self:
        """Return a source that has sent nothing yet, and knows hot keys and their workers.

        >>> known = KnownKeys.nothing().after(
        ...     np.array([7], np.uint64), np.array([0.5]),
        ...     moved_ids=np.array([7], np.uint64), moved_to=np.array([3]), workers=8,
        ... )
        >>> set(Flow(8).starting_with(known).route_many([7] * 3).tolist()) <= {
        ...     3, Flow(8).route(7)}
        True
        """
        own = type(self)(**self.parameters())
        own._memory = own._new_memory()
        start_with(own._memory, *known)
        return own

    def _new_memory(self) -> Memory:
        capacity = np.ones(self.workers) if self.capacity is None else np.array(self.capacity)
        memory = new_memory(capacity, self._moved.words)
        rule = memory.rule
        rule["excess"], rule["slack"], rule["hot"] = self.excess, self.slack, self.hot
        rule["patience"] = 1.0 + HOT_EXCESS * self.excess
        rule["most"] = self.workers if self.max_replicas is None else self.max_replicas
        rule["seed"] = derive_seeds(self.seed, 1, purpose="flow")[0]
        rule["probes"], rule["filter_seed"] = self._moved.probes, self._moved.hash_seed
        return memory

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        memory = self._new_memory() if self._memory is None else self._memory
        may_have_moved = bool(self._moved.contains_many(np.array([key_id]))[0])
        found = workers_of(memory, key_id, may_have_moved)
        return tuple(np.flatnonzero(found).tolist())
