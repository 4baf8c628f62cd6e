"""Figures 13, 14 and 33: throughput and latency by number of workers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unskew.hashing import Ids
from unskew.streams import zipf
from unskew.streams.base import Stream
from unskew_papers.checks import Above, All, AtLeast, AtMost, Rises, Within
from unskew_papers.claims import Claim, Reason, placed_exactly
from unskew_papers.datasets import keys_of
from unskew_papers.engines.queues import placed_in_queues
from unskew_papers.engines.spark_jobs import SLOTS, JobResult, count_keys_on_spark
from unskew_papers.experiment import CALIBRATED, SPARK, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.popularity.applications import COMPARED, DATA, FEW_WORKERS, SETS, stream_of
from unskew_papers.popularity.stage import (
    CALIBRATED_TEXT,
    PERCENTILES,
    SCHEMES,
    SCHEMES_ON_SPARK,
    THROUGHPUT,
    Latency,
    latency_chart,
    latency_rows,
    merge_cost_of,
    settled,
    windows_of,
)
from unskew_papers.quantities import Computed, Quantity, cell
from unskew_papers.rows import GIVEN, LARGEST, SMALLEST, Row, Rows, other_than

ZF = (
    "synthetic, as in the paper: ZF, Zipf with 10 million keys (fewer at smoke size), but at most "
    "10 million rows instead of a billion"
)
_DEAR_MERGES = "SG, merge = row"
"""Shuffle where a merge takes as long as a row: what the paper's shuffle suffers from."""
_SCHEMES = {**SCHEMES, _DEAR_MERGES: SCHEMES["SG"]}


