"""Table 3 and Figure 11 on Spark: ten workers that wait for every row."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from unskew.hashing import Ids
from unskew.streams.base import Stream
from unskew_papers.calibration import Calibration
from unskew_papers.claim import Claim, Verdict, explain
from unskew_papers.dynamic_key.shared import (
    COUNTRIES,
    METHODS,
    METRICS,
    SECONDS,
    gains,
    measure,
    stream_of,
)
from unskew_papers.dynamic_key.skewness import FIGURE_10
from unskew_papers.engine import SLOTS, count_keys_on_spark
from unskew_papers.figure import Curve, Figure, Panel, lines
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import SPARK, Experiment, Parameters, Unit

_WORKERS = 10
WAITING = (
    "; work is waiting, so that all workers run on few cores, and the time is that of the busiest "
    "worker, so that starting a job does not count"
)
FEW_ROWS = (
    "Fewer rows than in the queues: a method that learns as rows come has hardly begun when a "
    "short batch ends, and each of Spark's tasks learns by itself."
)


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


def keys_of(stream: Stream) -> Ids:
    """Return the keys of a stream."""
    return np.concatenate([batch.keys for batch in stream.batches()])


def _units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "milliseconds", "calibration")}
    return [{"skew": skew, **shared} for skew in parameters["skews"]]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(f"country-skew-r{unit['skew']}", unit["rows"], seed)
    costs = Calibration.of(unit["calibration"])
    row_seconds = costs.row_with(unit["milliseconds"]) / 1000
    rows = []
    for name in METHODS:
        simulated = measure(name, _WORKERS, 5, stream, seed, row_seconds=row_seconds)["latency"]
        measured = spark_row(keys_of(stream), _WORKERS, name, unit, seed)
        rows.append({"skew": unit["skew"], **measured, "simulated_seconds": simulated})
    return rows


def _figure(rows: Rows) -> Figure:
    titles = {**METRICS, "latency": "seconds of the busiest worker", "throughput": "rows a second"}
    panels = [
        Panel(
            "skewness in %",
            title,
            lines([(name, rows.curve("skew", metric, method=name)) for name in METHODS]),
        )
        for metric, title in titles.items()
    ]
    simulated = [
        Curve(f"{name} simulated", *rows.curve("skew", "simulated_seconds", method=name), "dashed")
        for name in METHODS
    ]
    panels[0] = Panel(panels[0].x, panels[0].y, [*panels[0].curves, *simulated])
    return Figure(panels, columns=2)


def exact(rows: Rows) -> Verdict:
    """Ask whether every job gave the counts of a plain one."""
    found = rows.values("exact")
    return Verdict(all(found), f"{sum(found)} of {len(found)} jobs")


EXACT = Claim("exact", "Placing rows changes no result.", "not said", exact)


def _order(rows: Rows) -> Verdict:
    found = [rows.value("throughput", skew=68, method=name) for name in ("SG", "DKG", "PKG", "KG")]
    holds = all(left > right for left, right in pairwise(found))
    return Verdict(holds, " > ".join(f"{value:,.0f}" for value in found))


def _better_than_pkg(rows: Rows) -> Verdict:
    faster = gains(rows, "throughput", "PKG", "skew", lambda skew: skew > 30)
    evener = gains(rows, "stddev", "PKG", "skew", lambda skew: skew > 30)
    return Verdict(
        min(faster) > 1 and max(evener) < 1,
        f"throughput at least {min(faster):.2f}×, σ at most {max(evener):.2f}×",
    )


def _as_simulated(rows: Rows) -> Verdict:
    ratios = [row["latency"] / row["simulated_seconds"] for row in rows]
    holds = min(ratios) > 0.8 and max(ratios) < 1.25
    return Verdict(holds, f"{min(ratios):.2f} … {max(ratios):.2f} times the simulated time")


FIGURE_11_ON_SPARK = Experiment(
    id="dynamic-key/fig11-spark",
    title="Time, σ, DistCost and throughput as the skewness grows, on Spark",
    runs_on=SPARK,
    data=COUNTRIES + WAITING,
    sizes={
        "smoke": {
            "rows": 4_000, "milliseconds": 0.5, "skews": [0, 30, 40, 50, 60, 68, 80, 90],
        },
        "paper": {
            "rows": 100_000,
            "milliseconds": 1.0,
            "skews": [0, 10, 20, 30, 40, 50, 60, 68, 70, 80, 90, 100],
        },
    },
    seconds={"smoke": 45, "paper": 1650},
    calibrated=True,
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        EXACT,
        Claim(
            "throughput-order",
            "At 68 % shuffle has the highest throughput, then DKG, PKG and key grouping.",
            "9,511 > 4,529 > 2,739 > 1,344",
            _order,
        ),
        Claim(
            "better-above-30",
            "Above 30 % DKG has a higher throughput and a lower σ than PKG.",
            "at every skewness",
            _better_than_pkg,
        ),
        Claim(
            "as-simulated",
            "Workers take as long as simulated queues say (our own check of the simulation).",
            "the simulated time (here: −20 … +25 %)",
            _as_simulated,
            "Jobs of half a second on a machine that does other work, too.",
        ),
    ),
)  # fmt: skip


FIGURE_10_ON_SPARK = replace(
    FIGURE_11_ON_SPARK,
    id="dynamic-key/fig10-spark",
    title="Each method as the skewness grows, on Spark",
    figure=FIGURE_10.figure,
    rows_of=FIGURE_11_ON_SPARK.id,
    seconds={"smoke": 0, "paper": 0},
    claims=explain(
        FIGURE_10.claims,
        "Jobs of some tenths of a second on a machine that does other work, too.",
        ["shuffle-does-not-change"],
    ),
)
