"""Zipf streams: a few keys have most of the rows, as words do in a text."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._validation import check_int, check_real
from unskew.streams._portable_math import falling_powers
from unskew.streams._sampler import Sampler, draw, make_sampler
from unskew.streams.base import SyntheticStream, write_spec

MAX_KEYS = 100_000_000
"""Above this the table of probabilities would not fit in a laptop's memory."""


def zipf(
    keys: int = 100_000, exponent: float = 1.2, rows: int = 1_000_000, *, seed: int = 0
) -> "ZipfStream":
    """Draw key k, counted from 0, with probability proportional to 1/(k + 1)^exponent.

    Parameters
    ----------
    keys
        Number of keys; key 0 is the hottest, key 1 the next, and so on.
    exponent
        How skewed: 0 is uniform, 1 the words of a text, 2 leaves 61 % to one key.
    rows
        Number of rows.
    seed
        Picks the rows; equal seeds give equal rows in every process and on every machine.

    Examples
    --------
    With exponent 1 and 4 keys the shares are 12, 6, 4 and 3 of 25:

    >>> batch = next(zipf(keys=4, exponent=1.0, rows=25_000, seed=1).batches())
    >>> (np.bincount(batch.keys.astype(int)) / 1000).round().tolist()
    [12.0, 6.0, 4.0, 3.0]
    """
    return ZipfStream(
        check_int("zipf", "keys", keys, minimum=1, maximum=MAX_KEYS),
        check_real("zipf", "exponent", exponent, minimum=0.0),
        check_int("zipf", "rows", rows, minimum=1),
        check_int("zipf", "seed", seed),
    )


@dataclass(frozen=True, eq=False)
class ZipfStream(SyntheticStream):
    """What `zipf` returns."""

    name: ClassVar[str] = "zipf"
    keys: int
    exponent: float
    rows: int
    seed: int

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        return write_spec(self.name, keys=self.keys, exponent=self.exponent, rows=self.rows)

    @property
    def n_keys(self) -> int:
        """Number of keys."""
        return self.keys

    @cached_property
    def _sampler(self) -> Sampler:
        return make_sampler(falling_powers(self.keys, self.exponent))

    def _draw(self, first: int, out: NDArray[np.uint64]) -> None:
        draw(self._sampler, first, self._row_seed, out)
