"""FlexSP: a small share β of the keys may choose among workers, all others are hashed."""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int, check_real
from unskew.groupings.base import Grouping, LoadVector, SparkMode, Weights, Workers
from unskew.groupings.candidates import stride
from unskew.hashing import Ids, derive_seeds, mix, to_range
from unskew.sketches.bloom import Bloom, add_hash
from unskew.sketches.space_saving import Counters, SpaceSaving, step

_REFRESH_EVERY = 10_000
_SPARE = 3.0  # times the workers that a split key needs
_BITS = 1 << 16  # of the bitmap that distinct keys are counted with
_FEWEST_COUNTERS, _COUNTERS_PER_WORKER = 1000, 20


class Flex(Grouping):
    """Give the hottest β of all keys several workers to choose from, hash all others [1].

    Two choices for every key make every key cost two places in memory, while it is the few hot
    ones alone that can even out the load. Here only a share ``beta`` of the distinct keys, the
    hottest, is split: a row of such a key goes to the least loaded of its workers, and so fills
    the gaps that hashing leaves. Load is what this source has sent.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    beta
        Share of the distinct keys that may be split (β), in (0, 1).
    choices
        Workers of a split key, at least 2; by default as many as its share asks for.
    seed
        Picks the hash functions; equal seeds give equal answers in every process.

    Notes
    -----
    Of the paper the abstract could be read, and neither its text nor its code: that β of the keys
    have several choices and the rest one is from there, as is that both follow from the workload.
    Decided: β = 0.01; which keys those are is found with a SpaceSaving summary and a bitmap that
    counts distinct keys, and decided anew when the rows have doubled, then every 10,000 rows, so a
    source splits nothing in its first 1,000 rows; at most half as many keys as the summary has
    counters (20 per worker, at least 1,000) can be split, and at least one. Where split keys have
    the share H of all rows together, hashing fills each worker to (1 − H) / W, and a key of share
    s needs s · W / H workers to take its rows in what is left. By default it has three times as
    many and one more: workers of different keys coincide, and with as many as needed every third
    worker would be nobody's, with three times as many one in twenty.

    There is no bound: hash collisions of keys that are not split are evened out only as far as
    the split ones have rows enough. With weights, a row counts as much as it weighs. Memory is
    fixed; the bitmap is full beyond some 700,000 keys, and β is then a share of so many.

    Examples
    --------
    One key has half of all rows. The loads are nearly even, and most keys stay whole:

    >>> keys = np.arange(100_000) % 2_000
    >>> keys[::2] = -1
    >>> workers = Flex(8).route_many(keys)
    >>> loads = np.bincount(workers)
    >>> bool(loads.max() < 1.05 * loads.mean())
    True
    >>> places = len(set(zip(keys.tolist(), workers.tolist())))
    >>> places < 1.1 * len(set(keys.tolist()))
    True

    References
    ----------
    [1] Chen, Zuo, Zhang, "FlexSP: (1 + β)-Choice based Flexible Stream Partitioning for Stateful
       Operators", ICPP 2024.
    """

    name: ClassVar[str] = "flex"
    paper: ClassVar[str] = "Chen, Zuo, Zhang 2024 (FlexSP)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"

    def __init__(
        self, workers: int, *, beta: float = 0.01, choices: int | None = None, seed: int = 0
    ) -> None:
        super().__init__(workers, seed=seed)
        self.beta = check_real("Flex", "beta", beta, above=0, below=1)
        if choices is not None:
            choices = check_int("Flex", "choices", choices, minimum=2)
        self.choices = choices
        self._loads = LoadVector(self.workers)
        self._counts = SpaceSaving(max(_FEWEST_COUNTERS, _COUNTERS_PER_WORKER * self.workers))
        self._seen = np.zeros(_BITS, np.bool_)
        self._ever_split = Bloom(self._counts.capacity, seed=seed)
        self._seeds = derive_seeds(seed, 2, purpose="flex")
        self._most_choices = np.ones(1, np.int64)
        self._split_ids = np.zeros(self._counts.capacity, np.uint64)  # by counter
        self._is_split = np.zeros(self._counts.capacity, np.bool_)
        self._per_share = 1.0  # workers for a split key of share 1
        self._rows, self._refresh_at = 0, 1000

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        start = 0
        while start < ids.size:
            end = min(ids.size, start + self._refresh_at - self._rows)
            part = slice(start, end)
            _route_rows(
                self._counts.counters,
                self._loads.for_weights(weights),
                self._seen,
                self._seeds,
                (self._split_ids, self._is_split),
                (self.choices or 0, self._per_share, self._most_choices),
                (self._ever_split.words, self._ever_split.probes, self._ever_split.hash_seed),
                ids[part],
                weights[part],
                out[part],
            )
            self._rows += end - start
            start = end
            if self._rows == self._refresh_at:
                self._refresh()
                self._refresh_at += min(self._refresh_at, _REFRESH_EVERY)

    def _refresh(self) -> None:
        """Split the hottest β of the keys from now on."""
        free = max(1, _BITS - int(np.count_nonzero(self._seen)))
        keys = -_BITS * math.log(free / _BITS)
        n_split = min(max(1, round(self.beta * keys)), self._counts.capacity // 2)
        counters = self._counts.counters
        certain = counters.counts - counters.slots["error"]
        hottest = np.argsort(-certain, kind="stable")[:n_split]
        self._split_ids[:] = counters.slots["id"]
        self._is_split[:] = False
        self._is_split[hottest] = certain[hottest] > 0
        hot = certain[hottest].sum() / self._counts.total if self._counts.total else 0.0
        self._per_share = self.workers / hot if hot else 1.0

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        ever = bool(self._ever_split.contains_many(np.array([key_id]))[0])
        choices = int(self._most_choices[0]) if ever else 1
        first, onward = _order_of(key_id, self._seeds, self.workers)
        return tuple(sorted({(first + at * onward) % self.workers for at in range(choices)}))


@compiled
def _order_of(key_id: np.uint64, seeds: Ids, workers: int) -> tuple[int, int]:
    """Return a key's first worker, and the step from each of its workers to the next."""
    first = int(to_range(mix(key_id, seeds[0]), np.uint64(workers)))
    return first, stride(mix(key_id, seeds[1]), workers)


@compiled
def _route_rows(
    counts: Counters,
    loads: NDArray[Any],
    seen: NDArray[np.bool_],
    seeds: Ids,
    split: Any,
    rule: Any,
    filter_: Any,
    ids: Ids,
    weights: Weights,
    out: Workers,
) -> None:
    """Send every row to its hash worker, or where its key is split to the least loaded choice."""
    split_ids, is_split = split
    fixed, per_share, most = rule
    words, probes, filter_seed = filter_
    workers, one = loads.size, loads.dtype.type(1)
    last = np.uint64(seen.size - 1)
    for i in range(ids.size):
        weight = weights[i] if weights.size else 1.0
        at = step(counts, ids[i], weight)
        bits = mix(ids[i], filter_seed)
        seen[bits & last] = True
        best = int(to_range(mix(ids[i], seeds[0]), np.uint64(workers)))
        if is_split[at] and split_ids[at] == ids[i]:
            add_hash(words, probes, bits)
            choices = fixed
            if fixed == 0:
                share = counts.counts[at] / counts.summary[0].total
                choices = 1 + math.ceil(_SPARE * share * per_share)
            choices = min(choices, workers)
            most[0] = max(most[0], choices)
            worker, onward = _order_of(ids[i], seeds, workers)
            for _ in range(1, choices):
                worker = (worker + onward) % workers
                if loads[worker] < loads[best]:
                    best = worker
        loads[best] += weights[i] if weights.size else one
        out[i] = best
