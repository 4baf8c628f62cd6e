"""Decayed seconds per row, by key and by hash slot: weights for the rows that follow."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.plan import HASHED_MEMBER, slots_of
from unskew.hashing import Ids
from unskew.scheduling import sums_of
from unskew.spark.worker.cost_messages import DamagedMessageError, pack, unpack
from unskew.spark.worker.key_times import WorkTimes
from unskew.spark.worker.live_files import LiveLines

N_SLOTS = 256
"""Hash slots: any worker may have keys of all of them, and each reports its part of them."""

MOST_KEYS = 4096
"""Keys that are told apart; all others are known by their slots."""

LOWEST = 1e-6
"""Rows that weigh nothing would all go to one worker."""

_DECAY = 0.5
_FEWEST_ROWS = 1e-3  # a key that had no row for so long is known by its slot again
_NO_REST = 1e-6  # what rounding leaves of a slot when all its keys are taken out

Numbers = NDArray[np.float64]


class RowWeights(NamedTuple):
    """What a row weighs: by key where that is known, else by slot; 1 is the mean of all rows.

    A group of rows may weigh something besides.
    """

    ids: Ids
    """In their order."""
    key_weights: Numbers
    slot_weights: Numbers
    per_group: float = 0.0
    """What a group weighs, whatever its rows."""

    def of_sample(self, ids: Ids, share: float) -> Numbers:
        """Return what each row of a sample stands for: its part of its group is in it.

        Parameters
        ----------
        ids
            The keys of the rows.
        share
            Which part of all rows the sample is.

        Examples
        --------
        Of half of the rows three are of one key and one is of another. A group weighs six rows:

        >>> none = np.zeros(0)
        >>> weights = RowWeights(np.zeros(0, np.uint64), none, np.ones(1), per_group=6.0)
        >>> weights.of_sample(np.array([7, 7, 7, 8], np.uint64), 0.5).tolist()
        [2.0, 2.0, 2.0, 4.0]
        """
        found = self.weights(ids)
        if self.per_group:
            _, at, counts = np.unique(ids, return_inverse=True, return_counts=True)
            found = found + self.per_group * share / counts[at]
        return found

    def weights(self, ids: Ids) -> Numbers:
        """Return the weight of a row of each key."""
        found = self.slot_weights[slots_of(ids, HASHED_MEMBER, self.slot_weights.size)]
        if self.ids.size:
            at = np.minimum(np.searchsorted(self.ids, ids), self.ids.size - 1)
            is_known = self.ids[at] == ids
            found[is_known] = self.key_weights[at[is_known]]
        return found


class RowCosts(NamedTuple):
    """Rows and seconds of all slots, and of the keys that took most; bounded in size.

    Each micro-batch counts half as much as the one after it.

    Examples
    --------
    Two keys in one slot. A row of the first takes 9 s, one of the other 1 s:

    >>> ids = np.array([5, 6, 7], np.uint64)
    >>> seconds, rows = np.array([90, 0, 100], "f4"), np.array([10, 0, 20], "u4")
    >>> times = WorkTimes(ids[:1], seconds[:1], seconds[2:], rows[:1], rows[2:])
    >>> pooled = RowCosts.nothing(1).after([times])
    >>> pooled.row_weights().weights(ids).tolist()
    [1.8, 0.2, 0.2]
    """

    version: int
    """How many micro-batches it was learned from."""
    ids: Ids
    """The keys, in the order of their identities."""
    key_rows: Numbers
    key_seconds: Numbers
    slot_rows: Numbers
    slot_seconds: Numbers

    @classmethod
    def measured(cls, ids: Ids, rows: NDArray[np.int64], seconds: Numbers) -> "RowCosts":
        """Return what a sample has shown: rows of keys, which may repeat, and their seconds.

        >>> ids = np.array([7, 8, 1 << 63], np.uint64)
        >>> costs = RowCosts.measured(ids[:2], np.array([10, 90]), np.array([5.0, 5.0]))
        >>> costs.row_weights().weights(ids).round(2).tolist()
        [5.0, 0.56, 1.0]
        """
        slots = slots_of(ids, HASHED_MEMBER, N_SLOTS)
        slot_rows = sums_of(rows.astype(np.float64), slots, N_SLOTS)
        slot_seconds = sums_of(seconds, slots, N_SLOTS)
        times = WorkTimes(
            ids,
            seconds.astype(np.float32),
            slot_seconds.astype(np.float32),
            rows.astype(np.uint32),
            slot_rows.astype(np.uint32),
        )
        return cls.nothing(N_SLOTS).after([times])

    @classmethod
    def nothing(cls, n_slots: int) -> Self:
        """Return what is known before anything was measured."""
        no_keys, no_slots = np.zeros(0), np.zeros(n_slots)
        return cls(0, np.zeros(0, np.uint64), no_keys, no_keys, no_slots, no_slots)

    def after(self, reported: Sequence[WorkTimes]) -> "RowCosts":
        """Return what is known after a micro-batch in which workers have ``reported`` this."""
        ids, at = np.unique(
            np.concatenate([self.ids, *(one.ids for one in reported)]), return_inverse=True
        )
        rows = _and_half(self.key_rows, [one.key_rows for one in reported])
        seconds = _and_half(self.key_seconds, [one.key_seconds for one in reported])
        key_rows = sums_of(np.concatenate(rows), at, ids.size)
        key_seconds = sums_of(np.concatenate(seconds), at, ids.size)
        kept = _dearest(key_rows, key_seconds)
        return RowCosts(
            self.version + 1,
            ids[kept],
            key_rows[kept],
            key_seconds[kept],
            np.sum(_and_half(self.slot_rows, [one.slot_rows for one in reported]), axis=0),
            np.sum(_and_half(self.slot_seconds, [one.slot_seconds for one in reported]), axis=0),
        )

    def row_weights(self) -> RowWeights:
        """Return what rows weigh; all 1 where nothing was measured.

        A slot stands for those of its keys that are not told apart. One without such rows, which
        were never met, weighs what the mean row does.
        """
        n_slots = self.slot_rows.size
        if not self.slot_seconds.any():
            return RowWeights(np.zeros(0, np.uint64), np.zeros(0), np.ones(n_slots))
        mean = self.slot_seconds.sum() / self.slot_rows.sum()
        slots = slots_of(self.ids, HASHED_MEMBER, n_slots)
        rows = self.slot_rows - sums_of(self.key_rows, slots, n_slots)
        seconds = self.slot_seconds - sums_of(self.key_seconds, slots, n_slots)
        has_rows = rows > _NO_REST * self.slot_rows
        by_slot = np.divide(seconds, rows, out=np.full(n_slots, mean), where=has_rows)
        by_key = self.key_seconds / self.key_rows
        return RowWeights(self.ids, *(np.maximum(one / mean, LOWEST) for one in (by_key, by_slot)))

    def to_bytes(self) -> bytes:
        """Return the bytes that `row_costs_from` reads."""
        return pack({name: np.asarray(value) for name, value in self._asdict().items()})


def row_costs_from(data: bytes, n_slots: int) -> RowCosts:
    """Return what `RowCosts.to_bytes` was made of, or raise `DamagedMessageError`."""
    arrays: dict[str, Any] = unpack(data)
    try:
        pooled = RowCosts(**{**arrays, "version": int(arrays["version"])})
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedMessageError("a message of another kind") from error
    if pooled.slot_rows.shape != (n_slots,):
        raise DamagedMessageError(f"not of {n_slots} slots")
    return pooled


def as_line(pooled: RowCosts) -> str:
    """Return the line of a file that `from_lines` reads."""
    return b64encode(pooled.to_bytes()).decode()


def from_lines(lines: Sequence[str] | None, n_slots: int) -> RowCosts | None:
    """Return what was learned, out of the lines of a file; None where they are not of this kind."""
    try:
        return None if not lines else row_costs_from(b64decode(lines[0]), n_slots)
    except (DamagedMessageError, ValueError):
        return None


def _and_half(before: Numbers, reported: list[NDArray[Any]]) -> list[NDArray[Any]]:
    return [_DECAY * before, *reported]


def _dearest(rows: Numbers, seconds: Numbers) -> NDArray[np.int64]:
    """Return the places, in their order, of the keys to be told apart from now on."""
    alive = np.flatnonzero(rows > _FEWEST_ROWS)
    most = np.argsort(-seconds[alive], kind="stable")[:MOST_KEYS]
    return np.sort(alive[most])


class WeightsFolder:
    """Read what rows weigh from the live file of a stream.

    Parameters
    ----------
    pair
        Its one line is what was learned.
    n_slots
        Hash slots that are kept.
    """

    def __init__(self, pair: LiveLines, n_slots: int) -> None:
        self._pair, self._n_slots = pair, n_slots

    def read(self) -> RowCosts | None:
        """Return what is known now, None if no file is whole: then all rows weigh the same."""
        return from_lines(self._pair.read(), self._n_slots)
