"""D-choices: hot keys have as many candidates as their load asks for, the others two."""

import math
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_real
from unskew.groupings.base import Weights, Workers
from unskew.groupings.choices.hot_keys import HeadGrouping
from unskew.groupings.choices.routing import EVIDENCE, keep_candidates
from unskew.hashing import Ids

_REFRESH_EVERY = 10_000


class DChoices(HeadGrouping):
    """Send hot keys to the least loaded of d candidates, every other key to one of two [1].

    As `WChoices`, but a hot key is only on as many workers as balance needs. d is the smallest
    number for which the paper's inequality (see `fewest_choices`) holds for the hot keys seen so
    far; where there is none, hot keys go to the least loaded of all workers.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    threshold
        Share that makes a key hot, in [1e-6, 1]; 1 / (5 · workers) unless given.
    capacity
        Counters of the sketch; 2 / threshold unless given, and never fewer.
    tolerance
        The imbalance ε, as a share of all weight, that d has to keep; at least 0.
    seed
        Picks the hash functions; equal seeds give equal answers in every process. The first two
        candidates of a key are those of `PartialKey` with the same seed.

    Notes
    -----
    d is worked out after workers rows, again when their number has doubled, and so on, then
    every 10,000 rows. The inequality reckons with d independent choices, of which some coincide.
    A hot key here has as many *distinct* candidates as d choices give on average, rounded up:
    the same replication, but no key is short of workers by bad luck. Candidates are nested, a
    larger d adds to them. A tie goes to the first worker. What is said of `WChoices` on its first
    rows holds here too.

    Memory is fixed: that of `WChoices` and at most 1 MB for the candidates of hot keys.
    `candidates` answers for every key that was ever hot what the largest d so far has given it.

    Examples
    --------
    A key with a fifth of all rows is kept off most of 20 workers, and the loads are even:

    >>> keys = np.arange(100_000)
    >>> keys[::5] = -1
    >>> grouping = DChoices(20)
    >>> loads = np.bincount(grouping.route_many(keys))
    >>> len(grouping.candidates(-1)) < 10, bool(loads.max() < 1.01 * loads.mean())
    (True, True)

    References
    ----------
    [1] Nasir et al., "When Two Choices Are not Enough: Balancing at Scale in Distributed Stream
       Processing", ICDE 2016.
    """

    name: ClassVar[str] = "d-choices"
    paper: ClassVar[str] = "Nasir et al. 2016 (cited by Dalabasmaz and Can)"

    def __init__(
        self,
        workers: int,
        *,
        threshold: float | None = None,
        capacity: int | None = None,
        tolerance: float = 1e-4,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, threshold=threshold, capacity=capacity, seed=seed)
        self.tolerance = check_real("DChoices", "tolerance", tolerance, minimum=0)
        self._head.rule["choices"] = self._head.rule["most_choices"] = min(2, self.workers)
        self._refresh_at = max(EVIDENCE, self.workers)

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        rows, start = int(self._head.rule["rows"][0]), 0
        while start < ids.size:
            if rows + start == self._refresh_at:
                self._refresh()
                self._refresh_at += min(self._refresh_at, _REFRESH_EVERY)
            end = min(ids.size, self._refresh_at - rows)
            part = slice(start, end)
            super()._route(ids[part], weights[part], out[part])
            start = end

    def _refresh(self) -> None:
        """Work out d for the hot keys of the moment and keep their candidates."""
        counters, rule = self._head.counters, self._head.rule
        total = counters.summary["total"][0]
        if total == 0:
            return
        certain = counters.counts - counters.slots["error"]
        hot = np.flatnonzero(certain >= total * rule["share"][0])
        hot = hot[np.lexsort((counters.slots["id"][hot], -counters.counts[hot]))]
        choices = fewest_choices(counters.counts[hot] / total, self.workers, self.tolerance)
        choices = distinct_workers(choices, self.workers)
        rule["choices"] = choices
        rule["most_choices"] = max(choices, rule["most_choices"][0])
        if choices < self.workers:
            keep_candidates(self._head, hot, self._loads.values)


def distinct_workers(choices: int, workers: int) -> int:
    """Return how many of n workers are hit by d < n independent choices on average, rounded up.

    >>> distinct_workers(3, 10), distinct_workers(95, 100), distinct_workers(100, 100)
    (3, 62, 100)
    """
    if choices == workers:
        return workers
    return math.ceil(workers * -math.expm1(choices * math.log1p(-1 / workers)))


@compiled
def fewest_choices(shares: NDArray[np.float64], workers: int, tolerance: float) -> int:
    """Return the smallest d that balances hot keys of these ``shares``, largest first.

    For every h, the h hottest keys share about b(h) = n − n·((n − 1) / n)^(h·d) workers. These
    also get what has all its candidates among them: hot keys of a lower rank with the
    probability (b(h) / n)^d, other keys with (b(h) / n)². All this must not exceed their part of
    the load, b(h)·(1 / n + ε). Where no d < n does, the answer is n.

    >>> fewest_choices(np.array([0.25]), 20, 1e-4)
    8
    """
    for choices in range(2, workers):
        if _suffice(choices, shares, workers, tolerance):
            return choices
    return workers


@compiled
def _suffice(choices: int, shares: NDArray[np.float64], workers: int, tolerance: float) -> bool:
    head = shares.sum()
    above = 0.0
    for rank in range(1, shares.size + 1):
        above += shares[rank - 1]
        part = 1.0 - ((workers - 1) / workers) ** (rank * choices)
        load = above + part**choices * (head - above) + part**2 * (1.0 - head)
        if load > part * (1.0 + workers * tolerance):
            return False
    return True
