"""Stop a user's function that does not come back.

Runs inside Spark's Python workers: imports nothing but the errors.
"""

import signal
from types import FrameType, TracebackType
from typing import Self

from unskew.errors import UnskewError


class RowTimeout(BaseException):
    """Raised inside a function that has run too long.

    Not an `Exception`: a function that tries again after every exception must not catch it.
    """


class TimeLimit:
    """Within the ``with`` block, raise `RowTimeout` when a time is over that `start` set.

    Parameters
    ----------
    seconds
        The time for one row; None for no limit, then nothing is done at all.

    Notes
    -----
    The operating system's alarm interrupts Python and what waits (sleep, sockets, files). A call
    into a library that computes without looking back is interrupted when it returns.

    Examples
    --------
    >>> import time
    >>> with TimeLimit(0.01) as limit:
    ...     limit.start(2)
    ...     time.sleep(10)
    Traceback (most recent call last):
    unskew.spark._row_timeout.RowTimeout
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    def __enter__(self) -> Self:
        if self._seconds is not None:
            try:
                self._before = signal.signal(signal.SIGALRM, _raise)
            except (AttributeError, ValueError) as error:
                raise UnskewError(
                    "row_timeout needs the operating system's alarm, which this Python has not, "
                    f"or not outside its main thread: {error}."
                ) from error
        return self

    def start(self, rows: int = 1) -> None:
        """Give the function the time for so many rows from now on."""
        if self._seconds is not None:
            # Rings again after as long: Python loses what is raised while it frees an object.
            signal.setitimer(signal.ITIMER_REAL, self._seconds * rows, self._seconds * rows)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, self._before)


def _raise(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 (a handler gets both)
    raise RowTimeout
