"""Dynamic key grouping: two candidates per key, and more for a key that overloads them."""

import math
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.base import NO_WEIGHTS, Grouping, LoadVector, SparkMode, Weights, Workers
from unskew.groupings.dynamic_key.event_clock import EventClock, EvenTimes, GivenTimes, due_after
from unskew.groupings.dynamic_key.key_space import (
    new_key_space,
    promote_to_old,
    promote_to_teenage,
    with_room,
)
from unskew.groupings.dynamic_key.widening import Widened, hash_worker, route_rows
from unskew.hashing import Ids, Keys, derive_seeds, identities
from unskew.sketches.bloom import Bloom

_WIDENED_KEYS = 4096
_ROWS_A_CALL = 1 << 14


class Thresholds(NamedTuple):
    """Loads in percent of all rows, and the most workers that one key may have."""

    ideal: float
    threshold: float
    max_workers: int


def thresholds(workers: int) -> Thresholds:
    """Return when a key may take one more worker, and how many it may have (Table 1 of [1]_).

    The ideal load is L_i = 100/W percent, the threshold L_s = L_i + √L_i, and a key has at most
    ⌊100/L_s⌋ + 1 workers.

    >>> ideal, threshold, max_workers = thresholds(10)
    >>> round(ideal, 2), round(threshold, 2), max_workers
    (10.0, 13.16, 8)

    References
    ----------
    .. [1] Dalabasmaz, Can, "Dynamic Key Grouping: A Load Balancing Algorithm for Distributed Stream
       Processing Engines".
    """
    ideal = 100 / check_int("thresholds", "workers", workers, minimum=1)
    threshold = ideal + math.sqrt(ideal)
    return Thresholds(ideal, threshold, math.floor(100 / threshold) + 1)


