"""Drifting streams: which keys are hot changes as time goes on."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_int, check_real
from unskew.streams._portable_math import falling_powers
from unskew.streams._sampler import Sampler, draw, make_sampler, shuffled_order
from unskew.streams.base import SyntheticStream, write_spec
from unskew.streams.zipf import MAX_KEYS


def drift(
    keys: int = 100_000,
    exponent: float = 1.2,
    every: int = 100_000,
    rows: int = 1_000_000,
    hot: int | None = None,
    *,
    seed: int = 0,
) -> "DriftStream":
    """Draw keys by a Zipf law whose hottest keys are all replaced every so many rows.

    The keys are cut into groups of ``hot``. At each change another group, which the seed picks,
    trades places with the group that is hottest by number (keys 0, 1, 2 …): no hot key of one
    phase is hot in the next, and the remaining tail stays as it is. The first phase is `zipf`'s.

    Parameters
    ----------
    keys
        Number of keys, at least 2.
    exponent
        How skewed each phase is, as in `zipf`.
    every
        Number of rows after which the hot keys change.
    rows
        Number of rows.
    hot
        How many of the hottest keys are replaced; 100 by default, or half of the keys.
    seed
        Picks the rows and the new hot keys.

    Examples
    --------
    >>> keys = next(drift(keys=1000, exponent=2.0, every=10_000, seed=1).batches(30_000)).keys
    >>> phases = [np.bincount(phase.astype(int)).argmax() for phase in np.split(keys, 3)]
    >>> int(phases[0]), len(set(phases))
    (0, 3)
    """
    keys = check_int("drift", "keys", keys, minimum=2, maximum=MAX_KEYS)
    return DriftStream(
        keys,
        check_real("drift", "exponent", exponent, minimum=0.0),
        check_int("drift", "every", every, minimum=1),
        check_int("drift", "rows", rows, minimum=1),
        check_int(
            "drift",
            "hot",
            min(100, keys // 2) if hot is None else hot,
            minimum=1,
            maximum=keys // 2,
        ),
        check_int("drift", "seed", seed),
    )


@dataclass(frozen=True, eq=False)
class DriftStream(SyntheticStream):
    """What `drift` returns."""

    name: ClassVar[str] = "drift"
    keys: int
    exponent: float
    every: int
    rows: int
    hot: int
    seed: int

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        return write_spec(
            self.name,
            keys=self.keys,
            exponent=self.exponent,
            every=self.every,
            rows=self.rows,
            hot=self.hot,
        )

    @property
    def n_keys(self) -> int:
        """Number of keys."""
        return self.keys

    @cached_property
    def _sampler(self) -> Sampler:
        return make_sampler(falling_powers(self.keys, self.exponent))

    @cached_property
    def _hot_groups(self) -> NDArray[np.uint64]:
        """The group that is hot in each phase, before the same order starts again."""
        others = shuffled_order(self.keys // self.hot - 1, self.seed, purpose="drift")
        return np.concatenate([np.zeros(1, np.uint64), others + np.uint64(1)])

    def _draw(self, first: int, out: NDArray[np.uint64]) -> None:
        draw(self._sampler, first, self._row_seed, out)
        _trade_places(out, first, self.every, self._hot_groups, np.uint64(self.hot))


@compiled
def _trade_places(
    keys: NDArray[np.uint64], first: int, every: int, groups: NDArray[np.uint64], hot: np.uint64
) -> None:
    """Turn ranks into keys: the hottest ranks are the keys of the phase's group, and conversely."""
    start = 0
    while start < keys.size:
        phase = (first + start) // every
        end = min(keys.size, (phase + 1) * every - first)
        offset = groups[phase % groups.size] * hot
        for i in range(start, end):
            if keys[i] < hot:
                keys[i] += offset
            elif offset <= keys[i] < offset + hot:
                keys[i] -= offset
        start = end
