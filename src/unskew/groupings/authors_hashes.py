"""The candidates of other programs for partial key grouping, to reproduce their routes.

The authors' two programs hash the key's UTF-8 text with Murmur3-128 (Guava) and reduce with Java's
operators. Apache Storm draws from ``java.util.Random``, with the hash of the text for its seed.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.hashing import Keys, byte_slices, hash_slices, to_arrow

FAMILIES = ("mixed", "storm", "simulator", "apache-storm")
"""``mixed``: our own seeded family; then the authors' two programs, and Apache Storm's."""

_SEEDS = {"storm": (13, 17), "simulator": (43, 47), "simulator-key": (13,)}


_MULTIPLIER = np.uint64(0x5DEECE66D)  # java.util.Random's
_INCREMENT = np.uint64(0xB)
_48_BITS = np.uint64((1 << 48) - 1)


def authors_workers(keys: Keys, family: str, workers: int) -> NDArray[np.int64]:
    """Return the candidates of every key, one row per key, as a program of theirs draws them.

    They may coincide; Apache Storm's are those before it makes them distinct.

    >>> authors_workers(["1"], "storm", 100).tolist()
    [[22, 48]]
    """
    array = to_arrow(keys)
    if pa.types.is_integer(array.type):
        array = array.cast(pa.string())
    data, starts = byte_slices(array)
    if family == "apache-storm":
        return _two_of_random(data, starts, workers)
    columns = []
    for seed in _SEEDS[family]:
        bits = hash_slices(data, starts, np.uint64(seed)).view(np.int64)
        if family == "storm":
            columns.append(np.abs(bits) % workers)
        else:
            columns.append(np.abs(np.fmod(bits.astype(np.int32).astype(np.int64), workers)))
    return np.ascontiguousarray(np.stack(columns, axis=1))


@compiled
def _two_of_random(
    data: NDArray[np.uint8], starts: NDArray[np.int64], workers: int
) -> NDArray[np.int64]:
    """Return two draws of ``new Random(Arrays.hashCode(bytes)).nextInt(workers)`` per slice."""
    out = np.empty((starts.size - 1, 2), np.int64)
    for i in range(out.shape[0]):
        code = np.int32(1)
        for at in range(starts[i], starts[i + 1]):
            code = np.int32(31 * code + np.int8(data[at]))
        state = (np.uint64(np.int64(code)) ^ _MULTIPLIER) & _48_BITS
        for c in range(2):
            state, out[i, c] = _next_int(state, workers)
    return out


@compiled
def _next_int(state: np.uint64, bound: int) -> tuple[np.uint64, np.int64]:
    """Return the next state of ``java.util.Random``, and its next number in 0 … bound − 1."""
    while True:
        state = (state * _MULTIPLIER + _INCREMENT) & _48_BITS
        bits = np.int64(state >> np.uint64(17))  # 31 of the 48
        if bound & (bound - 1) == 0:  # a power of two takes the high bits
            return state, (bound * bits) >> 31
        if bits - bits % bound + bound - 1 < 1 << 31:
            return state, bits % bound
