"""How fast workers are, and when that changes."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError

Speeds: TypeAlias = Sequence[float] | Sequence[tuple[int, Sequence[float]]]
"""A factor on execution times for each worker, or such factors from certain rows on."""


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
