"""Word counts as the paper's engine ran them: in a closed loop of queues, as jobs, as streams."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.base import LearnedGrouping
from unskew.groupings.registry import make_grouping
from unskew.simulator.sources import Sources
from unskew.streams.base import Batch
from unskew_papers import datasets
from unskew_papers.engines.calibration import Calibration
from unskew_papers.engines.queues import serve
from unskew_papers.engines.simulation import loads_of
from unskew_papers.engines.spark_jobs import count_keys_on_spark
from unskew_papers.engines.spark_streams import count_stream_on_spark
from unskew_papers.experiment import CALIBRATED, SIMULATION, SPARK, Grid, Measurement, Unit
from unskew_papers.rows import Row

SCHEMES = {"PKG": ("partial-key", 8), "SG": ("shuffle", 8), "KG": ("key", 10), "wrap": ("wrap", 8)}
"""Ten processes each: all of them workers, or eight and two that aggregate."""
_WORKERS = {name: workers for name, (_, workers) in SCHEMES.items()}
IN_FLIGHT = 88
"""PKG's 11.01 ms at 1 ms of work on 8 workers, by Little's law."""
TRANSIT_MILLISECONDS = 3.71
"""PKG's 3.81 ms at 0.1 ms of work, where hardly a message waits."""


def _run_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    """Place every row, then serve them with each work and aggregation period."""
    scheme, workers = SCHEMES[unit["scheme"]][0], unit["workers"][unit["scheme"]]
    by_worker = placed(unit["data"], unit["rows"], unit["keys"], scheme, workers, seed=seed)
    costs = Calibration.of(unit["calibration"])
    rows = []
    for delay, period in unit["settings"]:
        served = serve(
            *by_worker,
            milliseconds=costs.row_with(delay),
            in_flight=IN_FLIGHT,
            transit_milliseconds=TRANSIT_MILLISECONDS,
            period=np.inf if period is None or unit["scheme"] == "KG" else period,
            counter_milliseconds=costs.merge,
        )
        rows.append(
            {
                "data": unit["data"],
                "scheme": unit["scheme"],
                "delay": delay,
                "period": period,
                "throughput": 1000 * served.throughput,
                "latency": served.latency,
                "counters": served.counters,
            }
        )
    return rows


