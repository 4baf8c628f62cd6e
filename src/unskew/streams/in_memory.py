"""Streams of keys that are in memory already."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from unskew._validation import check_weights
from unskew.hashing import Keys, identities, murmur3_128
from unskew.streams.base import Batch, Stream, write_spec


def from_keys(keys: Keys, costs: ArrayLike | None = None) -> "InMemoryStream":
    """Make a stream of the keys given, in their order.

    Parameters
    ----------
    keys
        Integers, text or bytes; an Arrow or NumPy array or any sequence.
    costs
        Execution time of each row in milliseconds, finite and at least 0.

    Examples
    --------
    >>> stream = from_keys(["a", "b", "a"])
    >>> stream.rows, [len(batch.keys) for batch in stream.batches(2)]
    (3, [2, 1])
    """
    kept = _copied(keys)
    checked = None if costs is None else check_weights("from_keys", "costs", costs, len(kept))
    return InMemoryStream(kept, None if checked is None else checked.copy(), len(kept))


def _copied(keys: Keys) -> NDArray[np.uint64] | pa.Array:
    """Return keys that the caller can no longer change, all of them fit for routing."""
    if not isinstance(keys, np.ndarray | pa.Array | pa.ChunkedArray | str | bytes):
        keys = list(keys)
    ids = identities(keys)
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iu":
        return ids.copy()
    if isinstance(keys, np.ndarray):
        keys = keys.tolist()
    if isinstance(keys, pa.ChunkedArray):
        return keys.combine_chunks()
    return keys if isinstance(keys, pa.Array) else pa.array(keys)


@dataclass(frozen=True, eq=False)
class InMemoryStream(Stream):
    """What `from_keys` returns; its spec tells it from others, but only rows can rebuild it."""

    name: ClassVar[str] = "in-memory"
    keys: NDArray[Any] | pa.Array = field(repr=False)
    costs: NDArray[np.float64] | None = field(repr=False)
    rows: int
    seed: int = 0

    @property
    def spec(self) -> str:
        """A name for these rows; `parse_stream` cannot read it, since the rows are not in it."""
        return write_spec(self.name, rows=self.rows, digest=self._digest)

    @property
    def has_costs(self) -> bool:
        """Whether every row has a cost."""
        return self.costs is not None

    @cached_property
    def _digest(self) -> str:
        costs = b"" if self.costs is None else self.costs.tobytes()
        return f"{murmur3_128(identities(self.keys).tobytes() + costs, 0)[0]:016x}"

    def _batches(self, size: int) -> Iterator[Batch]:
        for first in range(0, self.rows, size):
            rows = slice(first, first + size)
            yield Batch(self.keys[rows], None if self.costs is None else self.costs[rows])
