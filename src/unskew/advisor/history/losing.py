"""How long a stage lasted because its tasks were uneven.

Tasks of equal length would have run in ``ceil(tasks / slots)`` waves of the mean task. What the
stage lasted beyond that is lost, but no more of it than uneven tasks can explain: if all tasks
have a slot, the longest ends the stage; if not, a stage that hands a free slot the next task ends
within ``sum / slots + longest · (1 − 1 / slots)`` [1], whatever the order. The rest is waiting for
others: slots that another stage held, executors that were not there yet.

References
----------
[1] Graham, "Bounds for certain multiprocessing anomalies", 1966.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class LostTime(NamedTuple):
    """Seconds that a stage lasted, would have lasted with even tasks, and lost to uneven ones."""

    wall: float
    even: float
    lost: float


def lost_time(launched: NDArray[np.float64], finished: NDArray[np.float64], slots: int) -> LostTime:
    """Return what uneven tasks cost a stage.

    Parameters
    ----------
    launched, finished
        Seconds of each task that succeeded, on one clock; at least one task.
    slots
        Tasks that could run at a time; at least 1.

    Examples
    --------
    Four tasks on four slots, one of them long: the stage waits for it.

    >>> lost_time(np.zeros(4), np.array([1.0, 1, 1, 9]), slots=4)
    LostTime(wall=9.0, even=3.0, lost=6.0)

    On two slots, the long task last: the other slot is idle while it ends.

    >>> lost_time(np.array([0.0, 0, 1, 1]), np.array([1.0, 1, 2, 10]), slots=2)
    LostTime(wall=10.0, even=6.0, lost=4.0)

    Equal tasks that wait for a slot which another stage holds lose nothing:

    >>> lost_time(np.array([0.0, 5.0]), np.array([2.0, 7.0]), slots=2)
    LostTime(wall=7.0, even=2.0, lost=0.0)
    """
    times = finished - launched
    total, longest, n = float(times.sum()), float(times.max()), len(times)
    wall = float(finished.max() - launched.min())
    even = math.ceil(n / slots) * total / n
    explained = longest if n <= slots else total / slots + longest * (1 - 1 / slots)
    return LostTime(wall, even, max(0.0, min(wall, explained) - even))


def most_at_a_time(launched: NDArray[np.float64], finished: NDArray[np.float64]) -> int:
    """Return how many tasks ran at once, at most: the slots, where a log does not tell them.

    >>> most_at_a_time(np.array([0.0, 0, 1, 1]), np.array([1.0, 1, 2, 10]))
    2
    """
    times = np.concatenate([finished, launched])
    steps = np.repeat([-1, 1], len(launched))
    # Ends come first where times are equal: a slot that is freed is taken at once.
    order = np.lexsort((steps, times))
    return max(1, int(np.cumsum(steps[order]).max()))
