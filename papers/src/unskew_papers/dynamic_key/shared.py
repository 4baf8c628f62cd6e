"""What the experiments of this paper have in common: methods, metrics and the rows' data sets."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from unskew.streams import countries, countries_half, from_keys, zipf
from unskew.streams.base import Stream
from unskew_papers import datasets
from unskew_papers.calibration import Calibration
from unskew_papers.figure import Figure, Panel, lines
from unskew_papers.measuring import queue_of
from unskew_papers.rows import Rows
from unskew_papers.spec import Unit

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
    "throughput": "rows a second",
}
ELECTION_SKEW = 68.0
MILLISECONDS = 1.0
"""Work of a row, in queues as on Spark; the paper does not say it."""
QUEUES = (
    f"; queues of workers that take {MILLISECONDS:g} ms for a row, and what it takes beyond that "
    "on Spark"
)
SECONDS = 1000
"""Event time of a stream: 10 million rows at 10,000 a second; shorter ones have a lower rate."""
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
_TAIL_KEYS_A_ROW = 0.066
"""Fitted to the published DistCost of shuffle, the one thing known of the tail."""


@lru_cache(maxsize=2)
def election(rows: int, seed: int) -> Stream:
    """Draw the stand-in for the tweets of an election."""
    hot = np.random.default_rng(seed).random(rows) < ELECTION_SKEW / 100
    tail = zipf(max(2, int(rows * _TAIL_KEYS_A_ROW)), 1.0, rows, seed=seed)
    keys = np.concatenate([batch.keys for batch in tail.batches()]) + np.uint64(1)
    return from_keys(np.where(hot, np.uint64(0), keys))


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


def measure(
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


def row_seconds_of(unit: Unit) -> float:
    """Return what a row takes, its work and what an engine adds to that."""
    return Calibration.of(unit["calibration"]).row_with(MILLISECONDS) / 1000


def panel_a_metric(rows: Rows, x: str, x_title: str) -> Figure:
    """Draw latency, σ, DistCost and throughput beside each other, a line a method."""
    return Figure(
        [
            Panel(
                x_title,
                title,
                lines([(name, rows.curve(x, metric, method=name)) for name in METHODS]),
            )
            for metric, title in METRICS.items()
        ],
        columns=2,
    )


def gains(
    rows: Rows, metric: str, over: str, x: str, among: Callable[[Any], bool]
) -> Sequence[float]:
    """Return DKG's value of a metric divided by another method's, at the x that are asked for."""
    return [
        rows.value(metric, method="DKG", **{x: at}) / rows.value(metric, method=over, **{x: at})
        for at in rows.distinct(x)
        if among(at)
    ]
