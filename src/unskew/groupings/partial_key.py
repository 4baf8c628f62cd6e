"""Partial key grouping: the less loaded of two candidates, row by row."""

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._validation import check_choice, check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.authors_hashes import FAMILIES, authors_workers
from unskew.groupings.base import Grouping, LoadVector, SparkMode, Weights, Workers
from unskew.groupings.candidates import (
    Candidates,
    choose_least_loaded,
    choose_of_two,
    choose_with_probing,
    hash_choices,
    make_distinct,
)
from unskew.hashing import Ids, Key, Keys, derive_seeds, identity

LOADS = ("local", "global", "probing")


class PartialKey(Grouping):
    """Send each row to the less loaded of its key's two candidates [1].

    Load is what *this* source has sent: every source keeps its own counts, so sources need no
    coordination. A key is on at most ``choices`` workers, so a merge visits few.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    choices
        Candidates per key, 2 in the paper.
    load
        Which load decides: ``local`` (the source's own counts), ``global`` (an oracle that sees
        all sources) or ``probing`` (local, set to the true load every ``probe_every`` rows).
    probe_every
        Rows of one source between two probes; only with ``load="probing"``.
    distinct
        Whether a candidate that coincides with an earlier one moves on to the next worker. The
        paper assigns a key to "exactly two" workers, and Apache Storm does so. In the authors' own
        programs candidates coincide for one key in ``workers``, which then has one worker alone:
        ``distinct=False`` does as they do.
    hashes
        ``mixed``, or what another program hashes the key's text with: ``storm`` and
        ``simulator`` are the authors' Storm grouping and their simulator (their routes come out
        with ``distinct=False``), ``apache-storm`` is the ``PartialKeyGrouping`` of Apache Storm
        (without ``Fields``, so that it takes the text of the first field).
    seed
        Picks the hash functions; equal seeds give equal candidates in every process.

    Examples
    --------
    A hot key is split over two workers, never more, and evenly:

    >>> grouping = PartialKey(10)
    >>> workers = grouping.route_many(["hot"] * 100)
    >>> np.unique(workers, return_counts=True)[1].tolist()
    [50, 50]
    >>> set(workers.tolist()) == set(grouping.candidates("hot"))
    True

    References
    ----------
    [1] Nasir et al., "Partial Key Grouping: Load-Balanced Partitioning of Distributed Streams",
       2015.
    """

    name: ClassVar[str] = "partial-key"
    paper: ClassVar[str] = "Nasir et al. 2015 (PKG)"
    splits_keys: bool = True
    spark: ClassVar[SparkMode | None] = "online"
    spark_requires: ClassVar[Mapping[str, Any]] = {"hashes": "mixed", "load": "local"}
    takes_weights: ClassVar[bool] = True

    def __init__(
        self,
        workers: int,
        *,
        choices: int = 2,
        load: str = "local",
        probe_every: int = 10_000,
        distinct: bool = True,
        hashes: str = "mixed",
        seed: int = 0,
    ) -> None:
        super().__init__(workers, seed=seed)
        most = max(2, self.workers)  # a single worker is both candidates
        self.choices = check_int("PartialKey", "choices", choices, minimum=1, maximum=most)
        self.load = check_choice("PartialKey", "load", load, LOADS)
        self.probe_every = check_int("PartialKey", "probe_every", probe_every, minimum=1)
        self.distinct = bool(distinct)
        self.hashes = check_choice("PartialKey", "hashes", hashes, FAMILIES)
        if self.hashes != "mixed" and self.choices != 2:
            raise InvalidParameterError(
                "PartialKey",
                "choices",
                f"2 with the hashes of another program, {hashes!r}",
                choices,
            )
        self._hash_seeds = derive_seeds(seed, self.choices, purpose="partial-key")
        self._loads = LoadVector(self.workers)
        self._seen_by_source: NDArray[Any] = np.zeros((1, self.workers))
        self._position = 0

    @property
    def reads_keys(self) -> bool:
        """Other programs hash the text of the key."""
        return self.hashes != "mixed"

    def for_sources(self, n_sources: int) -> list[Self]:
        """Return one object per source, or one for all where sources see a common load."""
        if self.load == "local":
            return super().for_sources(n_sources)
        shared = copy.deepcopy(self)
        shared._seen_by_source = np.zeros((n_sources, self.workers))
        return [shared] * n_sources

    def route_many(self, keys: Keys, *, weights: ArrayLike | None = None) -> Workers:
        """Return the worker of every row (see `Grouping.route_many`)."""
        if not self.reads_keys:
            return super().route_many(keys, weights=weights)
        candidates = self._authors_candidates(keys)
        out = np.empty(candidates.shape[0], np.int32)
        self._choose(candidates, self._check_weights(weights, out.size), out)
        return out

    def candidates(self, key: Key) -> tuple[int, ...]:
        """Return the at most ``choices`` workers that may hold state of ``key``."""
        if self.reads_keys:
            return tuple(sorted(set(self._authors_candidates([key])[0].tolist())))
        return self._candidates(identity(key))

    def _route(self, ids: Ids, weights: Weights, out: Workers) -> None:
        if self.choices == 2 and self.load != "probing" and self.distinct:
            loads = self._loads.for_weights(weights)
            choose_of_two(ids, self._hash_seeds, weights, loads, out)
            return
        self._choose(self._hashed(ids), weights, out)

    def _choose(self, candidates: Candidates, weights: Weights, out: Workers) -> None:
        if self.load == "probing":
            self._position = choose_with_probing(
                candidates,
                weights,
                self._loads.for_weights(np.ones(1)),
                self._seen_by_source,
                self._position,
                self.probe_every,
                out,
            )
        else:
            choose_least_loaded(candidates, weights, self._loads.for_weights(weights), out)

    def _authors_candidates(self, keys: Keys) -> Candidates:
        found = authors_workers(keys, self.hashes, self.workers)
        if self.distinct:
            make_distinct(found, self.workers)
        return found

    def _hashed(self, ids: Ids) -> Candidates:
        return hash_choices(ids, self._hash_seeds, self.workers, self.distinct)

    def _candidates(self, key_id: np.uint64) -> tuple[int, ...]:
        return tuple(sorted(set(self._hashed(np.array([key_id]))[0].tolist())))
