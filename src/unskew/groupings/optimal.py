"""The near-optimal whole-key placement that distribution-aware grouping is compared with."""

from typing import ClassVar

from unskew.groupings.off_greedy import OffGreedy


class Optimal(OffGreedy):
    """Place whole keys by LPT on the true counts of exactly the rows that are measured.

    It differs from off-greedy in what it is given: the counts of the measured part, not of the
    whole stream. No scheme that keeps keys whole can be expected to do better.

    Parameters
    ----------
    workers
        Number of downstream workers, at least 1.
    seed
        Picks the hash function for keys that are not known.

    Examples
    --------
    >>> Optimal(2).fit(["a", "b", "c"], [5, 4, 2]).route_many(["c", "b", "a"]).tolist()
    [1, 1, 0]
    """

    name: ClassVar[str] = "optimal"
    paper: ClassVar[str] = "baseline (O-apx, Rivetti et al. 2015)"
    knows_measured_part_only: ClassVar[bool] = True
