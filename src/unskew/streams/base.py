"""The contract of a stream: a workload that can be read again and again, batch by batch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._validation import check_int
from unskew.hashing import derive_seeds

DEFAULT_BATCH = 1 << 16
"""Rows per batch: few enough to stay in the processor's cache, enough to hide the call."""


class Batch(NamedTuple):
    """Consecutive rows of a stream: their keys and, where rows have one, their costs."""

    keys: NDArray[Any] | pa.Array
    """Anything that `unskew.hashing.identities` takes."""
    costs: NDArray[np.float64] | None
    """Execution time of each row in milliseconds; None where rows have no cost."""


class Stream(ABC):
    """Describe a workload; reading it again gives the same rows.

    A stream is a small immutable object: it pickles without its rows, and two streams are equal
    when their `spec` and `seed` are. How the rows are cut into batches never changes them.

    Notes
    -----
    A subclass is a frozen dataclass made by a function of the same name, which checks the
    parameters. Attributes whose name starts with an underscore are caches: they do not pickle.
    """

    name: ClassVar[str]
    """What the registry and the command line call it."""
    rows: int | None
    """Number of rows; None where it is not known before the last one is read."""
    seed: int
    """Picks the rows; equal seeds give equal rows in every process and on every machine."""

    @property
    @abstractmethod
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""

    @property
    def n_keys(self) -> int | None:
        """Number of keys, which are then 0 … n_keys − 1; None where it is not known."""
        return None

    @property
    def has_costs(self) -> bool:
        """Whether every row has a cost."""
        return False

    def batches(self, size: int = DEFAULT_BATCH) -> Iterator[Batch]:
        """Read the stream from its start, at most ``size`` rows at a time."""
        return self._batches(check_int(self.name, "size", size, minimum=1))

    @abstractmethod
    def _batches(self, size: int) -> Iterator[Batch]:
        """Read the stream from its start; ``size`` has been checked."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Stream):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def _identity(self) -> tuple[type, str, int]:
        return (type(self), self.spec, self.seed)


class SyntheticStream(Stream):
    """A stream whose rows are drawn: row i depends on the seed and on i alone."""

    rows: int

    @cached_property
    def _row_seed(self) -> np.uint64:
        return np.uint64(derive_seeds(self.seed, 1, purpose="stream")[0])

    def _batches(self, size: int) -> Iterator[Batch]:
        for first in range(0, self.rows, size):
            keys = np.empty(min(size, self.rows - first), np.uint64)
            self._draw(first, keys)
            yield Batch(keys, None)

    @abstractmethod
    def _draw(self, first: int, out: NDArray[np.uint64]) -> None:
        """Write the keys of the rows from number ``first`` on to ``out``."""


class DerivedStream(Stream):
    """A stream made of the rows of another one, which it describes itself like."""

    stream: Stream

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        return self.stream.spec

    @property
    def n_keys(self) -> int | None:
        """Number of keys, which are then 0 … n_keys − 1; None where it is not known."""
        return self.stream.n_keys

    @property
    def has_costs(self) -> bool:
        """Whether every row has a cost."""
        return self.stream.has_costs


def write_spec(name: str, **parameters: object) -> str:
    """Return a stream's spec.

    >>> write_spec("zipf", keys=1000, exponent=1.2)
    'zipf:keys=1000,exponent=1.2'
    """
    return f"{name}:" + ",".join(f"{word}={value}" for word, value in parameters.items())
