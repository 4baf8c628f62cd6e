"""Figures 13, 14 and 33 on Spark: up to sixteen workers that wait for every row."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from unskew.hashing import Ids
from unskew.streams import zipf
from unskew.streams.base import Stream
from unskew_papers.claims import Claim, Verdict
from unskew_papers.engines.queues import placed_in_queues
from unskew_papers.engines.spark_jobs import SLOTS, JobResult, count_keys_on_spark
from unskew_papers.experiment import SPARK, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.popularity.applications import COMPARED, SETS, stream_of
from unskew_papers.popularity.applications_on_spark import FEW_WORKERS
from unskew_papers.popularity.highest_throughput import parallel_figure, published_gains
from unskew_papers.popularity.latencies import FIGURE_14, latency_panel, latency_rows
from unskew_papers.popularity.on_spark import SCHEMES_ON_SPARK
from unskew_papers.popularity.parallelism import THROUGHPUT, by_workers
from unskew_papers.rows import Row, Rows

_WITHIN = 0.15
_DATA = (
    "work is waiting, so that all workers run on few cores, and the time is that of the busiest "
    "worker; schemes that learn have seen the rows before"
)


def _keys_of(stream: Stream) -> Ids:
    return np.concatenate([batch.keys for batch in stream.batches()])


def _units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "keys", "milliseconds")}
    return [
        {"application": application, "workers": workers, **shared}
        for application in parameters["applications"]
        for workers in parameters["workers"]
    ]


def _run_zipf(unit: Unit, seed: int) -> Sequence[Row]:
    keys = _keys_of(zipf(unit["keys"], 1.0, unit["rows"], seed=seed))
    rows: list[Row] = []
    for name in SCHEMES_ON_SPARK:
        job, row = _measured(keys, unit, name, seed)
        rows.append(row)
        if unit["workers"] == SLOTS:
            times = job.row_seconds() / (unit["milliseconds"] / 1000)
            rows += latency_rows(times, scheme=name)
    return rows


def _run_applications(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(unit["application"], False, unit["rows"], unit["keys"], seed)
    keys = _keys_of(stream)
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


def _jobs(rows: Rows) -> Rows:
    return Rows(row for row in rows if row.get("workers") is not None)


def _figure_13(rows: Rows) -> Figure:
    here = _jobs(rows)
    queues = [
        Curve(f"{name} by queues", *here.curve("workers", "by_queues", scheme=name), "dashed")
        for name in here.distinct("scheme")
    ]
    return Figure([by_workers(here), Panel("workers", THROUGHPUT, queues)])


def _figure_14(rows: Rows) -> Figure:
    return Figure([latency_panel(_latencies(rows))])


def _latencies(rows: Rows) -> Rows:
    return Rows(row for row in rows if row.get("percent") is not None)


def _of_latencies(claim: Claim, rows: Rows) -> Verdict:
    return claim.check(_latencies(rows))


def _exact(rows: Rows) -> Verdict:
    found = _jobs(rows).values("exact")
    return Verdict(all(found), f"{sum(found)} of {len(found)} jobs")


def _grows(rows: Rows) -> Verdict:
    _, found = _jobs(rows).curve("workers", "throughput", scheme="PStream")
    return Verdict(found == sorted(found), " < ".join(f"{value:.1f}" for value in found))


def _as_queues_say(rows: Rows) -> Verdict:
    """Leave out PStream, which in queues learns from the very rows that it places."""
    ratios = [
        row["throughput"] / row["by_queues"] for row in _jobs(rows) if row["scheme"] != "PStream"
    ]
    holds = all(abs(ratio - 1) <= _WITHIN for ratio in ratios)
    return Verdict(holds, f"{min(ratios):.2f} … {max(ratios):.2f} times")


_EXACT = Claim("exact", "Placing rows changes no result.", "not said", _exact)
_AS_QUEUES = Claim(
    "as-queues",
    "Spark's throughput is that of queues with the same workers (our own).",
    f"within {_WITHIN:.0%}",
    _as_queues_say,
)


def _sizes(applications: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {
        "smoke": {
            "rows": 4_000, "keys": 1_000, "milliseconds": 0.5, "workers": [4, 16],
            "applications": list(applications),
        },
        "paper": {
            "rows": 100_000, "keys": 100_000, "milliseconds": 1.0,
            "workers": [2, 4, 8, 12, 16], "applications": list(applications),
        },
    }  # fmt: skip


FIGURE_13_ON_SPARK = Experiment(
    id="popularity/fig13-spark",
    title="Throughput by number of workers, Zipf-1.0, up to 16 workers on Spark",
    runs_on=SPARK,
    data=f"synthetic: ZF with fewer keys; {_DATA}",
    sizes=_sizes(["word count"]),
    seconds={"smoke": 15, "paper": 700},
    units=_units,
    run=_run_zipf,
    figure=_figure_13,
    claims=(
        _EXACT,
        Claim("grows", "PStream's throughput grows with the workers.", "growing", _grows),
        _AS_QUEUES,
    ),
)
FIGURE_14_ON_SPARK = replace(
    FIGURE_13_ON_SPARK,
    id="popularity/fig14-spark",
    title="Distribution of the latency, Zipf-1.0, 16 workers on Spark",
    figure=_figure_14,
    rows_of=FIGURE_13_ON_SPARK.id,
    seconds={"smoke": 0, "paper": 0},
    claims=tuple(
        replace(
            claim,
            check=partial(_of_latencies, claim),
            reason="In a micro-batch all rows are there at once, and each waits for those "
            "before it: what is seen is how even the workers are, not what a merge takes.",
        )
        for claim in FIGURE_14.claims
    ),
)
_NEIGHBOURS = (
    "PKG on trades, from 12 workers on: a source of the queues gets every eighth row, a task of "
    "Spark neighbouring ones. Which stocks are hot changes with time, so that tasks have different "
    "ones, and none knows how full the others make its two workers. Simulated sources that get "
    "neighbouring rows are as slow as Spark (10.7 of 16 workers' throughput); with the rows in no "
    "order they are as fast as the queues (13.1)."
)
FIGURE_33_ON_SPARK = Experiment(
    id="popularity/fig33-spark",
    title="Highest throughput by number of workers, up to 16 workers on Spark",
    runs_on=SPARK,
    data=f"{SETS}; fewer keys at smoke size; {_DATA}",
    sizes=_sizes(["VWAP", "hashtags"]),
    seconds={"smoke": 15, "paper": 900},
    units=_units,
    run=_run_applications,
    figure=parallel_figure,
    claims=(
        _EXACT,
        *(replace(claim, reason=FEW_WORKERS) for claim in published_gains(SLOTS)),
        replace(_AS_QUEUES, reason=_NEIGHBOURS),
    ),
)
