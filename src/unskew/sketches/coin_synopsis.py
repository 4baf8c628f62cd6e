"""The predictor of hot keys by coin flips: most rows cost a comparison, and old fame fades."""

import math
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._table import ABSENT, get
from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Key, Keys, derive_seeds, identities
from unskew.sketches._coin_vectors import (
    EVENTS,
    FORCED,
    NEXT_ROW,
    ROW,
    SIZE,
    Census,
    Vectors,
    flip_and_update,
    further_heads,
    merge_vectors,
    new_vectors,
    next_reaching,
    take_census,
    with_rates,
)

LEAST_DECLINE = 1e-9
"""Slower fading than this would need more memory than any machine has."""

_MOST_BITS = 32


class CoinEvent(NamedTuple):
    """A key that became hot (``append``) or is hot no more (``delete``)."""

    key_id: int
    kind: Literal["append", "delete"]


class CoinSynopsis:
    """Tell which keys are hot *now*, from a 2⁻ʳ share of the rows and in bounded memory [1].

    A coin is flipped for every row until the first tail, at most r + l times. The t-th flip being
    the last and t > r, bit t − r − 1 of the key's vector of l bits is set. After each such update
    every vector is shifted right with probability p: a key is *hot* while its vector has at least
    two ones and is forgotten when it has none.

    Parameters
    ----------
    threshold_bits
        r: heads that a row needs in a row to count at all, 0 … 32.
    vector_bits
        l: bits of a vector, 2 … 32.
    decline
        p: probability of a shift, in [1e-9, 1). With 0 nothing fades and ``capacity`` is required.
    capacity
        Most keys it ever holds; 4/p + 16 by default. When it is full, a new key takes the place
        of the key whose vector is the smallest number (the nearest to being forgotten).
    seed
        Picks the coin flips; equal seeds give equal flips in every process.

    Notes
    -----
    *Recall.* The paper bounds the probability that at least two rows of a key exceed r (Theorem 1,
    Table 1: 90.85 % for a key that comes 4·2ʳ times, 99.70 % for 8·2ʳ times). The vector asks for
    more: two rows that *differ* in t. Its recall misses that table: 81.3, 89.2, 93.7, 96.4 and
    97.9 % for 4, 5, 6, 7 and 8 times 2ʳ rows (r = 7, l = 16, no decline), against 90.85, 95.96,
    98.26, 99.27 and 99.70 %. For the same reason false positives stay well below Table 2's bounds.

    *Memory.* Theorem 4 says that fewer than 1/p keys are held. On a stream of keys that never
    come back a vector lives 2/p updates in the mean, so about 2/p keys are held; the default
    capacity is twice that, and ``forced_evictions`` counts how often it did not suffice.

    Examples
    --------
    A key that makes up a third of the stream is found, and forgotten when it stays away:

    >>> synopsis = CoinSynopsis.for_frequency(0.1, seed=1)
    >>> events = synopsis.update_many([7, *range(100, 102)] * 2000)
    >>> synopsis.is_hot(7)
    True
    >>> events = synopsis.update_many(range(1000, 21_000))
    >>> synopsis.is_hot(7), len(synopsis) <= synopsis.capacity
    (False, True)

    References
    ----------
    [1] Chen, Zhang, Jin, "PStream: a Popularity-aware Differentiated Distributed Stream Processing
    System", sections 3.2 to 4.3.
    """

    def __init__(
        self,
        *,
        threshold_bits: int = 6,
        vector_bits: int = 16,
        decline: float = 0.01,
        capacity: int | None = None,
        seed: int = 0,
    ) -> None:
        owner = type(self).__name__
        self.threshold_bits = check_int(
            owner, "threshold_bits", threshold_bits, minimum=0, maximum=_MOST_BITS
        )
        self.vector_bits = check_int(
            owner, "vector_bits", vector_bits, minimum=2, maximum=_MOST_BITS
        )
        self.decline = check_real(owner, "decline", decline, minimum=0, below=1)
        if self.decline:
            check_real(owner, "decline", decline, minimum=LEAST_DECLINE, below=1, hint="or 0")
        self.capacity = check_int(
            owner,
            "capacity",
            capacity_for(self.decline) if capacity is None and self.decline else capacity,
            minimum=1,
            hint=None if self.decline else "without decline nothing else bounds the memory",
        )
        self.seed = check_int(owner, "seed", seed)
        seeds = derive_seeds(self.seed, 2, purpose="coin-synopsis")
        self.state: Vectors = new_vectors(
            self.capacity, self.threshold_bits, self.vector_bits, self.decline, seeds
        )

    @classmethod
    def for_frequency(
        cls,
        frequency: float,
        *,
        vector_bits: int = 16,
        capacity: int | None = None,
        seed: int = 0,
    ) -> Self:
        """Return a synopsis for keys that make up at least a ``frequency`` share of the rows."""
        threshold_bits, decline = rates_for(frequency)
        return cls(
            threshold_bits=threshold_bits,
            vector_bits=vector_bits,
            decline=decline,
            capacity=capacity,
            seed=seed,
        )

    def update(self, key: Key) -> list[CoinEvent]:
        """Watch one row; return which keys became hot or ceased to be, in order."""
        return self.update_many([key])

    def update_many(self, keys: Keys) -> list[CoinEvent]:
        """Watch rows; return which keys became hot or ceased to be, in order."""
        ids = identities(keys)
        events: list[CoinEvent] = []
        done = 0
        while done < ids.size:
            done = _watch(self.state, ids, done)
            events.extend(self._last_events())
        return events

    def set_rates(self, threshold_bits: int, decline: float) -> None:
        """Go on with another coin and another decline; the capacity stays as it is."""
        self.threshold_bits, self.decline = threshold_bits, decline
        self.state = with_rates(self.state, threshold_bits, decline)

    def take_census(self) -> Census:
        """Return what was recorded since the last census, and start the next interval."""
        return take_census(self.state)

    def is_hot(self, key: Key) -> bool:
        """Return whether the key's vector has at least two ones."""
        return bool(self.vector(key).bit_count() >= 2)

    def vector(self, key: Key) -> int:
        """Return the key's vector as a number, 0 if the key is not held."""
        return int(_vector_of(self.state, identities([key])))

    def hot_ids(self) -> Ids:
        """Return the identities of all hot keys, in rising order."""
        held = self.state.vectors[: len(self)]
        return np.sort(self.state.ids[: len(self)][held & (held - np.uint64(1)) != 0])

    @property
    def rows(self) -> int:
        """How many rows it has watched."""
        return int(self.state.cells[ROW])

    @property
    def forced_evictions(self) -> int:
        """How many keys had to go because ``capacity`` was reached."""
        return int(self.state.cells[FORCED])

    def merge(self, other: "CoinSynopsis") -> list[CoinEvent]:
        """Unite the vectors bit by bit with those of ``other``; return what became hot or ceased.

        The coin goes on where it was: rows that ``other`` has watched do not count as rows here.
        """
        if not isinstance(other, CoinSynopsis) or other.vector_bits != self.vector_bits:
            expected = f"a synopsis with vector_bits={self.vector_bits}"
            raise InvalidParameterError(type(self).__name__, "other", expected, other)
        events: list[CoinEvent] = []
        theirs = (array[: len(other)].copy() for array in (other.state.ids, other.state.vectors))
        for key_id, vector in zip(*theirs, strict=True):
            merge_vectors(self.state, key_id, vector)
            events.extend(self._last_events())
        return events

    def _last_events(self) -> list[CoinEvent]:
        count = int(self.state.cells[EVENTS])
        ids, hot = self.state.event_ids[:count].tolist(), self.state.event_hot[:count].tolist()
        return [
            CoinEvent(key_id, "append" if is_now_hot else "delete")
            for key_id, is_now_hot in zip(ids, hot, strict=True)
        ]

    def __len__(self) -> int:
        return int(self.state.cells[SIZE])

    def __repr__(self) -> str:
        return (
            f"CoinSynopsis(threshold_bits={self.threshold_bits}, vector_bits={self.vector_bits}, "
            f"decline={self.decline!r}, capacity={self.capacity}, seed={self.seed})"
        )


