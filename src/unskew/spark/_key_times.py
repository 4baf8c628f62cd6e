"""What the calls of a work step take, key by key, for a driver that plans by busy time.

Runs inside Spark's Python workers: imports nothing but NumPy.
"""

import zlib
from collections.abc import Callable
from heapq import nlargest
from time import perf_counter
from typing import NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Clock: TypeAlias = Callable[[], float]

_MOST_KEYS, _KEYS_KEPT = 200_000, 50_000

_Result = TypeVar("_Result")


class WorkTimes(NamedTuple):
    """Seconds of a worker's calls: of all keys by hash slot, and of the most expensive keys."""

    ids: NDArray[np.uint64]
    key_seconds: NDArray[np.float32]
    slot_seconds: NDArray[np.float32]

    def packed(self) -> bytes:
        """Return it as bytes: a few thousand at most, since a worker has few of the slots."""
        parts = (np.array([self.ids.size], "<i8"), self.ids, self.key_seconds, self.slot_seconds)
        return zlib.compress(b"".join(part.tobytes() for part in parts))

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Return what was packed.

        >>> times = WorkTimes(np.array([7], "u8"), np.ones(1, "f4"), np.ones(2, "f4"))
        >>> WorkTimes.unpacked(times.packed()).slot_seconds.tolist()
        [1.0, 1.0]
        """
        raw = zlib.decompress(packed)
        size = int(np.frombuffer(raw, "<i8", 1)[0])
        seconds = np.frombuffer(raw, "<f4", offset=8 + 8 * size)
        return cls(np.frombuffer(raw, "<u8", size, 8), seconds[:size], seconds[size:])


class KeyTimes:
    """Time calls, each of which works on rows of one key.

    Beyond 200,000 keys the cheapest are no longer told apart; slots stay exact.

    Parameters
    ----------
    n_slots
        Hash slots of the plan.
    n_keys
        How many keys the driver is told of.
    clock
        Seconds that never go back.

    Examples
    --------
    A key of the upper half of all hashes takes three seconds:

    >>> ticks = iter([0.0, 3.0])
    >>> times = KeyTimes(2, 8, clock=lambda: next(ticks))
    >>> times.call(-7, len, "work")
    4
    >>> times.summary().slot_seconds.tolist()
    [0.0, 3.0]
    """

    def __init__(self, n_slots: int, n_keys: int, *, clock: Clock = perf_counter) -> None:
        self._slots = [0.0] * n_slots
        self._n_keys = n_keys
        self._seconds: dict[int, float] = {}
        self._clock = clock

    def call(self, identity: int, work: Callable[..., _Result], *arguments: object) -> _Result:
        """Return what ``work`` makes of ``arguments``, and remember what that took."""
        begin = self._clock()
        result = work(*arguments)
        seconds = max(self._clock() - begin, 0.0)
        upper = (identity >> 32) & 0xFFFFFFFF
        self._slots[upper * len(self._slots) >> 32] += seconds  # as `slot_column` has it
        self._seconds[identity] = self._seconds.get(identity, 0.0) + seconds
        if len(self._seconds) > _MOST_KEYS:
            self._seconds = dict(self._most_expensive(_KEYS_KEPT))
        return result

    def summary(self) -> WorkTimes:
        """Return what the driver is told."""
        most = self._most_expensive(self._n_keys)
        ids = np.array([identity for identity, _ in most], np.int64).view(np.uint64)
        seconds = np.array([seconds for _, seconds in most], np.float32)
        return WorkTimes(ids, seconds, np.array(self._slots, np.float32))

    def _most_expensive(self, count: int) -> list[tuple[int, float]]:
        return nlargest(count, self._seconds.items(), key=lambda item: item[1])


class Timing(NamedTuple):
    """How a work step is to time its calls."""

    column: str
    """Holds the identity of each row's key; no function of the user sees it."""
    n_slots: int
    n_keys: int

    def start(self) -> KeyTimes:
        """Return what times one task."""
        return KeyTimes(self.n_slots, self.n_keys)
