"""Table 3 and Figures 10b, 10c on Spark: a micro-batch is the aggregation period."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unskew_papers import datasets
from unskew_papers.claim import Claim, Verdict, explain
from unskew_papers.engine_stream import count_stream_on_spark
from unskew_papers.partial_key.latency import TABLE_3, table_figure
from unskew_papers.partial_key.memory import FIGURE_10B, FIGURE_10C
from unskew_papers.partial_key.throughput import FIGURE_10A, SCHEMES
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import SPARK, Experiment, Parameters, Unit

_WHOLE_BATCHES = (
    "Another engine: Spark starts a job for every period, which takes as long as the work of some "
    "thousand rows; and PKG's choices are made in Python, a step more in every job."
)
_IN_MICRO_BATCHES = {
    "key-grouping-lags": "A message waits for the end of its micro-batch, which is that of the "
    "busiest worker and to which the start of a job adds; the busiest of our ten workers has 18 % "
    "of the load, by the paper's latency it had 22 %.",
    "level-when-idle": "In a micro-batch all rows are there at once, so that even little work "
    "adds up to some tenths of a second on the busiest worker.",
}


TABLE_3_ON_SPARK = replace(
    FIGURE_10A,
    id="partial-key/table3-spark",
    title="Latency of a message by work, on Spark",
    data=f"{FIGURE_10A.data}; latency is from the start of a job to its result",
    figure=table_figure,
    rows_of=FIGURE_10A.id,
    seconds={"smoke": 0, "paper": 0},
    claims=tuple(
        replace(claim, explanation=_IN_MICRO_BATCHES[claim.name])
        for claim in TABLE_3.claims
        if claim.name in _IN_MICRO_BATCHES
    ),
)


def _units(parameters: Parameters) -> Sequence[Unit]:
    names = ("rows", "milliseconds", "periods", "key_workers")
    shared = {name: parameters[name] for name in names}
    return [
        {"data": data, "scheme": scheme, **shared}
        for data in datasets.names_for(parameters["set"])[: parameters["sets"]]
        for scheme in SCHEMES
    ]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = datasets.load(unit["data"], unit["rows"], 100_000, seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    scheme, workers = SCHEMES[unit["scheme"]]
    if unit["scheme"] == "KG":
        workers = unit["key_workers"]
    rows = []
    for period in unit["periods"]:
        parts = np.array_split(keys, keys.size // period)
        # The paper's streams have run for a while: here a first micro-batch lets Python start.
        first, *jobs = count_stream_on_spark(
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
                "exact": all(job.exact for job in (first, *jobs)),
            }
        )
    return rows


def _exact(rows: Rows) -> Verdict:
    found = rows.values("exact")
    return Verdict(all(found), f"{sum(found)} of {len(found)} streams")


def _on_spark(each: Experiment, symbol: str, milliseconds: float, key_workers: int) -> Experiment:
    shared = {"set": symbol, "milliseconds": milliseconds, "key_workers": key_workers}
    return replace(
        each,
        id=f"{each.id}-spark",
        title=f"{each.title}, on Spark",
        runs_on=SPARK,
        data=f"{datasets.describe(symbol)}; {milliseconds:g} ms of work, which is waiting; a "
        "period is a micro-batch of so many rows, and the throughput that of the median of all "
        "whole ones after the first",
        sizes={
            "smoke": {**shared, "rows": 6_000, "periods": [2_000, 6_000], "sets": 1},
            "paper": {
                **shared, "rows": 240_000, "periods": [10_000, 30_000, 60_000], "sets": 2,
            },
        },
        seconds={"smoke": 15, "paper": 500},
        units=_units,
        run=_run,
        claims=(
            Claim("exact", "Placing rows changes no result.", "not said", _exact),
            *explain(each.claims, _WHOLE_BATCHES, ["better-on-both", "published-gain"]),
        ),
    )  # fmt: skip


FIGURE_10B_ON_SPARK = _on_spark(FIGURE_10B, "WP", 0.4, 10)
FIGURE_10C_ON_SPARK = _on_spark(FIGURE_10C, "TW", 0.1, 16)
