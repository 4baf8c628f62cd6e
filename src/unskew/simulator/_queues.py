"""Workers as queues: they serve rows first in, first out, at speeds that may change.

Completion times are kept as a mean, quantiles and a time series, in bounded memory.
"""

import importlib
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.errors import InvalidParameterError, MissingExtraError

Speeds: TypeAlias = Sequence[float] | Sequence[tuple[int, Sequence[float]]]
"""A factor on execution times for each worker, or such factors from certain rows on."""
EXACT_LIMIT = 1 << 22
"""Up to so many rows quantiles are exact; beyond that a sketch gives them."""

_SKETCH_SIZE = 1000
_COUNT, _SUM, _MAX, _MIN = range(4)


class Phase(NamedTuple):
    """Factors on execution times that hold from a message on."""

    first: int
    factors: NDArray[np.float64]


def check_speeds(owner: str, speeds: Speeds | None, workers: int) -> list[Phase]:
    """Return the phases in order, or raise where they are none.

    >>> [phase.first for phase in check_speeds("here", [(0, [1, 2]), (50, [2, 1])], 2)]
    [0, 50]
    """
    if speeds is None:
        return []
    given: list[Any] = list(speeds)
    if not given or not isinstance(given[0], tuple):
        given = [(0, given)]
    phases = [_phase(phase, workers) for phase in given]
    good = [phase for phase in phases if phase is not None]
    starts = [phase.first for phase in good]
    if len(good) < len(phases) or starts != sorted(set(starts)):
        expected = f"{workers} numbers > 0, or phases [(from_message, factors), …] in order"
        raise InvalidParameterError(owner, "speeds", expected, speeds)
    return good


def _phase(given: Any, workers: int) -> Phase | None:
    try:
        first, factors = int(given[0]), np.array(given[1], dtype=np.float64)
    except (TypeError, ValueError, IndexError):
        return None
    if first < 0 or factors.shape != (workers,):
        return None
    return Phase(first, factors) if np.all(np.isfinite(factors) & (factors > 0)) else None


class Arrivals(NamedTuple):
    """Row i of a batch arrives at (first + i) · gap."""

    first: int
    gap: float


class Queues(NamedTuple):
    """One queue per worker."""

    free: NDArray[np.float64]
    """When each worker has served all that it was given."""
    busy: NDArray[np.float64]
    """For how long each worker has worked."""
    factors: NDArray[np.float64]
    """What each worker multiplies execution times by."""


def new_queues(workers: int) -> Queues:
    """Return empty queues of workers with equal speeds."""
    return Queues(np.zeros(workers), np.zeros(workers), np.ones(workers))


@inlined
def serve(queues: Queues, worker: int, arrival: float, cost: float) -> float:
    """Put one row at the end of a worker's queue and return when it will be done."""
    took = cost * queues.factors[worker]
    end: float = max(arrival, queues.free[worker]) + took
    queues.free[worker] = end
    queues.busy[worker] += took
    return end


@compiled
def serve_many(
    queues: Queues,
    workers: NDArray[np.int32],
    arrivals: Arrivals,
    costs: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Serve assigned rows and write their completion times; empty ``costs`` mean all are 1."""
    for i in range(workers.size):
        arrival = (arrivals.first + i) * arrivals.gap
        cost = costs[i] if costs.size else 1.0
        out[i] = serve(queues, workers[i], arrival, cost) - arrival


class CompletionTimes:
    """Collect completion times, batch by batch.

    Quantiles are exact up to `EXACT_LIMIT` rows. Beyond, they come from a KLL sketch whose
    rank is off by less than 0.3 percent (99 % confidence).

    Parameters
    ----------
    expected
        Number of rows if known: whether a sketch is needed is then known from the start.
    every
        Messages in each point of the time series.
    """

    def __init__(self, expected: int | None, every: int) -> None:
        self.rows = 0
        self._sum = 0.0
        self._every = every
        self._point = np.array([0.0, 0.0, -np.inf, np.inf])
        self._series: list[NDArray[np.float64]] = []
        self._kept: list[NDArray[np.float64]] = []
        self._sketch: Any = None
        if expected is not None and expected > EXACT_LIMIT:
            self._sketch = _new_sketch()

    def add(self, times: NDArray[np.float64]) -> None:
        """Take in the next completion times; the array is kept, so it must not change."""
        rows = np.empty((times.size // self._every + 1, 3))
        filled = _summarise(times, self._every, self._point, rows)
        self._series.append(rows[:filled].copy())
        self.rows += times.size
        self._sum += float(times.sum())
        if self._sketch is None and self.rows > EXACT_LIMIT:
            self._sketch = _new_sketch()
            for kept in self._kept:
                self._sketch.update(kept)
            self._kept.clear()
        if self._sketch is None:
            self._kept.append(times)
        else:
            self._sketch.update(times)

    @property
    def exact(self) -> bool:
        """Whether quantiles are exact."""
        return self._sketch is None

    def mean(self) -> float:
        """Return the mean completion time."""
        return self._sum / self.rows

    def quantiles(self, ranks: list[float]) -> list[float]:
        """Return the completion times at the given ranks in [0, 1]."""
        if self._sketch is not None:
            return [float(value) for value in self._sketch.get_quantiles(ranks)]
        return [float(value) for value in np.quantile(np.concatenate(self._kept), ranks)]

    def series(self) -> NDArray[np.float64]:
        """Return (max, mean, min) of every stretch of rows; the last may be shorter."""
        rows = list(self._series)
        if self._point[_COUNT] > 0:
            point = self._point
            rows.append(np.array([[point[_MAX], point[_SUM] / point[_COUNT], point[_MIN]]]))
        return np.concatenate(rows)


def _new_sketch() -> Any:
    try:
        datasketches = importlib.import_module("datasketches")
    except ImportError:
        what = f"Quantiles of more than {EXACT_LIMIT:,} rows"
        raise MissingExtraError(what, "datasketches", "sketches") from None
    return datasketches.kll_doubles_sketch(_SKETCH_SIZE)


@compiled
def _summarise(
    times: NDArray[np.float64],
    every: int,
    point: NDArray[np.float64],
    rows: NDArray[np.float64],
) -> int:
    filled = 0
    count, total, most, least = point[_COUNT], point[_SUM], point[_MAX], point[_MIN]
    for time in times:
        count += 1.0
        total += time
        most = max(most, time)
        least = min(least, time)
        if count >= every:
            rows[filled, 0], rows[filled, 1], rows[filled, 2] = most, total / count, least
            filled += 1
            count, total, most, least = 0.0, 0.0, -np.inf, np.inf
    point[_COUNT], point[_SUM], point[_MAX], point[_MIN] = count, total, most, least
    return filled
