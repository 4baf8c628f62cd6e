"""Event time: when the rows of a stream happen, as the rows say and never a clock."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew.errors import InvalidParameterError


class EvenTimes(NamedTuple):
    """Rows that follow each other at one rate; row i happens at start + (before + i)/rate."""

    start: float
    before: int
    rate: float
    size: int

    def at(self, row: int) -> float:
        """Return when ``row`` happens."""
        return self.start + (self.before + row) / self.rate

    def between(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return when the rows from ``start`` to ``stop`` happen."""
        rows = self.before + np.arange(start, stop)
        return np.asarray(self.start + rows / self.rate, np.float64)

    def first_from(self, moment: float) -> int:
        """Return the first row at ``moment`` or later, or the number of rows."""
        row = self._near(moment)
        while row > 0 and self.at(row - 1) >= moment:
            row -= 1
        while row < self.size and self.at(row) < moment:
            row += 1
        return row

    def first_after(self, moment: float) -> int:
        """Return the first row later than ``moment``, or the number of rows."""
        return self.first_from(math.nextafter(moment, math.inf))

    def _near(self, moment: float) -> int:
        row = (moment - self.start) * self.rate - self.before
        return math.ceil(min(max(row, 0.0), float(self.size)))


class GivenTimes(NamedTuple):
    """Rows that bring their own times."""

    times: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.times.size

    def at(self, row: int) -> float:
        """Return when ``row`` happens."""
        return float(self.times[row])

    def between(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return when the rows from ``start`` to ``stop`` happen."""
        return self.times[start:stop]

    def first_from(self, moment: float) -> int:
        """Return the first row at ``moment`` or later, or the number of rows."""
        return int(np.searchsorted(self.times, moment, side="left"))

    def first_after(self, moment: float) -> int:
        """Return the first row later than ``moment``, or the number of rows."""
        return int(np.searchsorted(self.times, moment, side="right"))


class EventClock:
    """Keep the time of a stream in seconds since its first row, however it is cut into batches.

    Parameters
    ----------
    owner
        Whose parameter ``times`` a message about bad ones names.
    rate
        Rows per second where rows bring no times of their own.

    Examples
    --------
    >>> clock = EventClock("DynamicKey", rate=10)
    >>> clock.advance(clock.batch(25))
    >>> clock.batch(100).at(0), clock.batch(100).first_from(5.0)
    (2.5, 25)
    """

    def __init__(self, owner: str, rate: float) -> None:
        self._owner = owner
        self._rate = rate
        self._origin: float | None = None
        self._start = 0.0
        self._rows = 0

    def batch(self, size: int, times: ArrayLike | None = None) -> EvenTimes | GivenTimes:
        """Return the times of the next ``size`` rows, without moving on."""
        if times is None:
            return EvenTimes(self._start, self._rows, self._rate, size)
        return GivenTimes(self._since_origin(times, size))

    def advance(self, batch: EvenTimes | GivenTimes) -> None:
        """Move on by the rows of ``batch``."""
        if batch.size == 0:
            return
        if isinstance(batch, EvenTimes):
            self._origin = 0.0 if self._origin is None else self._origin
            self._rows += batch.size
        else:
            self._start, self._rows = batch.at(batch.size - 1), 1

    def change_rate(self, rate: float) -> None:
        """Let the following rows come at another rate."""
        self._start, self._rows = self.batch(1).at(0), 0
        self._rate = rate

    def _since_origin(self, times: ArrayLike, size: int) -> NDArray[np.float64]:
        given = np.ascontiguousarray(times, dtype=np.float64)
        if given.shape != (size,):
            expected = f"one number per key ({size})"
            raise InvalidParameterError(self._owner, "times", expected, f"shape {given.shape}")
        if not np.all(np.isfinite(given)):
            bad = given[~np.isfinite(given)][0]
            raise InvalidParameterError(self._owner, "times", "finite numbers", float(bad))
        if size and self._origin is None:
            start = float(given[0])
        else:
            start = self._start + (self._origin or 0.0)
        falls = np.diff(given, prepend=start) < 0
        if np.any(falls):
            raise InvalidParameterError(
                self._owner, "times", "never before the row before", float(given[falls][0])
            )
        if size and self._origin is None:
            self._origin = start
        return given - (self._origin or 0.0)


def due_after(moment: float, period: float) -> float:
    """Return the first multiple of ``period`` after ``moment``.

    >>> due_after(0.0, 15.0), due_after(44.9, 15.0), due_after(45.0, 15.0)
    (15.0, 45.0, 60.0)
    """
    return max((math.floor(moment / period) + 1) * period, math.nextafter(moment, math.inf))
