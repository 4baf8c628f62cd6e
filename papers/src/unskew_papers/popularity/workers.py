"""Figures 13, 14 and 33: throughput and latency by number of workers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unskew.hashing import Ids
from unskew.streams import zipf
from unskew.streams.base import Stream
from unskew_papers.checks import Above, All, AtMost, Near, Rises, Within
from unskew_papers.claims import TEXT, Claim, Reason, placed_exactly
from unskew_papers.datasets import keys_of
from unskew_papers.engines.queues import placed_in_queues
from unskew_papers.engines.spark_jobs import JobResult, count_keys_on_spark
from unskew_papers.experiment import QUEUEING, SPARK, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.popularity.applications import (
    COMPARED,
    DATA,
    HOTTEST_KEY,
    POINTS,
    SETS,
    against,
    stream_of,
)
from unskew_papers.popularity.stage import (
    MODEL,
    SCHEMES,
    SCHEMES_ON_SPARK,
    THROUGHPUT,
    Latency,
    done_with_pstream,
    latency_chart,
    latency_rows,
    settled,
    windows_of,
)
from unskew_papers.quantities import Computed, Quantity, cell
from unskew_papers.rows import GIVEN, LARGEST, SMALLEST, Row, one_of, other_than

ZF = (
    "synthetic, as in the paper: ZF, Zipf with 10 million keys (fewer at smoke size), but at most "
    "10 million rows instead of a billion"
)


def run_zipf_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure all schemes on a Zipf stream."""
    stream = zipf(unit["keys"], unit["z"], unit["rows"], seed=seed)
    return [{"z": unit["z"], **row} for row in _throughputs(stream, unit, list(SCHEMES), seed)]


def _run_applications_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    found = _throughputs(stream, unit, COMPARED, seed)
    return [{"application": unit["application"], **row} for row in found]


def _throughputs(stream: Stream, unit: Unit, schemes: Sequence[str], seed: int) -> list[Row]:
    """Return the settled throughput and σ of every scheme with the workers of a unit."""
    rows: list[Row] = []
    workers = unit["workers"]
    for name in schemes:
        windows = settled(list(windows_of(SCHEMES[name], workers, stream, seed=seed)))
        rows.append(
            {
                "workers": workers,
                "scheme": name,
                "throughput": float(np.mean([window.throughput for window in windows])),
                "stddev_percent": float(np.mean([window.stddev_percent for window in windows])),
                "merging_percent": float(100 * np.mean([each.merging_share for each in windows])),
                "counters": float(np.mean([window.counters for window in windows])),
            }
        )
    return rows


