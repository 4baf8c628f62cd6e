"""How long rows wait for their results, from when they came to the end of their micro-batch."""

from collections.abc import Sequence
from typing import NamedTuple

_STEPS = 60  # halvings of an interval: exact to the last bit of a float


class Waits(NamedTuple):
    """The waits of the rows of a micro-batch, spread evenly between the newest and the oldest."""

    least: float
    """Seconds that the row waited which came last."""
    most: float
    """Seconds that the row waited which came first."""
    rows: int

    def quantile(self, share: float) -> float:
        """Return the wait that this share of the rows does not exceed.

        >>> Waits(1.0, 3.0, rows=10).quantile(0.5)
        2.0
        """
        return self.least + share * (self.most - self.least)

    def share_within(self, seconds: float) -> float:
        """Return the share of the rows that waited no longer.

        >>> Waits(1.0, 3.0, rows=10).share_within(1.5)
        0.25
        """
        if self.least < seconds < self.most:
            return (seconds - self.least) / (self.most - self.least)
        return 1.0 if seconds >= self.most else 0.0


def share_within(waits: Sequence[Waits], seconds: float) -> float:
    """Return the share of all rows that waited no longer than so many seconds."""
    rows = sum(each.rows for each in waits)
    return sum(each.rows * each.share_within(seconds) for each in waits) / rows if rows else 0.0


def quantile(waits: Sequence[Waits], share: float) -> float:
    """Return the wait that this share of all rows does not exceed; NaN without rows.

    >>> waits = [Waits(1.0, 1.0, rows=90), Waits(5.0, 5.0, rows=10)]
    >>> round(quantile(waits, 0.5), 9), round(quantile(waits, 0.95), 9)
    (1.0, 5.0)
    """
    if not any(each.rows for each in waits):
        return float("nan")
    low, high = 0.0, max(each.most for each in waits)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if share_within(waits, middle) >= share:
            high = middle
        else:
            low = middle
    return high
