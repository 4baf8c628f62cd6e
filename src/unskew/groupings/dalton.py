"""Dalton: hot keys learn by trial which workers suit them, all other keys are hashed."""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._table import ABSENT, Table, get, new_table, put
from unskew._validation import check_int, check_real
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.hashing import Ids, derive_seeds, mix, to_range
from unskew.sketches.bloom import Bloom, add_hash
from unskew.sketches.space_saving import Counters, SpaceSaving, step

_FEWEST_ROWS, _ROWS_PER_WORKER = 1000, 100  # of a slide
_MOST_HOT = 512
_UNKNOWN = -2.0  # value of a worker that a key has not tried
_SPLIT_AT_FIRST, _SPLIT_AT_MOST, _ENOUGH = 2, 6, 0.7
_EVER_HOT_PER_WORKER = 100


class Dalton(Grouping):
    """Let each hot key learn, reward by reward, which workers to go to; hash all others [1].

    A key is hot while it has more rows than a worker's fair share. For each hot key and worker
    there is a value, a moving average of rewards: a row that goes to a worker of little load and
    does not spread its key is worth more. A row goes to the worker of the highest value, one in
    ten to another one for trial. No distribution is assumed, and what is learned follows the
    stream.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    slide
        Rows after which it is decided anew which keys are hot, at least 1; 100 per worker and at
        least 1,000 by default.
    slides
        Slides in the window over which loads and workers of a key count, at least 1.
    explore
        Share of a hot key's rows that go to a worker for trial (ε), in [0, 1].
    learn
        How much the latest reward counts in the moving average (a), in (0, 1].
    seed
        Picks the hash function and the trials; equal seeds give equal answers in every process.

    Notes
    -----
    Rules and numbers are those of the authors' program [2]: ε = a = 0.1; values begin at −2; a
    key is hot from the row on with which it exceeds 1/W of the rows of the slide before, until
    the end of the next slide; the reward is −(½ · (L − mean) / max(L, mean) + ½ · k / W), L the
    worker's load in the window and k the number of workers that the key was on; a key is tried on
    other workers until it has 2, and where 7 of 10 hot keys have that many, 3 and so on to 6. In
    the first slide all keys are hashed.

    Decided: the window is counted in rows, as there is no clock, and has 4 slides; keys that may be
    hot are counted in a summary of 8 counters per worker instead of all; at most 512 are hot. Each
    source learns by itself, where the authors' pool what they have learned every slide.

    Nothing is guaranteed: a trial may go to the busiest worker, and a key below a fair share is
    never split. With weights, a row counts as much as it weighs. Memory is fixed: up to 512 hot
    keys, with two numbers for each worker, and a Bloom filter of keys that were ever hot, for
    which `candidates` answers all workers.

    Examples
    --------
    A key of half of all rows learns to use several workers:

    >>> keys = np.arange(40_000)
    >>> keys[::2] = -1
    >>> loads = np.bincount(Dalton(4).route_many(keys))
    >>> bool(loads.max() < 1.25 * loads.mean())
    True

    References
    ----------
    [1] Zapridou, Mytilinis, Ailamaki, "Dalton: Learned Partitioning for Distributed Data Streams",
       PVLDB 16(3), 2022.
    [2] The ``partitioning.dalton`` package of the authors' program for Flink.
    """

    name: ClassVar[str] = "dalton"
    paper: ClassVar[str] = "Zapridou et al. 2022 (Dalton)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"

    def __init__(
        self,
        workers: int,
        *,
        slide: int | None = None,
        slides: int = 4,
        explore: float = 0.1,
        learn: float = 0.1,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        if slide is not None:
            slide = check_int("Dalton", "slide", slide, minimum=1)
        self.slide = slide
        self.slides = check_int("Dalton", "slides", slides, minimum=1)
        self.explore = check_real("Dalton", "explore", explore, minimum=0, maximum=1)
        self.learn = check_real("Dalton", "learn", learn, above=0, maximum=1)
        self._seeds = derive_seeds(seed, 2, purpose="dalton")
        self._slide_rows = slide or max(_FEWEST_ROWS, _ROWS_PER_WORKER * self.workers)
        self._counts = SpaceSaving(8 * self.workers)
        self._ever_hot = Bloom(_EVER_HOT_PER_WORKER * self.workers, seed=seed)
        room = min(_MOST_HOT, 2 * self.workers)
        self._hot = _Hot(
            ids=np.zeros(room, np.uint64),
            until=np.zeros(room, np.int64),
            values=np.zeros((room, self.workers)),
            last=np.zeros((room, self.workers), np.int64),
            at_most_split=np.zeros(room, np.bool_),
            rule=np.array([0, _SPLIT_AT_FIRST]),
        )
        self._table = new_table(room)
        self._loads = np.zeros((self.slides + 1, self.workers))
        self._fair = math.inf  # what a key must exceed in this slide to be hot
        self._rows = 0

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        start = 0
        while start < ids.size:
            end = min(ids.size, start + self._slide_rows - self._rows % self._slide_rows)
            part = slice(start, end)
            slide = self._rows // self._slide_rows
            _route_rows(
                self._hot,
                self._table,
                self._counts.counters,
                self._loads,
                (self._rows, slide, self._slide_rows * self.slides),
                (self._fair, self.explore, self.learn),
                self._seeds,
                (self._ever_hot.words, self._ever_hot.probes, self._ever_hot.hash_seed),
                ids[part],
                weights[part],
                out[part],
            )
            self._rows += end - start
            start = end
            if self._rows % self._slide_rows == 0:
                self._end_slide(slide)

    def _end_slide(self, slide: int) -> None:
        """Forget keys that are no longer hot, and loads that have left the window."""
        hot, n_hot = self._hot, int(self._hot.rule[0])
        kept = np.flatnonzero(hot.until[:n_hot] > slide)
        for values in (hot.ids, hot.until, hot.values, hot.last, hot.at_most_split):
            values[: kept.size] = values[kept]
        hot.rule[0] = kept.size
        self._table = new_table(hot.ids.size)
        for place, key_id in enumerate(hot.ids[: kept.size]):
            put(self._table, key_id, np.int64(place))
        leaving = 1 + (slide + 1) % self.slides
        self._loads[0] -= self._loads[leaving]
        self._loads[leaving] = 0.0
        self._fair = self._counts.total / self.workers
        self._counts = SpaceSaving(self._counts.capacity)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        if bool(self._ever_hot.contains_many(np.array([key_id]))[0]):
            return tuple(range(self.workers))
        return (_home(key_id, self._seeds[0], self.workers),)


class _Hot(NamedTuple):
    """What is known of the hot keys, one place each."""

    ids: Ids
    until: NDArray[np.int64]
    """The last slide in which the key is hot for certain."""
    values: NDArray[np.float64]
    """What each worker is worth."""
    last: NDArray[np.int64]
    """The number of the last row that went to each worker, from 1 on; 0 is none."""
    at_most_split: NDArray[np.bool_]
    """Whether the key has as many workers as a key may have at present."""
    rule: NDArray[np.int64]
    """How many keys are hot, and how many workers a key may have."""


@compiled
def _home(key_id: np.uint64, seed: np.uint64, workers: int) -> int:
    return int(to_range(mix(key_id, seed), np.uint64(workers)))


@compiled
def _route_rows(
    hot: _Hot,
    table: Table,
    counts: Counters,
    loads: NDArray[np.float64],
    clock: Any,
    rule: Any,
    seeds: Ids,
    filter_: Any,
    ids: Ids,
    weights: Weights,
    out: Workers,
) -> None:
    """Choose a worker for every row of one slide; row 0 of ``loads`` is the whole window."""
    first_row, slide, window = clock
    fair, explore, learn = rule
    words, probes, filter_seed = filter_
    now, workers = 1 + slide % (loads.shape[0] - 1), loads.shape[1]
    total = loads[0].sum()
    for i in range(ids.size):
        row = first_row + i + 1
        weight = weights[i] if weights.size else 1.0
        at = step(counts, ids[i], weight)
        place = get(table, ids[i])
        if counts.counts[at] - counts.slots[at].error > fair:
            if place == ABSENT and hot.rule[0] < hot.ids.size:
                place = np.int64(hot.rule[0])
                hot.rule[0] += 1
                hot.ids[place], hot.at_most_split[place] = ids[i], False
                hot.values[place], hot.last[place] = _UNKNOWN, 0
                put(table, ids[i], place)
                add_hash(words, probes, mix(ids[i], filter_seed))
            if place != ABSENT:
                hot.until[place] = slide + 1
        worker = _home(ids[i], seeds[0], workers)
        if place != ABSENT:
            worker = _chosen(hot, place, worker, row, window, explore, seeds[1])
            hot.last[place, worker] = row
        loads[0, worker] += weight
        loads[now, worker] += weight
        total += weight
        out[i] = worker
        if place != ABSENT:
            reward = _reward(hot, place, loads[0, worker], total / workers, row - window)
            old = hot.values[place, worker]
            hot.values[place, worker] = old * (1.0 - learn) + learn * reward


@compiled
def _chosen(
    hot: _Hot, place: Any, home: int, row: int, window: int, explore: float, seed: np.uint64
) -> int:
    """Return the worker of the highest value, or one for trial."""
    workers = hot.values.shape[1]
    bits = mix(np.uint64(row), seed)
    if float(bits >> np.uint64(11)) * 2.0**-53 >= explore:
        best = home
        for worker in range(workers):
            if hot.values[place, worker] > hot.values[place, best]:
                best = worker
        return best
    drawn = mix(bits, seed)
    if hot.at_most_split[place]:
        nth = to_range(drawn, np.uint64(_n_workers(hot, place, row - window)))
        for worker in range(workers):
            if hot.last[place, worker] > max(row - window, 0):
                if nth == 0:
                    return worker
                nth -= 1
    return int(to_range(drawn, np.uint64(workers)))


@compiled
def _n_workers(hot: _Hot, place: Any, since: int) -> int:
    """Return how many workers had a row of the key in the window."""
    count = 0
    for worker in range(hot.last.shape[1]):
        count += hot.last[place, worker] > max(since, 0)
    return count


@compiled
def _reward(hot: _Hot, place: Any, load: float, mean: float, since: int) -> float:
    """Return what the last row of a key was worth, and note whether it may spread further."""
    spread = _n_workers(hot, place, since)
    if spread == hot.rule[1]:
        hot.at_most_split[place] = True
    n_hot = hot.rule[0]
    if hot.rule[1] < _SPLIT_AT_MOST and hot.at_most_split[:n_hot].sum() >= _ENOUGH * n_hot:
        hot.at_most_split[:] = False
        hot.rule[1] += 1
    unevenness = (load - mean) / max(load, mean)
    return float(-(0.5 * unevenness + 0.5 * spread / hot.last.shape[1]))