def _run_latencies(unit: Unit, seed: int) -> Sequence[Row]:
    stream = zipf(unit["keys"], 1.0, unit["rows"], seed=seed)
    scheme, workers = unit["scheme"], unit["workers"]
    latency = Latency(workers)
    found = [latency.of(each) for each in windows_of(SCHEMES[scheme], workers, stream, seed=seed)]
    return latency_rows(np.concatenate(found[len(found) // 2 :]), scheme=scheme)


def _run_zipf_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(zipf(unit["keys"], 1.0, unit["rows"], seed=seed))
    rows: list[Row] = []
    for name in SCHEMES_ON_SPARK:
        job, row = _measured(keys, unit, name, seed)
        rows.append(row)
        if unit["workers"] == unit["latency_workers"]:
            times = job.row_seconds() / (unit["milliseconds"] / 1000)
            rows += latency_rows(times, scheme=name)
    return rows


def _run_applications_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(stream_of(unit["application"], False, unit["rows"], unit["keys"], seed))
    return [
        {"application": unit["application"], **_measured(keys, unit, name, seed)[1]}
        for name in COMPARED
    ]


def _measured(keys: Ids, unit: Unit, name: str, seed: int) -> tuple[JobResult, dict[str, Any]]:
    """Count on Spark, and say beside it what queues say that know nothing of the job."""
    workers, scheme = unit["workers"], SCHEMES_ON_SPARK[name]
    job = count_keys_on_spark(keys, workers, scheme, milliseconds=unit["milliseconds"], seed=seed)
    placed = placed_in_queues(keys, workers, scheme, seed=seed)
    return job, {
        "workers": workers,
        "scheme": name,
        "throughput": job.throughput * unit["milliseconds"] / 1000,
        "by_queues": keys.size / int(np.bincount(placed).max()),
        "stddev_percent": job.stddev_percent,
        "counters": job.partials,
        "exact": job.exact,
    }


_JOBS_DATA = (
    "work is waiting, so that all workers run on few cores, and the time is that of the busiest "
    "worker; schemes that learn have seen the rows before"
)


def _on_spark(
    applications: Sequence[str], run: Any, data: str, paper_seconds: float
) -> Measurement:
    shared = {"applications": list(applications)}
    return Measurement(
        SPARK,
        Grid({"application": "applications", "workers": "workers"}),
        run,
        {
            "smoke": {
                "rows": 16_000, "keys": 1_000, "milliseconds": 1.0, "workers": [16, 128],
                "latency_workers": 128, **shared,
            },
            "paper": {
                "rows": 100_000, "keys": 100_000, "milliseconds": 1.0,
                "workers": [8, 16, 32, 64, 96, 128], "latency_workers": 64, **shared,
            },
        },
        f"{data}; {_JOBS_DATA}",
        {"smoke": 60, "paper": paper_seconds},
    )  # fmt: skip


_ZIPF_ON_SPARK = _on_spark(["word count"], _run_zipf_on_spark, "synthetic: ZF with fewer keys", 700)

_WITHIN = 0.15


_TWO_CORES = Reason(
    "Two cores do not keep up with 128 tasks of shuffle. Its workers wait at the same time, but "
    "each has nearly every key to count and to send on, which nobody can do while waiting."
)


def _as_queues(reason: Reason, *each: str) -> Claim:
    """Ask of all but PStream, which in queues learns from the very rows that it places."""
    return Claim(
        "as-queues",
        "Spark's throughput is that of queues with the same workers (our own).",
        f"within {_WITHIN:.0%}",
        Within(1 - _WITHIN, 1 + _WITHIN, cell("throughput") / cell("by_queues"),
               each=["scheme", "workers", *each],
               where={"workers": GIVEN, "scheme": other_than("PStream")}, form="{:.2f}×"),
        reason,
    )  # fmt: skip


def _gain(other: str) -> Quantity:
    return against("throughput", other) - 1


ONE_COST = Reason(
    "No single cost of a merge gives Figures 4, 13 and 14. With 1.5 rows per merge shuffle stops "
    "growing at 80 workers, as Figure 13 has it; with the 3.5 rows and more that Figure 4's shares "
    "need it would stop below 60.",
    kind=TEXT,
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_no_single_cost_of_a_merge_gives_figures_4_and_13",
)
_AT_80 = cell("throughput", workers=80)
FROM_80 = cell("throughput", workers=128) / _AT_80
FLATTENS = All(
    Above(1.5, {"up to 80 workers": _AT_80 / cell("throughput", workers=SMALLEST)},
          where={"scheme": "SG"}, form="{:.1f}×"),
    AtMost(1.05, {"80 → 128": FROM_80}, where={"scheme": "SG"}, form="{:.2f}×"),
)  # fmt: skip


def _grows(says: str) -> Claim:
    check = Rises("throughput", "workers", where={"scheme": "PStream", "workers": GIVEN},
                  form="{:.1f}")  # fmt: skip
    return Claim("grows", says, "growing", check)


_BY_WORKERS = Chart("workers", THROUGHPUT, [Lines("workers", "throughput", by="scheme")])
_THE_128 = {"workers": 128}
ZIPF_BY_WORKERS = Measurement(
    QUEUEING, Grid({"workers": "workers", "z": [1.0]}), run_zipf_in_queues,
    {
        "smoke": {"rows": 300_000, "keys": 100_000, "workers": [8, 32, 80, 128]},
        "paper": {
            "rows": 10_000_000, "keys": 10_000_000,
            "workers": [8, 16, 32, 48, 64, 80, 96, 112, 128],
        },
    },
    f"{ZF}; {MODEL}", {"smoke": 6, "paper": 195},
)  # fmt: skip

FIGURE_13 = Exhibit(
    "fig13",
    "Throughput by number of workers, Zipf-1.0 (simulated workers and merges)",
    Drawing(_BY_WORKERS),
    (
        _grows("PStream's throughput grows up to 128 workers."),
        Claim("shuffle-flattens", "From 80 workers on shuffle's throughput does not grow.",
              "no growth after 80 (here: 5 %)", FLATTENS),
        Claim("others-grow", "That of the other three keeps increasing.",
              "all three (here: more with 128 than with 80)",
              Above(1, FROM_80, each=["scheme"],
                    where={"scheme": one_of("PStream", "DKG", "PKG")}, form="{:.2f}×"),
              HOTTEST_KEY),
        *(Claim(f"beats-{other.lower()}", f"With 128 workers PStream beats {other}.",
                f"+{by:.0%}",
                Near(by, _gain(other), off=POINTS, beyond="above", where=_THE_128,
                     form="{:+.0%}"), HOTTEST_KEY)
          for other, by in (("DKG", 0.32), ("PKG", 0.21))),
    ),
    [
        On(ZIPF_BY_WORKERS),
        On(_ZIPF_ON_SPARK,
           "Throughput by number of workers, Zipf-1.0, on Spark",
           draw=Drawing(
               _BY_WORKERS,
               Chart("workers", THROUGHPUT, [
                   Lines("workers", "by_queues", by="scheme", label="{scheme} by queues",
                         style="dashed")
               ]),
               where={"workers": GIVEN},
           ),
           claims=[placed_exactly(workers=GIVEN),
                   _grows("PStream's throughput grows with the workers."),
                   _as_queues(_TWO_CORES)],
           asks=("beats-dkg", "beats-pkg")),
    ],
)  # fmt: skip


def _fewer_done(scheme: str, published: float) -> Near:
    share = Computed(done_with_pstream, {"scheme": scheme, "percent": 72})
    return Near(published, share, off=100 * POINTS, beyond="below", where={"percent": GIVEN},
                form="{:.0f} %")  # fmt: skip


_ALL_AT_ONCE = Reason(
    "In a micro-batch all rows are there at once, and each waits for those before it. What is seen "
    "is how even the workers are, not what a merge takes."
)

FIGURE_14 = Exhibit(
    "fig14",
    "Distribution of the latency, Zipf-1.0, 64 workers (simulated queues)",
    Drawing(latency_chart(where={"percent": GIVEN})),
    (
        Claim("key-grouping-waits",
              "Within the time that 72 % of PStream's rows take, fewer of key grouping's are done.",
              "61 %", _fewer_done("KG", 61)),
        Claim("shuffle-waits",
              "Within that time even fewer of shuffle's are done, since every key is merged.",
              "19 %", _fewer_done("SG", 19), ONE_COST),
    ),
    [
        On(Measurement(
            QUEUEING, Grid({"scheme": list(SCHEMES)}), _run_latencies,
            {
                "smoke": {"rows": 300_000, "keys": 100_000, "workers": 64},
                "paper": {"rows": 10_000_000, "keys": 10_000_000, "workers": 64},
            },
            f"{ZF}; {MODEL}; rows arrive at 80 % of what the workers could do",
            {"smoke": 3, "paper": 20},
        )),
        On(_ZIPF_ON_SPARK, "Distribution of the latency, Zipf-1.0, on Spark",
           reasons={"key-grouping-waits": _ALL_AT_ONCE, "shuffle-waits": _ALL_AT_ONCE}),
    ],
)  # fmt: skip

_PUBLISHED_GAINS = (
    ("VWAP", "PKG", 0.35), ("hashtags", "PKG", 0.33),
    ("VWAP", "DKG", 0.40), ("hashtags", "DKG", 0.49),
)  # fmt: skip
_GAINS = tuple(
    Claim(
        f"{name.lower()}-than-{other.lower()}",
        f"{name}: with 128 workers PStream's throughput is higher than {other}'s.",
        f"+{by:.0%}",
        Near(
            by,
            _gain(other),
            off=POINTS,
            beyond="above",
            where={"application": name, "workers": LARGEST},
            form="{:+.0%}",
        ),
        HOTTEST_KEY,
    )
    for name, other, by in _PUBLISHED_GAINS
)
_NEIGHBOURS = Reason(
    "A source of the queues gets every eighth row, a task of Spark neighbouring ones. Which stocks "
    "are hot changes with time, so that tasks have different ones, and with PKG none knows how "
    "full the others make its two workers: on trades simulated sources that get neighbouring rows "
    "are slower by a fifth with 128 workers.",
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_sources_of_neighbouring_rows_place_a_drifting_stream_less_evenly",
)

FIGURE_33 = Exhibit(
    "fig33",
    "Highest throughput by number of workers (simulated workers and merges)",
    Drawing(Chart("workers", THROUGHPUT, [Lines("workers", "throughput", by="scheme")],
                  each=["application"])),
    _GAINS,
    [
        On(Measurement(
            QUEUEING,
            Grid({"application": ["VWAP", "hashtags"], "real": [False], "workers": "workers"}),
            _run_applications_in_queues,
            {
                "smoke": {"rows": 360_000, "keys": 100_000, "workers": [32, 128]},
                "paper": {
                    "rows": 10_000_000, "keys": 10_000_000,
                    "workers": [16, 32, 48, 64, 80, 96, 112, 128],
                },
            },
            DATA, {"smoke": 4, "paper": 125},
        )),
        On(_on_spark(["VWAP", "hashtags"], _run_applications_on_spark,
                     f"{SETS}; fewer keys at smoke size", 900),
           "Highest throughput by number of workers, on Spark",
           claims=[placed_exactly(workers=GIVEN), _as_queues(_NEIGHBOURS, "application")]),
    ],
)  # fmt: skip
