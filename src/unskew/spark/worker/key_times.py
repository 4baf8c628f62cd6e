"""Time the calls of a step, key by key, for a driver that plans by busy time.

Imports nothing but NumPy and PyArrow.
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
    """A worker's calls: of all keys by hash slot, and of the most expensive keys."""

    ids: NDArray[np.uint64]
    key_seconds: NDArray[np.float32]
    slot_seconds: NDArray[np.float32]
    key_rows: NDArray[np.uint32]
    slot_rows: NDArray[np.uint32]

    def packed(self) -> bytes:
        """Return it as bytes: a few thousand, where a worker has few of the slots."""
        size = np.array([self.ids.size], "<i8")
        return zlib.compress(b"".join(part.tobytes() for part in (size, *self)))

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Return what was packed.

        >>> seconds, rows = np.array([3, 1], "f4"), np.array([5, 9], "u4")
        >>> times = WorkTimes(np.array([7], "u8"), seconds[:1], seconds, rows[:1], rows)
        >>> [part.tolist() for part in WorkTimes.unpacked(times.packed())]
        [[7], [3.0], [3.0, 1.0], [5], [5, 9]]
        """
        raw = zlib.decompress(packed)
        size = int(np.frombuffer(raw, "<i8", 1)[0])
        begin = 8 + 8 * size
        half = (len(raw) - begin) // 8  # seconds, and as many numbers of rows
        seconds = np.frombuffer(raw, "<f4", half, begin)
        rows = np.frombuffer(raw, "<u4", half, begin + 4 * half)
        ids = np.frombuffer(raw, "<u8", size, 8)
        return cls(ids, seconds[:size], seconds[size:], rows[:size], rows[size:])


class KeyTimes:
    """Time calls, each of which works on rows of one key.

    Beyond 200,000 keys the cheapest are no longer told apart; slots stay exact.

    Parameters
    ----------
    n_slots
        Hash slots of the plan.
    n_keys
        How many keys are reported to the driver.
    clock
        Seconds that never go back.

    Examples
    --------
    A key of the upper half of all hashes takes three seconds:

    >>> ticks = iter([0.0, 3.0])
    >>> times = KeyTimes(2, 8, clock=lambda: next(ticks))
    >>> times.call(-7, 100, len, "work")
    4
    >>> times.summary().slot_seconds.tolist(), times.summary().slot_rows.tolist()
    ([0.0, 3.0], [0, 100])
    """

    def __init__(self, n_slots: int, n_keys: int, *, clock: Clock = perf_counter) -> None:
        self._slots = [0.0] * n_slots
        self._slot_rows = [0] * n_slots
        self._n_keys = n_keys
        self._keys: dict[int, tuple[float, int]] = {}
        self._clock = clock

    def call(
        self, identity: int, rows: int, work: Callable[..., _Result], *arguments: object
    ) -> _Result:
        """Return what ``work`` makes of ``arguments``, and remember what so many rows took."""
        begin = self._clock()
        result = work(*arguments)
        seconds = max(self._clock() - begin, 0.0)
        upper = (identity >> 32) & 0xFFFFFFFF
        slot = upper * len(self._slots) >> 32  # as `slot_column` has it
        self._slots[slot] += seconds
        self._slot_rows[slot] += rows
        before = self._keys.get(identity, (0.0, 0))
        self._keys[identity] = before[0] + seconds, before[1] + rows
        if len(self._keys) > _MOST_KEYS:
            self._keys = dict(self._most_expensive(_KEYS_KEPT))
        return result

    def summary(self) -> WorkTimes:
        """Return the report for the driver."""
        most = self._most_expensive(self._n_keys)
        ids = np.array([identity for identity, _ in most], np.int64).view(np.uint64)
        seconds = np.array([seconds for _, (seconds, _) in most], np.float32)
        rows = np.array([rows for _, (_, rows) in most], np.uint32)
        slots = np.array(self._slots, np.float32), np.array(self._slot_rows, np.uint32)
        return WorkTimes(ids, seconds, slots[0], rows, slots[1])

    def _most_expensive(self, count: int) -> list[tuple[int, tuple[float, int]]]:
        return nlargest(count, self._keys.items(), key=lambda item: item[1][0])


class Timing(NamedTuple):
    """How a work step is to time its calls."""

    column: str
    """Holds the identity of each row's key; no function of the user sees it."""
    n_slots: int
    n_keys: int

    def start(self) -> KeyTimes:
        """Return what times one task."""
        return KeyTimes(self.n_slots, self.n_keys)
