"""Log-normal streams, after the key popularity of a social network."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._validation import check_choice, check_int, check_real
from unskew.errors import InvalidParameterError
from unskew.streams._portable_math import exp, normal_quantile
from unskew.streams._sampler import random_bits
from unskew.streams.base import SyntheticStream, write_spec

VARIANTS = {"LN1": (1.789, 2.366), "LN2": (2.245, 1.133)}
"""Mean and standard deviation of the logarithm, as published."""

_HIGHEST = 8.3
"""No draw lies more standard deviations above the mean: 52 bits go no further."""
_S12 = np.uint64(12)


def lognormal(
    variant: str | None = None,
    mu: float | None = None,
    sigma: float | None = None,
    rows: int = 1_000_000,
    *,
    seed: int = 0,
) -> "LognormalStream":
    """Draw keys that are log-normal numbers, rounded to the nearest whole number [1].

    Keys are the numbers themselves and not ranks: the hottest key of LN2 is 3.

    Parameters
    ----------
    variant
        "LN1" (μ = 1.789, σ = 2.366; the default) or "LN2" (μ = 2.245, σ = 1.133).
    mu, sigma
        Mean and standard deviation of the logarithm, both given instead of a variant.
    rows
        Number of rows.
    seed
        Picks the rows; equal seeds give equal rows in every process and on every machine.

    Examples
    --------
    The hottest key of LN1 is published to have 14.71 % of the rows, that of LN2 7.01 %:

    >>> def hottest(stream):
    ...     keys = np.concatenate([batch.keys for batch in stream.batches()])
    ...     return round(100 * np.bincount(keys[keys < 1000].astype(int)).max() / keys.size)
    >>> hottest(lognormal("LN1", seed=1)), hottest(lognormal("LN2", seed=1))
    (15, 7)

    References
    ----------
    [1] Nasir et al., "Partial Key Grouping: Load-Balanced Partitioning of Distributed Streams",
        2015.
    """
    mu, sigma = _shape(variant, mu, sigma)
    rows = check_int("lognormal", "rows", rows, minimum=1)
    return LognormalStream(mu, sigma, rows, check_int("lognormal", "seed", seed))


def _shape(variant: str | None, mu: float | None, sigma: float | None) -> tuple[float, float]:
    if mu is None and sigma is None:
        name = "LN1" if variant is None else variant
        return VARIANTS[check_choice("lognormal", "variant", name, VARIANTS)]
    if variant is not None:
        raise InvalidParameterError(
            "lognormal", "variant", "left out where mu and sigma are given", variant
        )
    mu = check_real("lognormal", "mu", mu)
    sigma = check_real("lognormal", "sigma", sigma, minimum=0.0)
    if mu + _HIGHEST * sigma > math.log(2.0**62):
        raise InvalidParameterError(
            "lognormal",
            "sigma",
            "small enough for keys of 62 bits",
            sigma,
            hint=f"mu + {_HIGHEST}·sigma must not exceed {math.log(2.0**62):.1f}",
        )
    return mu, sigma


@dataclass(frozen=True, eq=False)
class LognormalStream(SyntheticStream):
    """What `lognormal` returns."""

    name: ClassVar[str] = "lognormal"
    mu: float
    sigma: float
    rows: int
    seed: int

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        for variant, shape in VARIANTS.items():
            if shape == (self.mu, self.sigma):
                return write_spec(self.name, variant=variant, rows=self.rows)
        return write_spec(self.name, mu=self.mu, sigma=self.sigma, rows=self.rows)

    def _draw(self, first: int, out: NDArray[np.uint64]) -> None:
        _draw_rounded(self.mu, self.sigma, first, self._row_seed, out)


@compiled
def _draw_rounded(
    mu: float, sigma: float, first: int, seed: np.uint64, out: NDArray[np.uint64]
) -> None:
    row = np.uint64(first)
    for i in range(out.size):
        bits = random_bits(row + np.uint64(i), seed)
        share = (np.float64(bits >> _S12) + 0.5) * 2.0**-52
        out[i] = np.uint64(exp(mu + sigma * normal_quantile(share)) + 0.5)
