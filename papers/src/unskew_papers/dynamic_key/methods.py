"""The methods that the paper compares, its four metrics, its data sets, and how both are measured.

Queues and Spark measure the same: seconds of the busiest worker for all rows (latency), σ of the
loads, how many workers a key has on average (DistCost), and throughput.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from unskew.hashing import Ids
from unskew.streams import countries, countries_half, from_keys, zipf
from unskew.streams.base import Stream
from unskew_papers import datasets
from unskew_papers.engines.calibration import Calibration
from unskew_papers.engines.simulation import queue_of
from unskew_papers.engines.spark_jobs import SLOTS, count_keys_on_spark
from unskew_papers.experiment import Unit
from unskew_papers.quantities import Quantity, cell
from unskew_papers.rows import Row

METHODS = {
    "SG": "shuffle",
    "KG": "key",
    "PKG": "partial-key:distinct=true",
    "DKG": "dynamic-key",
    "wrap": "wrap",
}
"""PKG with two distinct candidates: the paper's PKG is Apache Storm's, which makes them so."""
METRICS = {
    "latency": "seconds for all rows",
    "stddev": "σ of the loads in %",
    "dist_cost": "DistCost",
    "throughput": "rows per second",
}
WORKERS, SOURCES = 10, 5
ELECTION_SKEW = 68.0
MILLISECONDS = 1.0
"""Work of a row, in queues as on Spark; the paper does not say it."""
QUEUES = (
    f"; queues of workers that take {MILLISECONDS:g} ms for a row, and what it takes beyond that "
    "on Spark"
)
WAITING = (
    "; work is waiting, so that all workers run on few cores, and the time is that of the busiest "
    "worker, so that starting a job does not count"
)
SECONDS = 1000
"""Event time of a stream: 10 million rows at 10,000 per second; shorter ones have a lower rate."""
COUNTRIES = "synthetic, as in the paper: names of 204 countries, one of them with r % of the rows"
ELECTION = (
    "twitter-election (5 million rows, 68 % skew) is replaced by election~: one key with 68 % of "
    "the rows, the others Zipf-1.0 among so many keys that shuffle's DistCost is the published "
    "one"
)
ZIPF_SETS = {
    "ticker~": (0.10, 2_900),
    "clicks~": (0.10, 2_900_000),
    "pageviews~": (0.09, 2_900_000),
    "languages~": (0.27, 300),
}
"""Published share of the hottest key; numbers of keys as far as other papers publish them."""
_TAIL_KEYS_PER_ROW = 0.066
"""Fitted to the published DistCost of shuffle, the one thing known of the tail."""


def against(metric: str, other: str, **where: Any) -> Quantity:
    """Ask for DKG's value of a metric, divided by another method's."""
    return cell(metric, method="DKG", **where) / cell(metric, method=other, **where)


@lru_cache(maxsize=2)
def election(rows: int, seed: int) -> Stream:
    """Draw the stand-in for the tweets of an election."""
    hot = np.random.default_rng(seed).random(rows) < ELECTION_SKEW / 100
    tail = zipf(max(2, int(rows * _TAIL_KEYS_PER_ROW)), 1.0, rows, seed=seed)
    return from_keys(np.where(hot, np.uint64(0), datasets.keys_of(tail) + np.uint64(1)))


def stream_of(name: str, rows: int, seed: int) -> Stream:
    """Return the rows that a data set's name means.

    >>> stream_of("country-skew-r30", 10, seed=1).spec
    'countries:skew=30.0,rows=10'
    """
    if name == "election~":
        return election(rows, seed)
    kind, _, skew = name.rpartition("-r")
    if kind == "country-skew":
        return countries(float(skew), rows, seed=seed)
    if kind == "country-half-skew":
        return countries_half(float(skew), rows, seed=seed)
    if name in ZIPF_SETS:
        p1, keys = ZIPF_SETS[name]
        keys = min(keys, rows)
        return zipf(keys, datasets.exponent_for(p1, keys), rows, seed=seed)
    return datasets.load(name, rows, rows, seed)


def run_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure all methods on the rows of a unit, by queues calibrated on Spark."""
    setting = {name: unit[name] for name in unit if name not in ("rows", "calibration")}
    stream = stream_of(unit.get("data", "election~"), unit["rows"], seed)
    row_seconds = Calibration.of(unit["calibration"]).row_with(MILLISECONDS) / 1000
    place = unit.get("workers", WORKERS), unit.get("sources", SOURCES)
    return [
        {
            **setting,
            "method": method,
            **queue_row(method, *place, stream, seed, row_seconds=row_seconds),
        }
        for method in METHODS
    ]


def queue_row(
    method: str, workers: int, sources: int, stream: Stream, seed: int, *, row_seconds: float
) -> dict[str, Any]:
    """Return the paper's four metrics, each row costing its worker so many seconds."""
    scheme = METHODS[method]
    if method == "DKG":
        scheme += f":rate={(stream.rows or 0) / SECONDS}"
    found = queue_of(scheme, workers, stream, seed=seed, sources=sources)
    loads = np.array(found.placement.loads)
    return {
        "latency": found.makespan * row_seconds,
        "stddev": float(np.std(100 * loads / loads.sum())),
        "dist_cost": found.placement.replication,
        "throughput": found.throughput / row_seconds,
        "mean_wait": found.mean * row_seconds,
    }


def run_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure all methods on the rows of a unit, by jobs on Spark."""
    keys = datasets.keys_of(stream_of(unit["data"], unit["rows"], seed))
    setting = {name: unit[name] for name in unit if name not in ("rows", "milliseconds")}
    return [
        {
            **setting,
            **spark_row(keys, unit["workers"], method, unit, seed, sources=unit["sources"]),
        }
        for method in METHODS
    ]


def spark_row(
    keys: Ids, workers: int, method: str, unit: Unit, seed: int, *, sources: int | None = None
) -> dict[str, Any]:
    """Count keys on Spark and return the paper's four metrics."""
    scheme = METHODS[method]
    if method == "DKG":
        # Each of Spark's tasks is a source with a clock of its own, and sees its share of rows.
        scheme += f":rate={keys.size / SECONDS / (sources or SLOTS)}"
    job = count_keys_on_spark(
        keys, workers, scheme, milliseconds=unit["milliseconds"], seed=seed, sources=sources
    )
    loads = np.array(job.loads)
    return {
        "method": method,
        "latency": max(job.busy),
        "job_seconds": job.seconds,
        "stddev": float(np.std(100 * loads / loads.sum())),
        "dist_cost": job.partials / np.unique(keys).size,
        "throughput": keys.size / max(job.busy),
        "exact": job.exact,
    }