def placed(
    data: str, rows: int, keys: int, scheme: str, workers: int, *, seed: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Return worker and number of the key of every row, and how many workers there are."""
    ids = datasets.keys_of(datasets.load(data, rows, keys, seed))
    grouping = make_grouping(scheme, workers, seed=seed)
    if isinstance(grouping, LearnedGrouping):
        grouping.learn(ids[: ids.size // 10]).build()
    by_worker = Sources(grouping, 8).route(Batch(ids, None))
    return by_worker, np.unique(ids, return_inverse=True)[1].astype(np.int64), workers


def _run_jobs(unit: Unit, seed: int) -> Sequence[Row]:
    """Count keys on Spark with each scheme, every row making its worker wait."""
    keys = datasets.keys_of(datasets.load(unit["data"], unit["rows"], 100_000, seed))
    rows = []
    for label, (scheme, workers) in SCHEMES.items():
        job = count_keys_on_spark(
            keys, workers, scheme, milliseconds=unit["milliseconds"], seed=seed
        )
        rows.append(
            {
                "data": unit["data"],
                "delay": unit["milliseconds"],
                "scheme": label,
                "workers": workers,
                "throughput": job.throughput,
                "latency": 1000 * job.seconds,
                "period": None,
                "counters": job.partials,
                "exact": job.exact,
            }
        )
    return rows


def _run_counters(unit: Unit, seed: int) -> Sequence[Row]:
    """Count the keys that all workers together hold after a day."""
    stream = datasets.load("WP~", unit["rows"], unit["keys"], seed)
    return [
        {
            "scheme": name,
            "workers": workers,
            "counters": loads_of(scheme, workers, stream, seed=seed, sources=8).memory,
        }
        for name, (scheme, workers) in SCHEMES.items()
    ]


def _run_streams(unit: Unit, seed: int) -> Sequence[Row]:
    """Count keys on Spark, a micro-batch being an aggregation period."""
    keys = datasets.keys_of(datasets.load(unit["data"], unit["rows"], 100_000, seed))
    scheme, workers = SCHEMES[unit["scheme"]]
    if unit["scheme"] == "KG":
        workers = unit["key_workers"]
    rows = []
    for period in unit["periods"]:
        parts = np.array_split(keys, keys.size // period)
        # The paper's streams have run for a while: here a first micro-batch lets Python start.
        first_one, *jobs = count_stream_on_spark(
            [parts[0], *parts], workers, scheme, milliseconds=unit["milliseconds"], seed=seed
        )
        seconds = float(np.median([job.seconds for job in jobs]))
        rows.append(
            {
                "data": unit["data"],
                "scheme": unit["scheme"],
                "delay": unit["milliseconds"],
                "period": period,
                "throughput": keys.size / len(jobs) / seconds,
                "latency": 1000 * seconds,
                "counters": float(np.mean([job.partials for job in jobs])) / workers,
                "exact": all(job.exact for job in (first_one, *jobs)),
            }
        )
    return rows


_QUEUE_DATA = (
    f"; a closed loop of queues, {IN_FLIGHT} rows in flight, each {TRANSIT_MILLISECONDS} ms "
    "under way besides its work, which gives PKG's published latency at 0.1 and 1 ms; what a row "
    "costs beyond its work, and handing over a counter, as measured on Spark"
)


def in_queues(
    symbol: str, keys: int, delays: Sequence[Any], delay: float, *, key_workers: int, also: str = ""
) -> Measurement:
    """Return the measurement of works and, with one work, of aggregation periods."""
    shared = {"set": symbol, "workers": {**_WORKERS, "KG": key_workers}}

    def settings(*periods: int) -> list[tuple[float, int | None]]:
        return [*delays, *((delay, period) for period in periods)]

    return Measurement(
        CALIBRATED,
        Grid(
            {"data": lambda each: datasets.names_for(each["set"]), "scheme": list(SCHEMES)},
            without=["set"],
        ),
        _run_in_queues,
        {
            "smoke": {
                **shared, "rows": 300_000, "keys": 100_000,
                "settings": settings(1_000, 3_000, 6_000),
            },
            "paper": {
                **shared, "rows": 5_000_000, "keys": keys,
                "settings": settings(10_000, 30_000, 60_000),
            },
        },
        datasets.describe(symbol) + _QUEUE_DATA + also + "; smoke has periods of a tenth",
        {"smoke": 5, "paper": 120},
    )  # fmt: skip


def in_micro_batches(symbol: str, milliseconds: float, key_workers: int) -> Measurement:
    """Return the measurement on Spark, where a period is a micro-batch of so many rows."""
    shared = {"set": symbol, "milliseconds": milliseconds, "key_workers": key_workers}
    return Measurement(
        SPARK,
        Grid(
            {
                "data": lambda each: datasets.names_for(each["set"])[: each["sets"]],
                "scheme": list(SCHEMES),
            },
            without=["set", "sets"],
        ),
        _run_streams,
        {
            "smoke": {**shared, "rows": 6_000, "periods": [2_000, 6_000], "sets": 1},
            "paper": {
                **shared, "rows": 240_000, "periods": [10_000, 30_000, 60_000], "sets": 2,
            },
        },
        f"{datasets.describe(symbol)}; {milliseconds:g} ms of work, which is waiting; a "
        "period is a micro-batch of so many rows, and the throughput that of the median of all "
        "whole ones after the first",
        {"smoke": 15, "paper": 500},
    )  # fmt: skip


COUNTERS = Measurement(
    SIMULATION,
    Grid(),
    _run_counters,
    {
        "smoke": {"rows": 300_000, "keys": 40_000},
        "paper": {"rows": 22_000_000, "keys": 2_900_000},
    },
    "WP (visits of Wikipedia pages) is replaced by WP~, Zipf with p1 = 9.32%",
    {"smoke": 2, "paper": 30},
)
JOBS = Measurement(
    SPARK,
    Grid(
        {
            "data": lambda parameters: datasets.names_for("WP")[: parameters["sets"]],
            "milliseconds": "delays",
        },
        without=["sets"],
    ),
    _run_jobs,
    {
        "smoke": {"rows": 30_000, "delays": [0.1, 0.5, 1.0], "sets": 1},
        "paper": {
            "rows": 200_000, "delays": [round(0.1 * step, 1) for step in range(1, 11)], "sets": 2,
        },
    },
    datasets.describe("WP") + "; work is waiting, so that ten workers run on few cores",
    {"smoke": 60, "paper": 1500},
)  # fmt: skip