def rates_for(frequency: float) -> tuple[int, float]:
    """Return the heads that a row needs and the decline for a frequency threshold f.

    p = f/2 and r = log₂(1/p), rounded (sections 4.3 and 4.4 of the paper).

    >>> rates_for(0.02)
    (7, 0.01)
    """
    frequency = check_real(
        "rates_for", "frequency", frequency, minimum=2 * LEAST_DECLINE, maximum=1
    )
    decline = frequency / 2
    return min(_MOST_BITS, round(math.log2(1 / decline))), decline


def capacity_for(decline: float) -> int:
    """Return room for twice the keys that the synopsis holds where no key ever comes back."""
    return math.ceil(4 / decline) + 16


def flip_many(
    rows: int, *, threshold_bits: int, vector_bits: int = 16, seed: int = 0
) -> NDArray[np.int64]:
    """Return for each of the first ``rows`` rows the bit that it sets, −1 if it sets none.

    These are the flips of a `CoinSynopsis` of the same parameters:

    >>> bits = flip_many(80_000, threshold_bits=3)
    >>> bool(abs((bits >= 0).mean() - 1 / 8) < 0.005)
    True
    """
    out = np.full(rows, -1, np.int64)
    _flip_many(threshold_bits, vector_bits, derive_seeds(seed, 2, purpose="coin-synopsis")[0], out)
    return out


@compiled
def _flip_many(threshold: int, width: int, seed: np.uint64, out: NDArray[np.int64]) -> None:
    row = next_reaching(0, threshold, seed)
    while row < out.size:
        out[row] = further_heads(row, threshold, width, seed)
        row = next_reaching(row + 1, threshold, seed)


@compiled
def _watch(state: Vectors, ids: Ids, start: int) -> int:
    """Watch rows up to the first update that has events; return how many rows are done."""
    cells = state.cells
    cells[EVENTS] = 0
    done = start
    while cells[EVENTS] == 0 and done < ids.size:
        wait = cells[NEXT_ROW] - cells[ROW]
        if wait >= ids.size - done:
            cells[ROW] += ids.size - done
            return ids.size
        done += wait
        flip_and_update(state, ids[done])
        done += 1
    return done


@compiled
def _vector_of(state: Vectors, ids: Ids) -> np.uint64:
    slot = get(state.table, ids[0])
    return np.uint64(0) if slot == ABSENT else state.vectors[slot]
