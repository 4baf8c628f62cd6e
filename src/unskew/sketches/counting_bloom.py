"""A counting Bloom filter: a set of keys in little memory that can also forget them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Key, Keys, derive_seeds, identities, mix

FULL = np.uint8(255)
"""A counter that gets here stays here: nobody knows any more how many keys share it."""

_ZERO = np.uint8(0)
_ONE = np.uint8(1)
_SMALLEST = 64


class CountingBloom:
    """Never deny a key that it holds; wrongly claim at most a small share of the others [1].

    Adding a key twice asks for removing it twice. A counter that reaches 255 stays there, so
    removals never make the filter deny a key that was added more often than removed.

    Parameters
    ----------
    capacity
        How many keys it holds at a time while `false_positive_rate` is kept, at least 1.
    false_positive_rate
        Share of absent keys that it may claim to hold, in (0, 1).
    seed
        Picks the hash function; equal seeds give equal filters in every process.

    Notes
    -----
    A key touches as few counters as the rate allows, in an array of at least twice the size that
    would be the smallest possible: the test of an absent key then nearly always ends at its first
    counter. All positions come from one 64-bit hash (double hashing with an odd step, hence
    distinct). Remove only what was added: a removal of an absent key that the filter wrongly
    claims takes counts away from others.

    Examples
    --------
    Whatever it holds it finds, and what was removed is gone:

    >>> hot = CountingBloom(1000, seed=1)
    >>> hot.add_many(range(1000))
    >>> bool(hot.contains_many(range(1000)).all())
    True
    >>> hot.remove(7)
    True
    >>> hot.contains(7), hot.contains(8)
    (False, True)

    Of a million absent keys it claims less than the promised share:

    >>> bool(hot.contains_many(range(1000, 1_001_000)).mean() < hot.false_positive_rate)
    True

    References
    ----------
    [1] Fan, Cao, Almeida, Broder, "Summary Cache: a Scalable Wide-Area Web Cache Sharing
    Protocol", 2000.
    """

    def __init__(self, capacity: int, *, false_positive_rate: float = 0.01, seed: int = 0) -> None:
        owner = type(self).__name__
        self.capacity = check_int(owner, "capacity", capacity, minimum=1)
        self.false_positive_rate = check_real(
            owner, "false_positive_rate", false_positive_rate, above=0, below=1
        )
        self.seed = check_int(owner, "seed", seed)
        self.counters, self.probes = new_counters(self.capacity, self.false_positive_rate)
        self._hash_seed = derive_seeds(self.seed, 1, purpose="counting-bloom")[0]

    def add(self, key: Key) -> None:
        """Take ``key`` in, once more if it is there already."""
        self.add_many([key])

    def add_many(self, keys: Keys) -> None:
        """Take every key in, in turn."""
        _add_many(self.counters, self.probes, identities(keys), self._hash_seed)

    def remove(self, key: Key) -> bool:
        """Undo one `add` of ``key``; return False, and do nothing, if it is surely absent."""
        return bool(_remove(self.counters, self.probes, identities([key]), self._hash_seed))

    def contains(self, key: Key) -> bool:
        """Return whether ``key`` may be held; False is certain."""
        return bool(self.contains_many([key])[0])

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Return for every key whether it may be held; False is certain."""
        ids = identities(keys)
        out = np.empty(ids.size, np.bool_)
        _contains_many(self.counters, self.probes, ids, self._hash_seed, out)
        return out

    def merge(self, other: "CountingBloom") -> None:
        """Take in all that ``other`` holds, as often as it was added there."""
        if not isinstance(other, CountingBloom) or other._parameters() != self._parameters():
            expected = f"a filter of the same parameters as {self!r}"
            raise InvalidParameterError(type(self).__name__, "other", expected, other)
        total = self.counters.astype(np.uint16) + other.counters
        np.minimum(total, FULL, out=self.counters, casting="unsafe")

    def _parameters(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity,
            "false_positive_rate": self.false_positive_rate,
            "seed": self.seed,
        }

    def __repr__(self) -> str:
        capacity, *rest = (f"{name}={value!r}" for name, value in self._parameters().items())
        return f"CountingBloom({', '.join([capacity.removeprefix('capacity='), *rest])})"


def new_counters(capacity: int, false_positive_rate: float) -> tuple[NDArray[np.uint8], int]:
    """Return counters for ``capacity`` keys, all zero, and how many of them a key touches.

    The well-known formula of the rate holds in the limit of large filters, therefore half of
    ``false_positive_rate`` is aimed at.
    """
    aim = false_positive_rate / 2
    fewest = -capacity * math.log(aim) / math.log(2) ** 2
    size = max(_SMALLEST, 1 << math.ceil(math.log2(2 * fewest)))
    probes = 1
    while (-math.expm1(-probes * capacity / size)) ** probes > aim:
        probes += 1
    return np.zeros(size, np.uint8), probes


@inlined
def contains_hash(counters: NDArray[np.uint8], probes: int, bits: np.uint64) -> bool:
    """Return whether the key with the hash ``bits`` may be held; ends at the first zero."""
    mask = np.uint64(counters.size - 1)
    step = (bits >> np.uint64(32)) | np.uint64(1)
    place = bits
    found = True
    for _ in range(probes):
        if counters[place & mask] == _ZERO:
            found = False
            break
        place += step
    return found


@compiled
def add_hash(counters: NDArray[np.uint8], probes: int, bits: np.uint64) -> None:
    """Count the key with the hash ``bits`` in."""
    mask = np.uint64(counters.size - 1)
    step = (bits >> np.uint64(32)) | np.uint64(1)
    place = bits
    for _ in range(probes):
        if counters[place & mask] != FULL:
            counters[place & mask] += _ONE
        place += step


@compiled
def remove_hash(counters: NDArray[np.uint8], probes: int, bits: np.uint64) -> None:
    """Count the key with the hash ``bits`` out; the caller knows that it is in."""
    mask = np.uint64(counters.size - 1)
    step = (bits >> np.uint64(32)) | np.uint64(1)
    place = bits
    for _ in range(probes):
        if counters[place & mask] != FULL:
            counters[place & mask] -= _ONE
        place += step


@compiled
def _add_many(counters: NDArray[np.uint8], probes: int, ids: Ids, seed: np.uint64) -> None:
    for i in range(ids.size):
        add_hash(counters, probes, mix(ids[i], seed))


@compiled
def _remove(counters: NDArray[np.uint8], probes: int, ids: Ids, seed: np.uint64) -> bool:
    bits = mix(ids[0], seed)
    present = contains_hash(counters, probes, bits)
    if present:
        remove_hash(counters, probes, bits)
    return present


@compiled
def _contains_many(
    counters: NDArray[np.uint8], probes: int, ids: Ids, seed: np.uint64, out: NDArray[np.bool_]
) -> None:
    for i in range(ids.size):
        out[i] = contains_hash(counters, probes, mix(ids[i], seed))
