"""The methods that the paper compares, its four metrics, its data sets, and how both are measured.

Queues and Spark measure the same: seconds for all rows (latency), σ of the loads, how many workers
a key has on average (DistCost), and throughput. Queues are those of the authors' program: workers
have room for some rows, and a row without room holds up its source and all rows after it. So event
time, by which DKG goes, passes more slowly for fewer rows per second.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from unskew.hashing import Ids
from unskew.streams import countries, countries_half, from_keys, zipf
from unskew.streams.base import Stream
from unskew_papers import datasets
from unskew_papers.engines.calibration import Calibration
from unskew_papers.engines.queues import serve_with_back_pressure
from unskew_papers.engines.simulation import queue_of
from unskew_papers.engines.spark_jobs import SLOTS, count_keys_on_spark
from unskew_papers.experiment import Unit
from unskew_papers.quantities import Quantity, cell
from unskew_papers.rows import Row

METHODS = {
    "SG": "shuffle",
    "KG": "key",
    "PKG": "partial-key",
    "DKG": "dynamic-key:check_every=60,whole_percents=true",
    "wrap": "wrap",
}
"""DKG as the authors' program has it: a key is looked at once a minute, by loads in whole percents.

PKG is the class of its own authors, whose two candidates may coincide; the published times and
σ say that those of the hottest key did not, and here none do."""
_AS_PRINTED = {**METHODS, "DKG": "dynamic-key:rate={rate}"}
"""DKG as the paper's algorithms have it, where rows come at a rate and nothing holds them up."""
METRICS = {
    "latency": "seconds for all rows",
    "stddev": "σ of the loads in %",
    "dist_cost": "DistCost",
    "throughput": "rows per second",
}
WORKERS, SOURCES = 10, 5
SPLITTERS = 10
"""Who routes in the authors' program, whatever the number of spouts."""
ROOM = 10_240
"""Rows that wait for a worker before all stand still: Storm's buffers have room for 1,024, and each
splitter has one to send from."""
ELECTION_SKEW = 68.0
MILLISECONDS = 1.0
"""Work of a row, in queues as on Spark; it is that of the authors' program."""
QUEUES = (
    f"; workers take {MILLISECONDS:g} ms for a row, and what it takes beyond that on Spark, and "
    f"have room for {ROOM:,} rows; of fewer rows than the paper's each stands for several; DKG "
    "looks once a minute whether a key needs more workers, as the authors' program does"
)
WAITING = (
    "; work is waiting, so that all workers run on few cores, and the time is that of the busiest "
    "worker, so that starting a job does not count; DKG looks with every row, as the paper's "
    "algorithms do"
)
SECONDS = 1000
"""Event time of a stream on Spark: 10 million rows at 10,000 per second."""
COUNTRIES = "synthetic, as in the paper: names of 204 countries, one of them with r % of the rows"
ELECTION = (
    "twitter-election (5 million rows, 68 % skew) is replaced by election~: one key with 68 % of "
    "the rows, the others Zipf-1.0 among so many keys that shuffle's DistCost is the published "
    "one"
)
ZIPF_SETS = {
    "ticker~": (0.10, 2_900),
    "clicks~": (0.005, 2_900_000),
    "pageviews~": (0.09, 2_900_000),
    "languages~": (0.27, 300),
}
"""Share of the hottest key's rows; numbers of keys as far as other papers publish them."""
COUNT_SHARES = {"clicks~": 0.10, "languages~": 0.27}
"""Share of the hottest key in the counts that rows carry, which is what is published of these sets.

A row of the clickstream is a pair of pages and how often it was clicked; what share of the pairs
lead to the hottest page is not published."""
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
    if kind == "country-half-skew":  # the authors' program writes the skewed half first
        return from_keys(datasets.keys_of(countries_half(float(skew), rows, seed=seed))[::-1])
    if name in ZIPF_SETS:
        p1, keys = ZIPF_SETS[name]
        keys = min(keys, rows)
        drawn = zipf(keys, datasets.exponent_for(p1, keys), rows, seed=seed)
        return _with_counts(drawn, COUNT_SHARES[name]) if name in COUNT_SHARES else drawn
    return datasets.load(name, rows, rows, seed)


def _with_counts(stream: Stream, share: float) -> Stream:
    """Give rows counts: 1, and those of the hottest key so many that it has this share of all."""
    keys = datasets.keys_of(stream)
    hot = keys == np.bincount(keys.astype(np.int64)).argmax()
    each = share / (1 - share) * np.sum(~hot) / np.sum(hot)
    return from_keys(keys, costs=np.where(hot, each, 1.0))


def run_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure all methods on the rows of a unit, by queues with back-pressure."""
    left_out = ("rows", "paper_rows", "calibration")
    setting = {name: unit[name] for name in unit if name not in left_out}
    stream = stream_of(unit.get("data", "election~"), unit["rows"], seed)
    row_seconds = Calibration.of(unit["calibration"]).row_with(MILLISECONDS) / 1000
    rows_per_row = unit["paper_rows"] / (stream.rows or unit["rows"])
    return [
        {
            **setting,
            "method": method,
            **_blocked_row(scheme, stream, unit, seed, row_seconds, rows_per_row),
        }
        for method, scheme in METHODS.items()
    ]


def _blocked_row(
    scheme: str, stream: Stream, unit: Unit, seed: int, row_seconds: float, rows_per_row: float
) -> dict[str, Any]:
    """Return the paper's four metrics; each row stands for several of the paper's."""
    found = serve_with_back_pressure(
        scheme,
        unit.get("workers", WORKERS),
        stream,
        seed=seed,
        sources=unit.get("sources", SPLITTERS),
        room=math.ceil(ROOM / rows_per_row),
        row_seconds=row_seconds * rows_per_row,
    )
    return {
        "latency": found.seconds,
        "stddev": float(np.std(100 * found.loads / found.loads.sum())),
        "dist_cost": found.replication,
        "throughput": float(found.loads.sum()) * rows_per_row / found.seconds,
    }


def free_seconds(method: str, stream: Stream, seed: int, *, row_seconds: float) -> float:
    """Return how long workers take that have room for every row, as in a job of Spark."""
    rate = (stream.rows or 0) / SECONDS
    scheme = _AS_PRINTED[method].format(rate=rate)
    found = queue_of(scheme, WORKERS, stream, seed=seed, sources=SOURCES)
    return found.makespan * row_seconds


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
    # Each of Spark's tasks is a source with a clock of its own, and sees its share of rows.
    scheme = _AS_PRINTED[method].format(rate=keys.size / SECONDS / (sources or SLOTS))
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
