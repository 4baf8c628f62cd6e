"""The streams on which our own schemes are checked, by short names."""

from unskew.streams import countries_half, drift, zipf
from unskew.streams.base import Stream
from unskew_papers import datasets

SOURCES = 5
KEYS = 100_000
PHASES = 10
"""How many sets of hot keys a drifting stream has, one after the other."""
BURST = 1_000
"""Rows for which a set of hot keys lasts in a stream of bursts."""
_UNSEEN = 2000
"""Added to the seed: `wrap` and `auto` were developed on streams with small ones."""

STEADY = [f"zipf-{z}" for z in (0.1, 0.3, 0.5, 0.8, 1.0, 1.2, 1.4, 1.6, 2.0)] + ["LN1", "LN2"]
DRIFTING = ["drift-0.8", "drift-1.2", "drift-1.4", "countries-half-80"]


def unseen(seed: int) -> int:
    """Return a seed with which nothing was developed.

    >>> unseen(0)
    2000
    """
    return seed + _UNSEEN


def stream_of(name: str, rows: int, seed: int) -> Stream:
    """Return the rows that a name means: drawn with a skew, log-normal, or a real set.

    >>> stream_of("drift-1.2", 10_000, seed=1).spec
    'drift:keys=100000,exponent=1.2,every=1000,rows=10000,hot=100'
    >>> stream_of("countries-half-80", 10_000, seed=1).spec
    'countries-half:skew=80.0,rows=10000'
    """
    kind, _, number = name.rpartition("-")
    if kind == "zipf":
        return zipf(KEYS, float(number), rows, seed=seed)
    if kind == "drift":
        return drift(KEYS, float(number), max(1, rows // PHASES), rows, seed=seed)
    if kind == "burst":
        return drift(KEYS, float(number), BURST, rows, seed=seed)
    if kind == "countries-half":
        return countries_half(float(number), rows, seed=seed)
    return datasets.load(name, rows, KEYS, seed)


def recorded() -> list[str]:
    """Return the real sets that are here: the user's own files, or those of packages."""
    symbols = dict.fromkeys(
        [*datasets.PUBLISHED, *(each.stands_for for each in datasets.REAL.values())]
    )
    names = [name for symbol in symbols for name in datasets.names_for(symbol)]
    return [name for name in names if not name.endswith("~")]
