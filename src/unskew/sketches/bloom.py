"""A Bloom filter: a set of keys that only grows, in memory that never does."""

import math
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.hashing import Ids, Key, Keys, derive_seeds, identities, mix

_ONE = np.uint64(1)
_NEXT = np.uint64(0x9E3779B97F4A7C15)
_WORD = np.uint64(6)  # 2⁶ bits per word
_IN_WORD = np.uint64(63)


class Bloom:
    """Never deny a key that was added; wrongly claim at most a small share of the others [1].

    Parameters
    ----------
    capacity
        How many keys may be added while ``false_positive_rate`` is kept, at least 1. Further ones
        are never denied either, but more and more others are wrongly claimed.
    false_positive_rate
        Share of absent keys that may be claimed, in (0, 1). Memory is about
        1.5 · log2(2 / rate) to 3 · log2(2 / rate) bits per key of the capacity.
    seed
        Picks the hash function; equal seeds give equal filters in every process.

    Notes
    -----
    A compiled loop of its own takes ``add_hash(words, probes, mix(key_id, hash_seed))`` and
    ``contains_hash`` with the attributes of those names.

    Examples
    --------
    Whatever was added is found, and of the others hardly any is claimed:

    >>> seen = Bloom(1000, seed=1)
    >>> seen.add_many(range(1000))
    >>> bool(seen.contains_many(range(1000)).all())
    True
    >>> bool(seen.contains_many(range(1000, 1_001_000)).mean() <= seen.false_positive_rate)
    True

    References
    ----------
    [1] Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", 1970.
    """

    def __init__(self, capacity: int, *, false_positive_rate: float = 0.01, seed: int = 0) -> None:
        self.capacity = check_int("Bloom", "capacity", capacity, minimum=1)
        self.false_positive_rate = check_real(
            "Bloom", "false_positive_rate", false_positive_rate, above=0, below=1
        )
        self.seed = check_int("Bloom", "seed", seed)
        # The formula of the rate holds for large filters only; aim at half to be safe in small.
        probes_wanted = math.log2(2 / self.false_positive_rate)
        size = 1 << max(6, math.ceil(math.log2(self.capacity * probes_wanted / math.log(2))))
        self.words = np.zeros(size >> 6, np.uint64)
        self.probes = max(1, math.ceil(probes_wanted))
        self.hash_seed = derive_seeds(self.seed, 1, purpose="bloom")[0]

    def add(self, key: Key) -> None:
        """Take ``key`` in."""
        self.add_many([key])

    def add_many(self, keys: Keys) -> None:
        """Take every key in."""
        _add_many(self.words, self.probes, identities(keys), self.hash_seed)

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Return for every key whether it may have been added; False is certain."""
        ids = identities(keys)
        out = np.empty(ids.size, np.bool_)
        _contains_many(self.words, self.probes, ids, self.hash_seed, out)
        return out

    def merge(self, other: Self) -> None:
        """Take in all that was added to ``other``."""
        if repr(other) != repr(self):
            expected = f"a filter of the same parameters as {self!r}"
            raise InvalidParameterError("Bloom.merge", "other", expected, other)
        self.words |= other.words

    def __contains__(self, key: Key) -> bool:
        return bool(self.contains_many([key])[0])

    def __repr__(self) -> str:
        rate = f"false_positive_rate={self.false_positive_rate}"
        return f"Bloom({self.capacity}, {rate}, seed={self.seed})"


@compiled
def add_hash(words: NDArray[np.uint64], probes: int, bits: np.uint64) -> None:
    """Take in the key whose hash is ``bits``."""
    mask = (np.uint64(words.size) << _WORD) - _ONE
    for _ in range(probes):
        place = bits & mask
        words[place >> _WORD] |= _ONE << (place & _IN_WORD)
        bits = mix(bits, _NEXT)


@compiled
def contains_hash(words: NDArray[np.uint64], probes: int, bits: np.uint64) -> bool:
    """Return whether the key whose hash is ``bits`` may have been added; False is certain."""
    mask = (np.uint64(words.size) << _WORD) - _ONE
    for _ in range(probes):
        place = bits & mask
        if (words[place >> _WORD] >> (place & _IN_WORD)) & _ONE == np.uint64(0):
            return False
        bits = mix(bits, _NEXT)
    return True


@compiled
def _add_many(words: NDArray[np.uint64], probes: int, ids: Ids, seed: np.uint64) -> None:
    for i in range(ids.size):
        add_hash(words, probes, mix(ids[i], seed))


@compiled
def _contains_many(
    words: NDArray[np.uint64], probes: int, ids: Ids, seed: np.uint64, out: NDArray[np.bool_]
) -> None:
    for i in range(ids.size):
        out[i] = contains_hash(words, probes, mix(ids[i], seed))
