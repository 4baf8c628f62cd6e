"""Uniform streams: every key is as likely as any other."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int
from unskew.hashing import to_range
from unskew.streams._sampler import random_bits
from unskew.streams.base import SyntheticStream, write_spec


def uniform(keys: int = 100_000, rows: int = 1_000_000, *, seed: int = 0) -> "UniformStream":
    """Draw every key with the same probability.

    Parameters
    ----------
    keys
        Number of keys, 0 … keys − 1.
    rows
        Number of rows.
    seed
        Picks the rows; equal seeds give equal rows in every process and on every machine.

    Examples
    --------
    >>> batch = next(uniform(keys=4, rows=40_000, seed=1).batches())
    >>> (np.bincount(batch.keys.astype(int)) / 10_000).round(1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    return UniformStream(
        check_int("uniform", "keys", keys, minimum=1, maximum=2**31),
        check_int("uniform", "rows", rows, minimum=1),
        check_int("uniform", "seed", seed),
    )


@dataclass(frozen=True, eq=False)
class UniformStream(SyntheticStream):
    """What `uniform` returns."""

    name: ClassVar[str] = "uniform"
    keys: int
    rows: int
    seed: int

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        return write_spec(self.name, keys=self.keys, rows=self.rows)

    @property
    def n_keys(self) -> int:
        """Number of keys."""
        return self.keys

    def _draw(self, first: int, out: NDArray[np.uint64]) -> None:
        _draw_evenly(np.uint64(self.keys), first, self._row_seed, out)


@compiled
def _draw_evenly(keys: np.uint64, first: int, seed: np.uint64, out: NDArray[np.uint64]) -> None:
    row = np.uint64(first)
    for i in range(out.size):
        out[i] = np.uint64(to_range(random_bits(row + np.uint64(i), seed), keys))
