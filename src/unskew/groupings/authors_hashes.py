"""The hash functions of the partial-key authors' own programs, to reproduce their routes.

Both hash the key's UTF-8 text with Murmur3-128 (Guava) and reduce with Java's operators.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.hashing import Keys, byte_slices, hash_slices, to_arrow

FAMILIES = ("mixed", "storm", "simulator")
"""``mixed``: our own seeded family; the others are the authors' two programs."""

_SEEDS = {"storm": (13, 17), "simulator": (43, 47), "simulator-key": (13,)}


def authors_workers(keys: Keys, family: str, workers: int) -> NDArray[np.int64]:
    """Return the candidates of every key, one row per key, as the authors' programs compute them.

    >>> authors_workers(["1"], "storm", 100).tolist()
    [[22, 48]]
    """
    array = to_arrow(keys)
    if pa.types.is_integer(array.type):
        array = array.cast(pa.string())
    data, starts = byte_slices(array)
    columns = []
    for seed in _SEEDS[family]:
        bits = hash_slices(data, starts, np.uint64(seed)).view(np.int64)
        if family == "storm":
            columns.append(np.abs(bits) % workers)
        else:
            columns.append(np.abs(np.fmod(bits.astype(np.int32).astype(np.int64), workers)))
    return np.ascontiguousarray(np.stack(columns, axis=1))
