"""What the sources of a stream know of its keys together, to start the next ones with."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unskew.hashing import Ids, distinct

_DECAY = 0.5
_LEAST = 1e-6
"""A key whose share has faded to this is known no more."""


class KnownKeys(NamedTuple):
    """Keys that are hot, or had to leave their home, with the workers that they have.

    Examples
    --------
    A key with a third of the rows that a source has sent to two further workers:

    >>> known = KnownKeys.nothing().after(
    ...     np.array([7], np.uint64), np.array([1 / 3]),
    ...     moved_ids=np.array([7, 7], np.uint64), moved_to=np.array([2, 5]), workers=8,
    ... )
    >>> known.ids.tolist(), known.workers.tolist()
    ([7], [2, 5])
    """

    ids: Ids
    shares: NDArray[np.float64]
    """Their parts of the last rows, those before them counting half each time."""
    starts: NDArray[np.int64]
    """Where the workers of each begin; one more number than keys."""
    workers: NDArray[np.int64]
    """Their workers besides home, in the order in which they came by them."""

    @classmethod
    def nothing(cls) -> Self:
        """Return what is known before the first row."""
        return cls(
            np.empty(0, np.uint64), np.empty(0), np.zeros(1, np.int64), np.empty(0, np.int64)
        )

    def after(
        self,
        hot_ids: Ids,
        hot_shares: NDArray[np.float64],
        *,
        moved_ids: Ids,
        moved_to: NDArray[np.int64],
        workers: int,
        most: int = 4096,
    ) -> Self:
        """Return what is known after further rows.

        Parameters
        ----------
        hot_ids, hot_shares
            The hottest keys of these rows, each once, and their parts of them.
        moved_ids, moved_to
            Pairs of a key and a worker that is new to it.
        workers
            Number of workers.
        most
            How many keys to know at most: the hottest.
        """
        old = np.repeat(self.ids, np.diff(self.starts))
        ids = distinct(np.concatenate([self.ids, hot_ids, moved_ids]))
        shares = np.zeros(ids.size)
        shares[np.searchsorted(ids, self.ids)] = _DECAY * self.shares
        shares[np.searchsorted(ids, hot_ids)] += (1 - _DECAY) * hot_shares
        moved = np.searchsorted(ids, moved_ids)
        # Not among the hottest, but seen: it does not fade away at once.
        shares[moved] = np.maximum(shares[moved], 2**6 * _LEAST)
        pairs = np.concatenate([np.searchsorted(ids, old), moved])
        places = np.concatenate([self.workers, moved_to])
        _, first = np.unique(np.stack([pairs, places]), axis=1, return_index=True)
        first.sort()
        pairs, places = pairs[first], places[first]
        order = np.argsort(pairs, kind="stable")
        pairs, places = pairs[order], places[order]
        rank = np.arange(pairs.size) - np.searchsorted(pairs, pairs)
        needed = rank < 1 + np.floor(2 * shares[pairs] * workers)  # the rest is given back
        pairs, places = pairs[needed], places[needed]
        alive = np.zeros(ids.size, np.bool_)
        alive[np.argsort(-shares, kind="stable")[:most]] = True
        alive &= shares > _LEAST
        kept = alive[pairs]
        counts = np.bincount(pairs[kept], minlength=ids.size)[alive]
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return type(self)(ids[alive], shares[alive], starts, places[kept].astype(np.int64))