def run_zipf_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure all schemes on a Zipf stream."""
    stream = zipf(unit["keys"], unit["z"], unit["rows"], seed=seed)
    return [{"z": unit["z"], **row} for row in _throughputs(stream, unit, list(_SCHEMES), seed)]


def _run_applications_in_queues(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], unit["real"], unit["rows"], unit["keys"], seed)
    found = _throughputs(stream, unit, COMPARED, seed)
    return [{"application": unit["application"], **row} for row in found]


def _throughputs(stream: Stream, unit: Unit, schemes: Sequence[str], seed: int) -> list[Row]:
    """Return the settled throughput and σ of every scheme with the workers of a unit."""
    rows: list[Row] = []
    workers = unit["workers"]
    for name in schemes:
        cost = 1.0 if name == _DEAR_MERGES else merge_cost_of(unit)
        windows = settled(
            list(windows_of(_SCHEMES[name], workers, stream, seed=seed, merge_cost=cost))
        )
        rows.append(
            {
                "workers": workers,
                "scheme": name,
                "throughput": float(np.mean([window.throughput for window in windows])),
                "stddev_percent": float(np.mean([window.stddev_percent for window in windows])),
                "merges": float(np.mean([window.merged_keys.size for window in windows])),
            }
        )
    return rows


def _run_latencies(unit: Unit, seed: int) -> Sequence[Row]:
    stream = zipf(unit["keys"], 1.0, unit["rows"], seed=seed)
    scheme, workers = unit["scheme"], unit["workers"]
    latency, cost = Latency(workers), merge_cost_of(unit)
    windows = windows_of(SCHEMES[scheme], workers, stream, seed=seed, merge_cost=cost)
    found = [latency.of(each) for each in windows]
    return latency_rows(np.concatenate(found[len(found) // 2 :]), scheme=scheme)


def _run_zipf_on_spark(unit: Unit, seed: int) -> Sequence[Row]:
    keys = keys_of(zipf(unit["keys"], 1.0, unit["rows"], seed=seed))
    rows: list[Row] = []
    for name in SCHEMES_ON_SPARK:
        job, row = _measured(keys, unit, name, seed)
        rows.append(row)
        if unit["workers"] == SLOTS:
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
                "rows": 4_000, "keys": 1_000, "milliseconds": 0.5, "workers": [4, 16], **shared,
            },
            "paper": {
                "rows": 100_000, "keys": 100_000, "milliseconds": 1.0,
                "workers": [2, 4, 8, 12, 16], **shared,
            },
        },
        f"{data}; {_JOBS_DATA}",
        {"smoke": 15, "paper": paper_seconds},
    )  # fmt: skip


_ZIPF_ON_SPARK = _on_spark(["word count"], _run_zipf_on_spark, "synthetic: ZF with fewer keys", 700)

_WITHIN = 0.15


def _as_queues(reason: Reason | None = None) -> Claim:
    """Ask of all but PStream, which in queues learns from the very rows that it places."""
    return Claim(
        "as-queues",
        "Spark's throughput is that of queues with the same workers (our own).",
        f"within {_WITHIN:.0%}",
        Within(1 - _WITHIN, 1 + _WITHIN, cell("throughput") / cell("by_queues"),
               each=["scheme", "workers", *(["application"] if reason else [])],
               where={"workers": GIVEN, "scheme": other_than("PStream")}, form="{:.2f}×"),
        reason,
    )  # fmt: skip


def _gain(other: str) -> Quantity:
    return cell("throughput", scheme="PStream") / cell("throughput", scheme=other) - 1


def _flattens(scheme: str) -> All:
    """Ask for growth up to 80 workers, and for none from there to 128."""
    at_80 = cell("throughput", workers=80)
    return All(
        Above(1.5, {"up to 80 workers": at_80 / cell("throughput", workers=SMALLEST)},
              where={"scheme": scheme}, form="{:.1f}×"),
        AtMost(1.05, {"80 → 128": cell("throughput", workers=128) / at_80},
               where={"scheme": scheme}, form="{:.2f}×"),
    )  # fmt: skip


def _grows(says: str) -> Claim:
    check = Rises("throughput", "workers", where={"scheme": "PStream", "workers": GIVEN},
                  form="{:.1f}")  # fmt: skip
    return Claim("grows", says, "growing", check)


_BY_WORKERS = Chart("workers", THROUGHPUT, [Lines("workers", "throughput", by="scheme")])
_THE_128 = {"workers": 128}

FIGURE_13 = Exhibit(
    "fig13",
    "Throughput by number of workers, Zipf-1.0 (simulated workers and merges)",
    Drawing(_BY_WORKERS),
    (
        _grows("PStream's throughput grows up to 128 workers."),
        Claim("shuffle-flattens", "From 80 workers on shuffle's throughput does not grow.",
              "no growth after 80 (here: 5 %)", _flattens("SG"),
              Reason("On Spark a merge costs a fiftieth of a row's work, so that 32 aggregators "
                     "keep up with 128 workers. The next claim has the reason of it.")),
        Claim("dear-merges-flatten",
              "Where a merge takes as long as a row, it does not (our own, to test the reason).",
              "no growth after 80 (here: 5 %)", _flattens(_DEAR_MERGES),
              Reason("With 10 million rows a window has more rows of each key, so fewer merges per "
                     "row: 32 aggregators keep up with 112 workers, and not with 128.")),
        Claim("beats-dkg", "With 128 workers PStream beats DKG.", "+32 %",
              AtLeast(0.32, _gain("DKG"), where=_THE_128, form="{:+.0%}")),
        Claim("beats-pkg", "With 128 workers PStream beats PKG.", "+21 %",
              AtLeast(0.21, _gain("PKG"), where=_THE_128, form="{:+.0%}")),
    ),
    [
        On(Measurement(
            CALIBRATED, Grid({"workers": "workers", "z": [1.0]}), run_zipf_in_queues,
            {
                "smoke": {"rows": 300_000, "keys": 100_000, "workers": [8, 32, 80, 128]},
                "paper": {
                    "rows": 10_000_000, "keys": 10_000_000,
                    "workers": [8, 16, 32, 48, 64, 80, 96, 112, 128],
                },
            },
            f"{ZF}; {CALIBRATED_TEXT}", {"smoke": 6, "paper": 195},
        )),
        On(_ZIPF_ON_SPARK,
           "Throughput by number of workers, Zipf-1.0, up to 16 workers on Spark",
           draw=Drawing(
               _BY_WORKERS,
               Chart("workers", THROUGHPUT, [
                   Lines("workers", "by_queues", by="scheme", label="{scheme} by queues",
                         style="dashed")
               ]),
               where={"workers": GIVEN},
           ),
           claims=[placed_exactly(workers=GIVEN),
                   _grows("PStream's throughput grows with the workers."), _as_queues()],
           asks=()),
    ],
)  # fmt: skip


def _done_with_pstream(rows: Rows, scheme: str) -> float:
    """Return which share of a scheme's rows is done in the time that 72 % of PStream's take."""
    percents, times = rows.curve("percent", "latency", scheme="PStream")
    limit = float(np.interp(72, percents, times))
    _, of_scheme = rows.curve("percent", "latency", scheme=scheme)
    return float(np.interp(limit, of_scheme, PERCENTILES, left=0, right=100))


def _fewer_done(scheme: str, published: float) -> AtMost:
    share = Computed(_done_with_pstream, {"scheme": scheme})
    return AtMost(published, share, where={"percent": GIVEN}, form="{:.0f} %")


_ALL_AT_ONCE = Reason(
    "In a micro-batch all rows are there at once, and each waits for those before it: what is seen "
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
              "19 %", _fewer_done("SG", 19),
              Reason("On Spark a merge costs a fiftieth of a row's work, so that the aggregators "
                     "keep up with shuffle; in the paper's cluster a merge took 300 ms on "
                     "average.")),
    ),
    [
        On(Measurement(
            CALIBRATED, Grid({"scheme": list(SCHEMES)}), _run_latencies,
            {
                "smoke": {"rows": 300_000, "keys": 100_000, "workers": 64},
                "paper": {"rows": 10_000_000, "keys": 10_000_000, "workers": 64},
            },
            f"{ZF}; {CALIBRATED_TEXT}; rows arrive at 80 % of what the workers could do",
            {"smoke": 3, "paper": 20},
        )),
        On(_ZIPF_ON_SPARK, "Distribution of the latency, Zipf-1.0, 16 workers on Spark",
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
        AtLeast(by, _gain(other), where={"application": name, "workers": LARGEST}, form="{:+.0%}"),
    )
    for name, other, by in _PUBLISHED_GAINS
)
_NEIGHBOURS = Reason(
    "PKG on trades, from 12 workers on: a source of the queues gets every eighth row, a task of "
    "Spark neighbouring ones. Which stocks are hot changes with time, so that tasks have different "
    "ones, and none knows how full the others make its two workers. Simulated sources that get "
    "neighbouring rows are as slow as Spark (10.7 of 16 workers' throughput); with the rows in no "
    "order they are as fast as the queues (13.1)."
)

FIGURE_33 = Exhibit(
    "fig33",
    "Highest throughput by number of workers (simulated workers and merges)",
    Drawing(Chart("workers", THROUGHPUT, [Lines("workers", "throughput", by="scheme")],
                  each=["application"])),
    _GAINS,
    [
        On(Measurement(
            CALIBRATED,
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
           "Highest throughput by number of workers, up to 16 workers on Spark",
           claims=[placed_exactly(workers=GIVEN),
                   *(claim.because(FEW_WORKERS) for claim in _GAINS), _as_queues(_NEIGHBOURS)],
           asks=()),
    ],
)  # fmt: skip
