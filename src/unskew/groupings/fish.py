"""FISH: hot keys of the moment get workers by their heat, the worker that is free first a row."""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int, check_real
from unskew.groupings.base import Grouping, SparkMode, Weights, Workers
from unskew.groupings.candidates import stride
from unskew.hashing import Ids, derive_seeds, mix, to_range
from unskew.sketches.bloom import Bloom, add_hash
from unskew.sketches.space_saving import Counters, SpaceSaving, step

_FEWEST = 2  # workers of a key that is not hot, or hardly
_EVER_HOT_PER_WORKER = 100


class Fish(Grouping):
    """Split the keys that are hot just now, the hotter the wider, by who will be done first [1].

    Rows are counted in epochs, and at the end of each all counts are multiplied by ``decay``: a
    key that was hot yesterday is soon forgotten. A key is hot while its share of what is
    remembered is above ``threshold``. The hottest key may go to all workers, one that is half as
    hot to half of them, and so on; any other key has two. Of a key's workers a row goes to the
    one that will be done first: its backlog times what a row takes there. Nobody is asked for
    either while rows flow; the source works out what each worker must have done by now.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    epoch
        Rows of a source after which counts decay, at least 1.
    decay
        What part of a count is left after an epoch (α), in (0, 1).
    threshold
        Share that makes a key hot (θ), in (0, 1]; 1 / (4 · workers) unless given.
    counters
        Keys that are counted at the same time, at least 1.
    seed
        Picks the hash functions; equal seeds give equal answers in every process.

    Notes
    -----
    The paper's abstract could be read here, its body could not. Its ideas are followed as they are
    known; the numbers of its text (epoch, α, θ, 1,000 counters) are from memory of it, and this
    was decided: a hot key of share f has W / 2ⁱ workers, i = ⌊log₂(f_top / f)⌋, never fewer than
    it had while it was counted. Of fewer rows than an epoch shares are not taken, as they would be
    chance. Workers do in an epoch what the source sent in it, each its part
    in proportion to its speed, as there is no clock: all are alike until the simulator's queues
    say what rows take (every epoch, standing for the paper's samples). A key goes through
    the workers in an order of its own, where the paper has a ring of hashes, so no worker can join
    while rows flow.

    FISH promises no bound: what a worker got more than others in an epoch that it could keep up
    with is forgotten. With weights, a row counts as much as it weighs.

    Memory is fixed: the counters, and a Bloom filter of keys that were ever hot, for which
    `candidates` answers all workers.

    Examples
    --------
    One key has half of all rows; no worker gets more than a few percent above the mean:

    >>> keys = np.arange(40_000)
    >>> keys[::2] = -1
    >>> loads = np.bincount(Fish(8).route_many(keys))
    >>> bool(loads.max() < 1.05 * loads.mean())
    True

    References
    ----------
    [1] Huang et al., "Efficient Time-Evolving Stream Processing at Scale", arXiv 1806.00760, 2018.
    """

    name: ClassVar[str] = "fish"
    paper: ClassVar[str] = "Huang et al. 2018 (FISH)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"
    report_every: int = 1000

    def __init__(
        self,
        workers: int,
        *,
        epoch: int = 1000,
        decay: float = 0.2,
        threshold: float | None = None,
        counters: int = 1000,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        self.epoch = check_int("Fish", "epoch", epoch, minimum=1)
        self.decay = check_real("Fish", "decay", decay, above=0, below=1)
        if threshold is not None:
            threshold = check_real("Fish", "threshold", threshold, above=0, maximum=1)
        self.threshold = threshold
        self.counters = check_int("Fish", "counters", counters, minimum=1)
        self._counts = SpaceSaving(self.counters)
        self._seeds = derive_seeds(seed, 2, purpose="fish")
        self._known = _Known(
            ids=np.zeros(self.counters, np.uint64),
            most=np.zeros(self.counters, np.int64),
            backlogs=np.zeros(self.workers),
            row_times=np.ones(self.workers),
        )
        self._ever_hot = Bloom(_EVER_HOT_PER_WORKER * self.workers, seed=seed)
        self._rows = 0
        self._sent = 0.0  # in this epoch

    def note_queues(self, waiting: Weights, row_times: Weights) -> None:
        """Take in what a row takes at each worker; the backlogs are worked out, not asked for."""
        self._known.row_times[:] = row_times

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        start = 0
        while start < ids.size:
            end = min(ids.size, start + self.epoch - self._rows % self.epoch)
            part = slice(start, end)
            self._sent += _route_epoch(
                self._counts.counters,
                self._known,
                self._seeds,
                (1 / (4 * self.workers) if self.threshold is None else self.threshold, self.epoch),
                (self._ever_hot.words, self._ever_hot.probes, self._ever_hot.hash_seed),
                ids[part],
                weights[part],
                out[part],
            )
            self._rows += end - start
            start = end
            if self._rows % self.epoch == 0:
                self._end_epoch()

    def _end_epoch(self) -> None:
        """Let counts fade, and take from each backlog what the worker has done meanwhile."""
        self._counts.scale(self.decay)
        speeds = 1.0 / np.maximum(self._known.row_times, 1e-12)
        done = self._sent * speeds / speeds.sum()
        np.maximum(self._known.backlogs - done, 0.0, out=self._known.backlogs)
        self._sent = 0.0

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        if bool(self._ever_hot.contains_many(np.array([key_id]))[0]):
            return tuple(range(self.workers))
        first, step_ = _order_of(key_id, self._seeds, self.workers)
        return tuple(sorted({first, (first + step_) % self.workers}))


class _Known(NamedTuple):
    """What a source knows: of keys that have a counter, and of the workers."""

    ids: Ids
    """The key of which the next field tells."""
    most: NDArray[np.int64]
    """The most workers that the key in the counter has had."""
    backlogs: NDArray[np.float64]
    row_times: NDArray[np.float64]


@compiled
def _order_of(key_id: np.uint64, seeds: Ids, workers: int) -> tuple[int, int]:
    """Return a key's first worker, and the step from each of its workers to the next."""
    first = int(to_range(mix(key_id, seeds[0]), np.uint64(workers)))
    return first, stride(mix(key_id, seeds[1]), workers)


@compiled
def _route_epoch(
    counts: Counters,
    known: _Known,
    seeds: Ids,
    rule: Any,
    filter_: Any,
    ids: Ids,
    weights: Weights,
    out: Workers,
) -> float:
    """Choose a worker for every row of one epoch; return what they weigh together."""
    threshold, epoch = rule
    words, probes, filter_seed = filter_
    backlogs, times, workers = known.backlogs, known.row_times, known.backlogs.size
    top, sent = counts.counts.max(), 0.0
    for i in range(ids.size):
        weight = weights[i] if weights.size else 1.0
        at = step(counts, ids[i], weight)
        count = counts.counts[at]
        top = max(top, count)
        choices = min(_FEWEST, workers)
        if count - counts.slots[at].error > threshold * max(counts.summary[0].total, epoch):
            choices = max(choices, workers >> int(math.log2(top / count)))
            if known.ids[at] != ids[i] or known.most[at] == 0:
                known.ids[at], known.most[at] = ids[i], 0
                add_hash(words, probes, mix(ids[i], filter_seed))
            choices = known.most[at] = max(choices, known.most[at])
        worker, onward = _order_of(ids[i], seeds, workers)
        best = worker
        for _ in range(1, choices):
            worker = (worker + onward) % workers
            if backlogs[worker] * times[worker] < backlogs[best] * times[best]:
                best = worker
        backlogs[best] += weight
        sent += weight
        out[i] = best
    return sent
