"""Hash cells: what comes to each stretch of the hash space, from how many keys."""

import copy

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int
from unskew.hashing import Ids, mix, universal

_Floats = NDArray[np.float64]

_ONE = np.uint64(1)
_MARKS = 64  # a cell: the bits of a word
_MARK_SEED = np.uint64(0xA0761D6478BD642F)
_TO_MARK = np.uint64(58)  # the leading six bits of a hash
_PAIRS = np.uint64(0x5555555555555555)  # to count set bits in pairs, fours and eights at once
_FOURS = np.uint64(0x3333333333333333)
_EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
_SUM_OF_BYTES = np.uint64(0x0101010101010101)  # leaves it in the highest byte


class HashCells:
    """Count rows by hash cell, and roughly the distinct keys of each, in fixed memory.

    A key sets one of 64 marks of its cell, and how many are set tells how many keys there were
    (linear counting [1]): exactly one for one key, and from then on with a deviation of at most
    0.8 keys up to 10, and of a tenth of them up to 100. The key of more than half of a cell's load
    is found by majority vote [2].

    Parameters
    ----------
    n_cells
        Number of cells, at least 1. Memory is 40 bytes per cell and never grows.
    member
        The member of the 2-universal family (`hashing.universal`) that maps an identity to its
        cell. Cells of a number n are stretches of those of any divisor of n.

    Examples
    --------
    >>> cells = HashCells(4, np.array([0, 1 << 32, 0], np.uint64))  # by the upper half of the bits
    >>> cells.update_many(np.array([1, 1, 1, 2, 1 << 63], np.uint64), np.empty(0))
    >>> cells.loads.tolist(), cells.keys().round(1).tolist()
    ([4.0, 0.0, 1.0, 0.0], [2.0, 0.0, 1.0, 0.0])
    >>> ids, places, loads = cells.main_keys()
    >>> ids.tolist(), places.tolist(), loads.tolist()
    ([1, 9223372036854775808], [0, 2], [3.0, 1.0])

    References
    ----------
    [1] Whang, Vander-Zanden, Taylor, "A Linear-Time Probabilistic Counting Algorithm for Database
        Applications", 1990.
    [2] Boyer, Moore, "MJRTY: A Fast Majority Vote Algorithm", 1991.
    """

    def __init__(self, n_cells: int, member: Ids) -> None:
        n_cells = check_int("HashCells", "n_cells", n_cells, minimum=1)
        self.member = member
        self.loads: _Floats = np.zeros(n_cells)
        self._marks: Ids = np.zeros((n_cells, 2), np.uint64)  # set once; set again
        self._leaders: Ids = np.zeros(n_cells, np.uint64)
        self._votes: _Floats = np.zeros(n_cells)

    def update_many(self, ids: Ids, weights: _Floats) -> None:
        """Count a row of every key; empty ``weights`` mean that all are 1."""
        _count(ids, weights, self.member, self.loads, self._marks, self._leaders, self._votes)

    def keys(self) -> _Floats:
        """Return about how many keys each cell has seen since the last `fade`."""
        return _KEYS[_set_bits(self._marks[:, 0])]

    def keys_seen_once(self) -> _Floats:
        """Return by how much `keys` would fall, in sum, if each row in turn had not been there."""
        once = _set_bits(self._marks[:, 0] & ~self._marks[:, 1])
        fallen: _Floats = once * _FALLS[_set_bits(self._marks[:, 0])]
        return fallen

    def main_keys(self) -> tuple[Ids, NDArray[np.int64], _Floats]:
        """Return keys that have most of a cell's load, these cells, and the most it can be.

        Exact where a cell has one key; with v the votes that are left and n the cell's load, the
        load of its main key is between v and (n + v) / 2.
        """
        cells = np.flatnonzero((self._votes > 0) & (self._votes >= 0.5 * self.loads))
        return self._leaders[cells], cells, 0.5 * (self.loads[cells] + self._votes[cells])

    def fade(self, factor: float) -> None:
        """Multiply loads by ``factor``; if that is below 1, count keys again."""
        self.loads *= factor
        self._votes *= factor
        if factor < 1:
            self._marks[:] = 0

    def copy(self) -> "HashCells":
        """Return a sketch in the same state that goes its own way from here."""
        return copy.deepcopy(self)


def _keys_for(marks: NDArray[np.integer]) -> _Floats:
    """Return how many keys set so many marks on average; a full cell counts as almost full."""
    part_free = 1.0 - np.minimum(marks, _MARKS - 0.5) / _MARKS
    keys: _Floats = np.abs(np.log(part_free) / np.log1p(-1.0 / _MARKS))  # and not −0
    return keys


_KEYS = _keys_for(np.arange(_MARKS + 1))
_FALLS = np.diff(_KEYS, prepend=0.0)  # with a mark less


@compiled
def _set_bits(words: Ids) -> NDArray[np.int64]:
    """Return how many bits of each word are set (``np.bitwise_count``, NumPy 2.0).

    >>> _set_bits(np.array([0, 7, 2**64 - 1], np.uint64)).tolist()
    [0, 3, 64]
    """
    counts = np.empty(words.size, np.int64)
    for i in range(words.size):
        bits = words[i]
        bits -= (bits >> _ONE) & _PAIRS
        bits = (bits & _FOURS) + ((bits >> np.uint64(2)) & _FOURS)
        bits = (bits + (bits >> np.uint64(4))) & _EIGHTS
        counts[i] = (bits * _SUM_OF_BYTES) >> np.uint64(56)
    return counts


@compiled
def _count(
    ids: Ids,
    weights: _Floats,
    member: Ids,
    loads: _Floats,
    marks: Ids,
    leaders: Ids,
    votes: _Floats,
) -> None:
    n_cells = np.uint64(loads.size)
    for i in range(ids.size):
        cell = universal(ids[i], member, n_cells)
        weight = weights[i] if weights.size else 1.0
        loads[cell] += weight
        mark = _ONE << (mix(ids[i], _MARK_SEED) >> _TO_MARK)
        marks[cell, 1] |= marks[cell, 0] & mark
        marks[cell, 0] |= mark
        if leaders[cell] == ids[i]:
            votes[cell] += weight
        elif votes[cell] >= weight:
            votes[cell] -= weight
        else:
            votes[cell] = weight - votes[cell]
            leaders[cell] = ids[i]
