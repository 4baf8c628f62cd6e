"""W-choices: rows of hot keys go to any worker, those of the others to one of two."""

from typing import ClassVar

from unskew.groupings.choices.hot_keys import HeadGrouping


class WChoices(HeadGrouping):
    """Send hot keys to the least loaded of all workers, every other key to one of two [1].

    Load is what *this* source has sent. A key is hot while it certainly has at least the share
    ``threshold`` of all weight that the source has seen. Its lower bound in a SpaceSaving sketch
    tells so: no key of a smaller share is taken for hot, and each one of more than 1.5 times that
    share is found. Balance is near that of shuffle, while only hot keys are on many workers.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    threshold
        Share that makes a key hot, in [1e-6, 1]; 1 / (5 · workers) unless given.
    capacity
        Counters of the sketch; 2 / threshold unless given, and never fewer.
    seed
        Picks the hash functions; equal seeds give equal answers in every process. The two
        candidates of a key are those of `PartialKey` with the same seed.

    Notes
    -----
    A tie goes to the first worker. In the first 10 / threshold rows, a key is hot only if it has
    the weight of 10 mean rows: the share of fewer may be chance.

    Memory is fixed: about 130 bytes per counter of the sketch, and a Bloom filter of 20 / threshold
    keys that remembers which ones were ever hot, so that `candidates` answers all workers for
    them (and for 1 % of the other keys; for more of them once more keys were hot).

    Examples
    --------
    A key that has all rows is spread over all workers, the loads differ by at most one:

    >>> from collections import Counter
    >>> loads = Counter(WChoices(8).route_many(["hot"] * 1000).tolist())
    >>> len(loads), max(loads.values()) - min(loads.values())
    (8, 0)

    References
    ----------
    [1] Nasir et al., "When Two Choices Are not Enough: Balancing at Scale in Distributed Stream
       Processing", ICDE 2016.
    """

    name: ClassVar[str] = "w-choices"
    paper: ClassVar[str] = "Nasir et al. 2016 (cited by Dalabasmaz and Can)"

    def __init__(
        self,
        workers: int,
        *,
        threshold: float | None = None,
        capacity: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(workers, threshold=threshold, capacity=capacity, seed=seed)
