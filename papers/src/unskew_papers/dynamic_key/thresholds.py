"""Table 1: from which load on a key may take one more worker, and how many it may have."""

from collections.abc import Callable, Sequence

import numpy as np

from unskew.groupings.dynamic_key import thresholds
from unskew.streams import from_keys
from unskew_papers.claim import Claim, Verdict
from unskew_papers.figure import Curve, Figure, Panel, lines
from unskew_papers.measuring import loads_of
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import SIMULATION, Experiment, Parameters, Unit

_PUBLISHED = {
    5: (20.00, 24.47, 5),
    10: (10.00, 13.16, 8),
    20: (5.00, 7.24, 14),
    50: (2.00, 3.41, 30),
    100: (1.00, 2.00, 51),
}
_PRINTED = 0.01
"""The paper prints two digits, some rounded and some cut off."""
_SECONDS = 4_000
"""Event time of the stream: enough for the key to take all its workers."""


def _units(parameters: Parameters) -> Sequence[Unit]:
    return [{"workers": workers, "rows": parameters["rows"]} for workers in _PUBLISHED]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    """Compute the thresholds, and see how many workers a stream of one key comes to use."""
    workers, rows = unit["workers"], unit["rows"]
    ideal, threshold, most = thresholds(workers)
    stream = from_keys(np.zeros(rows, np.uint64))
    used = {
        name: loads_of(scheme, workers, stream, seed=seed).replication
        for name, scheme in (("dkg", f"dynamic-key:rate={rows / _SECONDS}"), ("wrap", "wrap"))
    }
    return [
        {
            "workers": workers,
            "ideal_load": ideal,
            "threshold_load": threshold,
            "max_workers": most,
            "used_by_dkg": used["dkg"],
            "used_by_wrap": used["wrap"],
        }
    ]


def _figure(rows: Rows) -> Figure:
    loads = [
        (name, rows.curve("workers", column))
        for name, column in (("ideal", "ideal_load"), ("threshold", "threshold_load"))
    ]
    most = rows.curve("workers", "max_workers")
    used = [
        (f"{name}, a stream of one key", rows.curve("workers", f"used_by_{name.lower()}"))
        for name in ("DKG", "wrap")
    ]
    return Figure(
        [
            Panel("machines", "load in %", lines(loads)),
            Panel("machines", "workers a key", [Curve("most", *most, "dashed"), *lines(used)]),
        ]
    )


def _column(name: str, place: int) -> Callable[[Rows], Verdict]:
    def check(rows: Rows) -> Verdict:
        found = {workers: rows.value(name, workers=workers) for workers in _PUBLISHED}
        holds = all(
            abs(found[workers] - published[place]) <= _PRINTED
            for workers, published in _PUBLISHED.items()
        )
        return Verdict(holds, ", ".join(f"{value:.2f}" for value in found.values()))

    return check


def _limit_is_reached(rows: Rows) -> Verdict:
    used = rows.values("used_by_dkg")
    return Verdict(used == rows.values("max_workers"), ", ".join(f"{n:.0f}" for n in used))


TABLE_1 = Experiment(
    id="dynamic-key/table1",
    title="Ideal load, threshold load and most workers a key, by number of machines",
    runs_on=SIMULATION,
    data="a formula; beside it, what a stream of one single key comes to use",
    sizes={"smoke": {"rows": 200_000}, "paper": {"rows": 10_000_000}},
    seconds={"smoke": 1, "paper": 10},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim(
            "ideal-loads", "The ideal load is 100/W percent.", "20, 10, 5, 2, 1",
            _column("ideal_load", 0),
        ),
        Claim(
            "threshold-loads",
            "A key may take one more worker from the ideal load plus its root on.",
            "24.47, 13.16, 7.24, 3.41, 2.00",
            _column("threshold_load", 1),
        ),
        Claim(
            "most-workers", "A key has at most so many workers.", "5, 8, 14, 30, 51",
            _column("max_workers", 2),
        ),
        Claim(
            "limit-is-reached",
            "Where all rows have one key, it comes to use as many workers as it may.",
            "5, 8, 14, 30, 51",
            _limit_is_reached,
        ),
    ),
)  # fmt: skip
