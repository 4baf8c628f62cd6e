"""The base of d-choices and w-choices: finding hot keys, and two candidates for all others."""

import math
from typing import ClassVar

import numpy as np

from unskew._validation import check_int, check_real
from unskew.groupings.base import Grouping, LoadVector, SparkMode, Weights, Workers
from unskew.groupings.candidates import hash_choices
from unskew.groupings.choices.load_levels import words_for
from unskew.groupings.choices.routing import Head, new_head, route_rows
from unskew.hashing import Ids, derive_seeds
from unskew.sketches.bloom import Bloom
from unskew.sketches.space_saving import SpaceSaving

_WORDS_FOR_SETS = 1 << 17  # 1 MB for the candidates of all hot keys


class HeadGrouping(Grouping):
    """Two candidates for most keys, more for the few whose share is too large for two workers."""

    splits_keys = True
    spark: ClassVar[SparkMode | None] = "online"

    def __init__(
        self,
        workers: int,
        *,
        threshold: float | None = None,
        capacity: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        owner = type(self).__name__
        share = 1 / (5 * self.workers)
        if threshold is not None:
            share = check_real(owner, "threshold", threshold, minimum=1e-6, maximum=1)
        # With so many counters the error of a count is at most half of what makes a key hot.
        fewest = math.ceil(2 / share)
        if capacity is not None:
            hint = "2 / threshold counters, by default 10 for each worker"
            capacity = check_int(owner, "capacity", capacity, minimum=fewest, hint=hint)
        self.threshold, self.capacity = threshold, capacity
        self._loads = LoadVector(self.workers)
        self._ever_head = Bloom(10 * fewest, seed=seed)
        self._head = self._new_head(capacity or fewest, share)

    def _new_head(self, capacity: int, share: float) -> Head:
        # The first two are those of partial-key: where no key is hot, both route alike.
        seeds = derive_seeds(self.seed, max(2, self.workers), purpose="partial-key")
        n_sets = max(1, min(math.ceil(1 / share), _WORDS_FOR_SETS // words_for(self.workers)))
        head = new_head(SpaceSaving(capacity), self._ever_head, seeds, self.workers, n_sets)
        head.rule["share"] = share
        head.rule["choices"] = head.rule["most_choices"] = self.workers
        return head

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        loads = self._loads.for_weights(weights)
        route_rows(self._head, loads, loads.dtype.kind == "i", ids, weights, out)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        ids = np.array([key_id])
        ever_head = bool(self._ever_head.contains_many(ids)[0])
        choices = int(self._head.rule["most_choices"][0]) if ever_head else 2
        if choices == self.workers and ever_head:
            return tuple(range(self.workers))
        workers = hash_choices(ids, self._head.seeds[:choices], self.workers, True)
        return tuple(sorted(set(workers[0].tolist())))
