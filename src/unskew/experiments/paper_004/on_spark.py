"""Table 3 and Figure 11 on Spark: ten workers that wait for every row."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from unskew.experiments.claim import Claim, Verdict
from unskew.experiments.engine import SLOTS, count_keys_on_spark
from unskew.experiments.figure import Curve, Figure, Panel, lines
from unskew.experiments.paper_004.shared import (
    COUNTRIES,
    METHODS,
    METRICS,
    SECONDS,
    gains,
    measure,
    stream_of,
)
from unskew.experiments.rows import Row, Rows
from unskew.experiments.spec import SPARK, Experiment, Parameters, Unit

_WORKERS = 10


def _units(parameters: Parameters) -> Sequence[Unit]:
    return [
        {
            "skew": skew,
            "messages": parameters["messages"],
            "milliseconds": parameters["milliseconds"],
        }
        for skew in parameters["skews"]
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = stream_of(f"country-skew-r{unit['skew']}", unit["messages"], seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    rows = []
    for name, scheme in METHODS.items():
        if name == "DKG":
            # Each of Spark's tasks is a source with a clock of its own, and sees its share of rows.
            scheme += f":rate={unit['messages'] / SECONDS / SLOTS}"
        job = count_keys_on_spark(
            keys, _WORKERS, scheme, milliseconds=unit["milliseconds"], seed=seed
        )
        loads = np.array(job.loads)
        simulated = measure(name, _WORKERS, 5, stream, seed)["latency"]
        rows.append(
            {
                "skew": unit["skew"],
                "method": name,
                "latency": max(job.busy),
                "job_seconds": job.seconds,
                "stddev": float(np.std(100 * loads / loads.sum())),
                "dist_cost": job.partials / np.unique(keys).size,
                "throughput": keys.size / max(job.busy),
                "exact": job.exact,
                "simulated_seconds": simulated * unit["milliseconds"] / 1000,
            }
        )
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


def _exact(rows: Rows) -> Verdict:
    found = rows.values("exact")
    return Verdict(all(found), f"{sum(found)} of {len(found)} jobs")


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
    id="004/fig11-spark",
    title="Time, σ, DistCost and throughput as the skewness grows, on Spark",
    runs_on=SPARK,
    data=f"{COUNTRIES}; work is waiting, so that ten workers run on few cores, and the time is "
    "that of the busiest worker, so that starting a job does not count",
    sizes={
        "smoke": {"messages": 4_000, "milliseconds": 1.0, "skews": [0, 30, 68, 90]},
        "paper": {
            "messages": 100_000,
            "milliseconds": 1.0,
            "skews": [0, 10, 20, 30, 40, 50, 60, 68, 70, 80, 90, 100],
        },
    },
    seconds={"smoke": 45, "paper": 2500},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim("exact", "Placing rows changes no result.", "not said", _exact),
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
)
