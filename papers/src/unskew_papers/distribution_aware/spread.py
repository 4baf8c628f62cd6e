"""Figure 4: how the standard deviation is spread over the mappings."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unskew import metrics
from unskew_papers.checks import Below, Near, Ordered
from unskew_papers.claims import TEXT, Claim, Reason
from unskew_papers.distribution_aware.mappings import (
    DATA,
    WRAP,
    in_chunks,
    streams,
    trained,
    tuples_of,
)
from unskew_papers.experiment import SIMULATION, Exhibit, Measurement, On, Unit
from unskew_papers.figures import Curve, Figure, Panel
from unskew_papers.quantities import Computed, largest, smallest
from unskew_papers.rows import Row, Rows

_SCHEMES = {"DKG": "distribution-aware", "Universal": "universal", "wrap": WRAP}
_INSTANCES = (2, 5)
_BIN = 200
_SUMS = ("count", "total", "squares")
"""What is kept of the runs in a bin: how many, the sum of their σ and of its squares."""


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    """Count how often σ, rounded to the nearest multiple of 200, comes up."""
    rows = []
    for number, learning, validation in streams(unit, unit["alpha"], seed):
        for k in _INSTANCES:
            for label, scheme in _SCHEMES.items():
                workers = trained(scheme, k, learning, validation, number).route_many(validation)
                sigma = metrics.stddev(tuples_of(workers, k))
                found = {"count": 1, "total": sigma, "squares": sigma**2}
                rows.append({"scheme": label, "k": k, "sigma": _BIN * round(sigma / _BIN), **found})
    return list(_combine(Rows(rows)))


def _combine(rows: Rows) -> Rows:
    """Sum up what fell into each bin."""
    bins: defaultdict[tuple[str, int, int], NDArray[np.float64]] = defaultdict(lambda: np.zeros(3))
    for row in rows:
        bins[row["scheme"], row["k"], row["sigma"]] += [row[name] for name in _SUMS]
    return Rows(
        {"scheme": scheme, "k": k, "sigma": sigma, "count": int(sums[0]),
         "total": float(sums[1]), "squares": float(sums[2])}
        for (scheme, k, sigma), sums in sorted(bins.items())
    )  # fmt: skip


def _draw(rows: Rows) -> Figure:
    """Draw a bar for every bin, those that are empty among them."""
    panels = []
    for k in _INSTANCES:
        bins = range(0, max(rows.values("sigma", k=k)) + _BIN, _BIN)
        curves = []
        for name in _SCHEMES:
            found = dict(zip(*rows.curve("sigma", "count", scheme=name, k=k), strict=True))
            curves.append(Curve(name, list(bins), [found.get(each, 0) for each in bins], "bars"))
        panels.append(Panel("standard deviation σ", "runs", curves, title=f"k = {k}"))
    return Figure(panels, columns=1)


def _deviation(rows: Rows, scheme: str) -> float:
    """Return the standard deviation of σ over the runs."""
    here = rows.where(scheme=scheme)
    count, total, squares = (sum(here.values(name)) for name in _SUMS)
    return float((squares / count - (total / count) ** 2) ** 0.5)


_NARROWER = Computed(_deviation, {"scheme": "DKG"}) / Computed(_deviation, {"scheme": "Universal"})
_LUCK = Reason(
    "Over 10,000 runs even the best possible placement overlaps with Universal's luckiest. How "
    "often the hottest key was drawn moves σ of every placement, so with five instances O-apx's "
    "worst run lies above Universal's best.",
    kind=TEXT,
    shown_by="papers/tests/test_reasons_distribution_aware.py"
    "::test_not_even_the_best_placement_is_always_below_universal",
)

FIGURE_4 = Exhibit(
    "fig4",
    "Distribution of the standard deviation over the runs, Zipf-2",
    _draw,
    (
        Claim("never-better",
              "Universal does no better than DKG's worst result, for 2 and for 5 instances.",
              "no overlap",
              Ordered({"Universal from": smallest("sigma", scheme="Universal"),
                       "DKG up to": largest("sigma", scheme="DKG")},
                      each=["k"], or_equal=True, form="{:,}"),
              _LUCK),
        Claim("universal-spans", "With two instances Universal's σ spans a wide range.",
              "2,800 … 9,600",
              Near({"from": 2800, "to": 9600},
                   {"from": smallest("sigma"), "to": largest("sigma")}, off=2 * _BIN,
                   where={"scheme": "Universal", "k": 2}, form="{:,}")),
        Claim("dkg-is-narrow",
              "DKG's σ has an extremely small variance for both numbers of instances.",
              "extremely small (here: below a tenth of Universal's standard deviation)",
              Below(0.1, _NARROWER, each=["k"], form="{:.1%} of Universal's")),
    ),
    [
        On(Measurement(
            SIMULATION, in_chunks({"alpha": [2.0]}), _run,
            {"smoke": {"mappings": 200}, "paper": {"mappings": 10_000}}, DATA,
            {"smoke": 4, "paper": 60}, combine=_combine,
        ))
    ],
)  # fmt: skip
