"""Figure 14: how long rows take, from their arrival to the end of their merge."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unskew.streams import zipf
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import CALIBRATED, Experiment, Parameters, Unit
from unskew_papers.figures import Figure, Panel, lines
from unskew_papers.popularity.parallelism import ZF
from unskew_papers.popularity.stage import (
    CALIBRATED_TEXT,
    SCHEMES,
    Latency,
    merge_cost_of,
    windows_of,
)
from unskew_papers.rows import Row, Rows

PERCENTILES = [5, *range(10, 100, 10), 95, 99]


def _latency_units(parameters: Parameters) -> Sequence[Unit]:
    names = ("rows", "keys", "workers", "calibration")
    return [{**{name: parameters[name] for name in names}, "scheme": scheme} for scheme in SCHEMES]


def latency_rows(times: np.ndarray[Any, Any], **fields: Any) -> list[Row]:
    """Return the percentiles of completion times."""
    found = np.percentile(times, PERCENTILES)
    return [
        {**fields, "percent": percent, "latency": float(value)}
        for percent, value in zip(PERCENTILES, found, strict=True)
    ]


def _latency_run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = zipf(unit["keys"], 1.0, unit["rows"], seed=seed)
    scheme, workers = unit["scheme"], unit["workers"]
    latency, cost = Latency(workers), merge_cost_of(unit)
    windows = windows_of(SCHEMES[scheme], workers, stream, seed=seed, merge_cost=cost)
    found = [latency.of(each) for each in windows]
    return latency_rows(np.concatenate(found[len(found) // 2 :]), scheme=scheme)


def latency_panel(rows: Rows, title: str = "") -> Panel:
    """Draw which share of the rows is done after how long."""
    curves = [
        (name, (rows.values("latency", scheme=name), rows.values("percent", scheme=name)))
        for name in rows.distinct("scheme")
    ]
    return Panel("latency, in rows of work", "rows in %", lines(curves), title=title, log_x=True)


def _figure_14(rows: Rows) -> Figure:
    return Figure([latency_panel(rows)])


def share_below(rows: Rows, scheme: str, limit: float) -> float:
    """Return which share of a scheme's rows, in percent, is done within a time."""
    _, times = rows.curve("percent", "latency", scheme=scheme)
    return float(np.interp(limit, times, PERCENTILES, left=0, right=100))


def _where_72_percent_are(rows: Rows) -> dict[str, float]:
    percents, times = rows.curve("percent", "latency", scheme="PStream")
    limit = float(np.interp(72, percents, times))
    return {name: share_below(rows, name, limit) for name in ("SG", "KG")}


def _below(name: str, published: float) -> Callable[[Rows], Verdict]:
    def check(rows: Rows) -> Verdict:
        found = _where_72_percent_are(rows)[name]
        return Verdict(found <= published, f"{found:.0f} %")

    return check


FIGURE_14 = Experiment(
    id="popularity/fig14",
    title="Distribution of the latency, Zipf-1.0, 64 workers (simulated queues)",
    runs_on=CALIBRATED,
    data=f"{ZF}; {CALIBRATED_TEXT}; rows arrive at 80 % of what the workers could do",
    sizes={
        "smoke": {"rows": 300_000, "keys": 100_000, "workers": 64},
        "paper": {"rows": 10_000_000, "keys": 10_000_000, "workers": 64},
    },
    seconds={"smoke": 3, "paper": 20},
    units=_latency_units,
    run=_latency_run,
    figure=_figure_14,
    claims=(
        Claim(
            "key-grouping-waits",
            "Within the time that 72 % of PStream's rows take, fewer of key grouping's are done.",
            "61 %",
            _below("KG", 61),
        ),
        Claim(
            "shuffle-waits",
            "Within that time even fewer of shuffle's are done, since every key is merged.",
            "19 %",
            _below("SG", 19),
            "On Spark a merge costs a fiftieth of a row's work, so that the aggregators keep up "
            "with shuffle; in the paper's cluster a merge took 300 ms on average.",
        ),
    ),
)
