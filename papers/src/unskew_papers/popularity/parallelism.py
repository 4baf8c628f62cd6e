"""Figures 13 and 15: throughput on Zipf streams, by workers and by skew."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from unskew.streams import zipf
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import CALIBRATED, Experiment, Parameters, Unit
from unskew_papers.figures import Figure, Panel, lines
from unskew_papers.popularity.skew_claims import SKEW_CLAIMS
from unskew_papers.popularity.stage import (
    CALIBRATED_TEXT,
    SCHEMES,
    merge_cost_of,
    settled,
    windows_of,
)
from unskew_papers.rows import Row, Rows

ZF = (
    "synthetic, as in the paper: ZF, Zipf with 10 million keys (fewer at smoke size), but at most "
    "10 million rows instead of a billion"
)
_DATA = f"{ZF}; {CALIBRATED_TEXT}"
DEAR_MERGES = "SG, merge = row"
"""Shuffle where a merge takes as long as a row: what the paper's shuffle suffers from."""
_SCHEMES = {**SCHEMES, DEAR_MERGES: SCHEMES["SG"]}
THROUGHPUT = "rows in the time of one row's work"


def throughput_rows(stream: Any, unit: Unit, schemes: Sequence[str], seed: int) -> list[Row]:
    """Return the settled throughput and σ of every scheme with the workers of a unit."""
    rows: list[Row] = []
    workers = unit["workers"]
    for name in schemes:
        cost = 1.0 if name == DEAR_MERGES else merge_cost_of(unit)
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


def by_workers(rows: Rows, **where: Any) -> Panel:
    """Draw the throughput of every scheme over the number of workers."""
    curves = [
        (name, rows.curve("workers", "throughput", scheme=name, **where))
        for name in rows.distinct("scheme")
    ]
    return Panel("workers", THROUGHPUT, lines(curves), title=str(next(iter(where.values()), "")))


def faster_than(other: str, by: float, **where: Any) -> Callable[[Rows], Verdict]:
    """Make the check that PStream's throughput exceeds another's at least by a share."""

    def check(rows: Rows) -> Verdict:
        found = [rows.value("throughput", scheme=name, **where) for name in ("PStream", other)]
        return Verdict(found[0] >= (1 + by) * found[1], f"{found[0] / found[1] - 1:+.0%}")

    return check


def _worker_units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "keys", "calibration")}
    return [{"workers": workers, "z": 1.0, **shared} for workers in parameters["workers"]]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = zipf(unit["keys"], unit["z"], unit["rows"], seed=seed)
    found = throughput_rows(stream, unit, list(_SCHEMES), seed)
    return [{"z": unit["z"], **row} for row in found]


def _figure_13(rows: Rows) -> Figure:
    return Figure([by_workers(rows)])


def _grows(rows: Rows) -> Verdict:
    _, found = rows.curve("workers", "throughput", scheme="PStream")
    return Verdict(found == sorted(found), " < ".join(f"{value:.0f}" for value in found))


def _shuffle_flattens(scheme: str, rows: Rows) -> Verdict:
    workers, found = rows.curve("workers", "throughput", scheme=scheme)
    at = dict(zip(workers, found, strict=True))
    before, after = at[80] / at[workers[0]], at[128] / at[80]
    return Verdict(
        before > 1.5 and after <= 1.05, f"8 → 80 workers {before:.1f}×, 80 → 128 {after:.2f}×"
    )


_SIZES = {
    "smoke": {"rows": 300_000, "keys": 100_000, "workers": [8, 32, 80, 128]},
    "paper": {
        "rows": 10_000_000,
        "keys": 10_000_000,
        "workers": [8, 16, 32, 48, 64, 80, 96, 112, 128],
    },
}
FIGURE_13 = Experiment(
    id="popularity/fig13",
    title="Throughput by number of workers, Zipf-1.0 (simulated workers and merges)",
    runs_on=CALIBRATED,
    data=_DATA,
    sizes=_SIZES,
    seconds={"smoke": 6, "paper": 195},
    units=_worker_units,
    run=_run,
    figure=_figure_13,
    claims=(
        Claim("grows", "PStream's throughput grows up to 128 workers.", "growing", _grows),
        Claim(
            "shuffle-flattens",
            "From 80 workers on shuffle's throughput does not grow.",
            "no growth after 80 (here: 5 %)",
            partial(_shuffle_flattens, "SG"),
            "On Spark a merge costs a fiftieth of a row's work, so that 32 aggregators keep up "
            "with 128 workers. The next claim has the reason of it.",
        ),
        Claim(
            "dear-merges-flatten",
            "Where a merge takes as long as a row, it does not (our own, to test the reason).",
            "no growth after 80 (here: 5 %)",
            partial(_shuffle_flattens, DEAR_MERGES),
            "With 10 million rows a window has more rows of each key, so fewer merges a row: 32 "
            "aggregators keep up with 112 workers, and not with 128.",
        ),
        Claim("beats-dkg", "With 128 workers PStream beats DKG.", "+32 %",
              faster_than("DKG", 0.32, workers=128)),
        Claim("beats-pkg", "With 128 workers PStream beats PKG.", "+21 %",
              faster_than("PKG", 0.21, workers=128)),
    ),
)  # fmt: skip


def _skew_units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "keys", "workers", "calibration")}
    return [{"z": z, **shared} for z in parameters["exponents"]]


def _figure_15(rows: Rows) -> Figure:
    curves = [
        (name, rows.curve("z", "throughput", scheme=name)) for name in rows.distinct("scheme")
    ]
    return Figure([Panel("Zipf coefficient", THROUGHPUT, lines(curves))])


FIGURE_15 = Experiment(
    id="popularity/fig15",
    title="Throughput by skew, 64 workers (simulated workers and merges)",
    runs_on=CALIBRATED,
    data=_DATA,
    sizes={
        "smoke": {
            "rows": 300_000, "keys": 100_000, "workers": 64, "exponents": [0.5, 1.0, 2.0],
        },
        "paper": {
            "rows": 10_000_000,
            "keys": 10_000_000,
            "workers": 64,
            "exponents": [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0],
        },
    },
    seconds={"smoke": 5, "paper": 130},
    units=_skew_units,
    run=_run,
    figure=_figure_15,
    claims=SKEW_CLAIMS,
)  # fmt: skip