class DynamicKey(Grouping):
    """Send each row to the least loaded of its key's workers: two, and more where two overload [1].

    A key's candidates are its hash worker and those that follow it. A key that has risen to the
    old generation of the key space takes one more worker when even its least loaded one carries
    the threshold load and the next one less; it gives workers back when two are below it.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    expected_keys
        Size of the key space: 10 % of it are old, 40 % teenage and 50 % baby keys.
    rate
        Rows per second: each row moves the event time on by 1/rate. Shared evenly among sources by
        `for_source`. No clock is ever read.
    warm_up
        Seconds before any key takes a third worker.
    teenage_every, old_every
        Seconds between two promotions of baby keys and of teenage keys.
    check_every
        Seconds of event time between two looks at whether a key needs more or fewer workers. The
        paper's algorithms look with every row: 0. Its key items also hold "the last time Scale
        Out is checked" (§ 4.1.1), without a period; the authors' program has 60 seconds, in which
        a key gets one more worker at most, so that a hot one takes minutes to spread.
    whole_percents
        Whether loads and threshold are cut to whole percents before they are compared, as in the
        authors' program; a tie goes to the first. Only together with ``check_every``.
    seed
        Picks the hash function; equal seeds give equal candidates in every process.

    Notes
    -----
    Loads are what *this* source has sent, in percent, and weigh rows by their weights; the
    generations count rows. Algorithm 3 of the paper never fills an empty generation: here a
    generation that has room takes keys without giving any back. Promotions that fall due between
    two rows happen once.

    *Memory.* Between two promotions babies are not limited, so that new keys can prove themselves;
    then all but half of ``expected_keys`` are forgotten. It is bounded by the rows that arrive in
    that time, ``rate · teenage_every``. For `candidates`, the keys that ever had more than two
    workers are kept in a Bloom filter together with the largest number of workers that any had.

    Examples
    --------
    A key with 70 % of all rows takes workers until none carries more than the threshold of 13.16 %:

    >>> grouping = DynamicKey(10, rate=100)
    >>> keys = np.where(np.arange(100_000) % 10 < 7, -1, np.arange(100_000) % 997)
    >>> workers = grouping.route_many(keys)
    >>> len(set(workers[keys == -1].tolist())) > 2
    True
    >>> round(100 * np.bincount(workers[50_000:]).max() / 50_000)
    13

    References
    ----------
    [1] Dalabasmaz, Can, "Dynamic Key Grouping: A Load Balancing Algorithm for Distributed Stream
    Processing Engines".
    """

    name: ClassVar[str] = "dynamic-key"
    paper: ClassVar[str] = "Dalabasmaz and Can"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"

    def __init__(
        self,
        workers: int,
        *,
        expected_keys: int = 100,
        rate: float = 10_000.0,
        warm_up: float = 15.0,
        teenage_every: float = 15.0,
        old_every: float = 60.0,
        check_every: float = 0.0,
        whole_percents: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        self.expected_keys = check_int("DynamicKey", "expected_keys", expected_keys, minimum=3)
        self.rate = check_real("DynamicKey", "rate", rate, above=0)
        self.warm_up = check_real("DynamicKey", "warm_up", warm_up, minimum=0)
        self.teenage_every = check_real("DynamicKey", "teenage_every", teenage_every, above=0)
        self.old_every = check_real("DynamicKey", "old_every", old_every, above=0)
        self.check_every = check_real("DynamicKey", "check_every", check_every, minimum=0)
        self.whole_percents = bool(whole_percents)
        if self.whole_percents and not self.check_every:
            raise InvalidParameterError(
                "DynamicKey", "whole_percents", "False without check_every", whole_percents
            )
        self._hash_seed = derive_seeds(self.seed, 1, purpose="key")[0]
        _, threshold, max_workers = thresholds(self.workers)
        self._limit = (math.floor(threshold) if self.whole_percents else threshold) / 100
        self._max_width = min(self.workers, max_workers)
        self._loads = LoadVector(self.workers)
        self._sent = LoadVector(1)
        self._space = new_key_space(self.expected_keys)
        self._widened = Bloom(_WIDENED_KEYS, seed=self.seed)
        self._widest = np.full(1, min(2, self.workers), np.int64)
        self._clock = EventClock("DynamicKey", self.rate)
        self._next_teenage = due_after(0.0, self.teenage_every)
        self._next_old = due_after(0.0, self.old_every)

    def for_source(self, source: int, n_sources: int) -> Self:
        """Return an object of its own for one of ``n_sources`` sources, with its share of rows."""
        own = super().for_source(source, n_sources)
        own.rate = self.rate / n_sources
        own._clock.change_rate(own.rate)
        return own

    def route_many(
        self, keys: Keys, *, weights: ArrayLike | None = None, times: ArrayLike | None = None
    ) -> Workers:
        """Return the worker of every row, as `route` would one after the other.

        Parameters
        ----------
        keys
            Integers, text or bytes; an Arrow or NumPy array or any sequence. Left untouched.
        weights
            What each row costs (bytes, milliseconds …), finite and at least 0; 1 by default.
        times
            When each row happened, in seconds and never falling; by default a row follows the one
            before it by 1/rate.
        """
        ids = identities(keys)
        checked = self._check_weights(weights, ids.size)
        out = np.empty(ids.size, np.int32)
        self._route_at(ids, checked, self._clock.batch(ids.size, times), out)
        return out

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        self._route_at(ids, weights, self._clock.batch(ids.size), out)

    def _route_at(
        self, ids: Ids, weights: Weights, when: EvenTimes | GivenTimes, out: Workers
    ) -> None:
        done = 0
        while done < ids.size:
            now = when.at(done)
            self._promote(now)
            stop = min(
                done + _ROWS_A_CALL, when.first_from(min(self._next_teenage, self._next_old))
            )
            warm = now > self.warm_up
            if not warm:
                stop = min(stop, when.first_after(self.warm_up))
            times = when.between(done, stop) if self.check_every else NO_WEIGHTS
            self._route_rows(ids[done:stop], weights[done:stop], warm, times, out[done:stop])
            done = stop
        self._clock.advance(when)

    def _promote(self, now: float) -> None:
        if now >= self._next_teenage:
            promote_to_teenage(self._space)
            self._next_teenage = due_after(now, self.teenage_every)
        if now >= self._next_old:
            promote_to_old(self._space)
            self._next_old = due_after(now, self.old_every)

    def _route_rows(
        self, ids: Ids, weights: Weights, warm: bool, times: Weights, out: Workers
    ) -> None:
        self._space = with_room(self._space, ids.size)
        route_rows(
            self._space,
            self._widened_state(),
            self._loads.for_weights(weights),
            self._sent.for_weights(weights),
            ids,
            weights,
            self._hash_seed,
            self._limit,
            self._max_width if warm else 0,
            times,
            self.check_every,
            self.whole_percents,
            out,
        )

    def _widened_state(self) -> Widened:
        ever = self._widened
        return Widened(ever.words, ever.probes, ever.hash_seed, self._widest)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        key = np.array([key_id])
        first = int(hash_worker(key, self._hash_seed, self.workers))
        widened = bool(self._widened.contains_many(key)[0])
        width = int(self._widest[0]) if widened else min(2, self.workers)
        return tuple(sorted((first + step) % self.workers for step in range(width)))
