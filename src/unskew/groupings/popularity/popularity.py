"""Popularity grouping: hot keys go round-robin over all workers, rare keys are hashed."""

from typing import Any, ClassVar, SupportsIndex

import numpy as np

from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.groupings.popularity.adaptive_threshold import (
    LOWEST_FREQUENCY,
    count_keys,
    frequency_after,
    hot_share,
)
from unskew.groupings.popularity.hot_filter import (
    Switch,
    count_switches,
    last_switches,
    lone_worker,
    new_hot_filter,
    route_rows,
)
from unskew.hashing import Ids, derive_seeds
from unskew.sketches._coin_vectors import RECORDS
from unskew.sketches.coin_synopsis import CoinSynopsis, capacity_for, rates_for

_ADAPTIVE_RANGE = 16.0
_FOR_ADAPTIVE = {"interval": 1024, "time_weight": 0.5, "memory_weight": 0.5}
_ENDLESS = 1 << 62


class Popularity(Grouping):
    """Send the rows of hot keys round-robin to all workers, hash the rows of all other keys [1].

    Which keys are hot *now* is learned from a few rows chosen by coin flips (`CoinSynopsis`) and
    kept in a counting Bloom filter, so a row costs little more than a hash and drifting fame is
    followed. A rare key stays where plain key grouping puts it and needs no merge.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    frequency
        Share of all rows from which on a key counts as hot, in [1e-6, 1]. By default
        1/(20·workers): a key is worth shuffling when it alone brings its worker a twentieth of
        a fair load. The authors' programs use 0.02 for any number of workers, which leaves keys
        of twice a fair load on one of 100 workers.
    adaptive
        Whether the threshold adapts itself so that time and memory cost the same (section 4.4).
        It may fall to a sixteenth of ``frequency``, for which memory is set aside.
    vector_bits
        Bits of a vector of the synopsis.
    threshold_bits
        Heads in a row that a row needs to be recorded: one of 2⁷ = 128 rows by default, which is
        the paper's rule log₂(2/frequency) at the authors' 0.02. None applies that rule to
        ``frequency``; it saves a little time and learns slowly where the threshold is low. Which
        keys are hot in the long run does not depend on this number.
    interval
        Recorded rows between two changes of an adaptive threshold; for that alone.
    time_weight, memory_weight
        w_T and w_S: what it costs to hash all rows (imbalance) and to shuffle all keys (memory);
        for an adaptive threshold alone.
    seed
        Picks hash functions and coin flips; equal seeds give equal answers in every process.

    Notes
    -----
    One predictor serves all sources. Popularity is how often a key comes: weights are accepted
    and change nothing. Memory is bounded: 256 KiB to remember which keys were ever shuffled (for
    `candidates`), and some 90 bytes for each of the 8/frequency keys that there is room for.

    *Cooling.* A key that stays away leaves the hot set when its vector has lost all ones but one.
    A vector loses a bit per `rows_per_shift` = 2ʳ/p rows in the mean, with p = frequency/2. A key
    that had the share s goes after about log₂(s/p) + ½ of these shifts and never needs more than
    ``vector_bits`` − 1: with 16 workers 81,920 rows each, so 0.3 to 0.7 million rows for a share
    of 2 to 50 %. ``threshold_bits`` sets the pace and leaves alone which keys are hot: 3 instead
    of 7 is 16 times as fast. ``frequency=0.02, threshold_bits=6`` is what the authors' program
    has (r = 6, l = 16, p = 0.01): 6,400 rows per shift, 12 to 40 thousand in the mean.

    *On Spark* every task is a source with a predictor of its own, which has the coin, the vectors
    and the filter of this class and starts as the given object is: a new one knows no hot key, in
    a stream in every micro-batch anew. A task sees a key as hot after some 4·2ʳ rows of it, so
    that tasks of few rows need a small ``threshold_bits``; `CountedPopularity` learns from one
    micro-batch for the next.

    Examples
    --------
    A hot key is spread evenly, a rare one stays on one worker:

    >>> grouping = Popularity(4, seed=1)
    >>> learned = grouping.route_many([7, 8, 7, 9, 7, 10] * 2000)
    >>> workers = grouping.route_many([7] * 4000)
    >>> bool(np.bincount(workers, minlength=4).min() >= 990)
    True
    >>> grouping.candidates(7), len(grouping.candidates(11))
    ((0, 1, 2, 3), 1)

    References
    ----------
    [1] Chen, Zhang, Jin, "PStream: a Popularity-aware Differentiated Distributed Stream Processing
    System".
    """

    name: ClassVar[str] = "popularity"
    paper: ClassVar[str] = "Chen, Zhang, Jin (PStream)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"
    shares_state: bool = True

    def __init__(
        self,
        workers: int,
        *,
        frequency: float | None = None,
        adaptive: bool = False,
        vector_bits: int = 16,
        threshold_bits: int | None = 7,
        interval: int = 1024,
        time_weight: float = 0.5,
        memory_weight: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        self.frequency = frequency
        self.adaptive = adaptive
        self.vector_bits = vector_bits
        self.threshold_bits = threshold_bits
        self.interval = check_int("Popularity", "interval", interval, minimum=1)
        self.time_weight = check_real("Popularity", "time_weight", time_weight, above=0)
        self.memory_weight = check_real("Popularity", "memory_weight", memory_weight, above=0)
        self._check_rest()
        self._threshold = hot_share("Popularity", frequency, self.workers)
        lowest = self._threshold / _ADAPTIVE_RANGE if adaptive else self._threshold
        self._lowest = max(LOWEST_FREQUENCY, lowest)
        self._synopsis = self._new_synopsis()
        self._filter = new_hot_filter(self._synopsis.capacity, counts_keys=adaptive)
        self._hash_seed = derive_seeds(self.seed, 1, purpose="key")[0]

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Travel as parameters while nothing is learned: the room for keys may take megabytes."""
        if self._synopsis.rows == 0:
            return _made, (type(self), self.parameters())
        return super().__reduce_ex__(protocol)

    def _check_rest(self) -> None:
        if not isinstance(self.adaptive, bool):
            raise InvalidParameterError("Popularity", "adaptive", "True or False", self.adaptive)
        check_int("Popularity", "vector_bits", self.vector_bits, minimum=2, maximum=32)
        if self.threshold_bits is not None:
            check_int("Popularity", "threshold_bits", self.threshold_bits, minimum=0, maximum=32)
        for name, default in _FOR_ADAPTIVE.items():
            if not self.adaptive and getattr(self, name) != default:
                expected = f"left at {default} without adaptive=True, which alone uses it"
                raise InvalidParameterError("Popularity", name, expected, getattr(self, name))

    @property
    def threshold(self) -> float:
        """The share of rows from which on a key is hot; changes only if ``adaptive``."""
        return self._threshold

    @property
    def rows_per_shift(self) -> float:
        """Rows of the stream, in the mean, after which a vector loses a bit: 2ʳ/p.

        >>> Popularity(16).rows_per_shift
        81920.0
        >>> round(Popularity(16, frequency=0.02, threshold_bits=6).rows_per_shift)
        6400
        """
        return float(1 << self._synopsis.threshold_bits) / self._synopsis.decline

    @property
    def n_switches(self) -> int:
        """How often a key went from hashed to shuffled or back."""
        return count_switches(self._filter)

    @property
    def switches(self) -> list[Switch]:
        """The last switches, oldest first, at most 4096.

        An engine moves state by them: on hashed → shuffled the hash worker's partial result goes to
        the merge, on shuffled → hashed the merged result goes to the hash worker.
        """
        return last_switches(self._filter)

    def hot_ids(self) -> Ids:
        """Return the identities of the keys that are hot now, in rising order."""
        return self._synopsis.hot_ids()

    def _new_synopsis(self) -> CoinSynopsis:
        threshold_bits, decline = self._rates()
        return CoinSynopsis(
            threshold_bits=threshold_bits,
            vector_bits=self.vector_bits,
            decline=decline,
            capacity=capacity_for(self._lowest / 2),
            seed=self.seed,
        )

    def _rates(self) -> tuple[int, float]:
        threshold_bits, decline = rates_for(self._threshold)
        return (threshold_bits if self.threshold_bits is None else self.threshold_bits), decline

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        records = self.interval if self.adaptive else _ENDLESS
        done = 0
        while done < ids.size:
            done = route_rows(
                self._synopsis.state,
                self._filter,
                ids,
                self._hash_seed,
                self.workers,
                done,
                records,
                out,
            )
            if self._synopsis.state.cells[RECORDS] >= records:
                self._adapt()

    def _adapt(self) -> None:
        wanted = frequency_after(
            self._threshold,
            self._synopsis.take_census(),
            count_keys(self._filter.smallest),
            self.time_weight,
            self.memory_weight,
        )
        self._threshold = max(wanted, self._lowest)
        self._synopsis.set_rates(*self._rates())

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        worker = int(
            lone_worker(self._filter.ever, np.array([key_id]), self._hash_seed, self.workers)
        )
        return tuple(range(self.workers)) if worker < 0 else (worker,)


def _made(scheme: type[Popularity], parameters: dict[str, Any]) -> Popularity:
    return scheme(**parameters)
