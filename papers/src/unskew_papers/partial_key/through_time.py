"""Figure 5: imbalance through time, with and without probing the workers."""

from collections.abc import Sequence

import numpy as np

from unskew_papers import datasets
from unskew_papers.claim import Claim, Verdict
from unskew_papers.figure import Figure, Panel, lines
from unskew_papers.measuring import balance, loads_of
from unskew_papers.partial_key.shared import (
    BALANCED,
    ORDER_OF_MAGNITUDE,
    sets_by_workers,
)
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import SIMULATION, Experiment, Parameters, Unit

_POINTS = 24
_TECHNIQUES = {
    "H": "key",
    "G": "partial-key:load=global",
    "L5": "partial-key",
    "L5P1": "partial-key:load=probing,probe_every={every}",
    "wrap": "wrap",
}


def _units(parameters: Parameters) -> Sequence[Unit]:
    names = [name for symbol in ("TW", "WP", "CT") for name in datasets.names_for(symbol)]
    units = sets_by_workers(parameters, names)
    return [{**unit, "probes": parameters["probes"]} for unit in units]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    """Measure at evenly spaced points in time; probing comes so often in the whole stream."""
    stream = datasets.load(unit["data"], unit["rows"], unit["keys"], seed)
    every = max(1, (stream.rows or unit["rows"]) // (5 * unit["probes"]))
    hottest = datasets.hottest_share(stream)
    rows = []
    for name, scheme in _TECHNIQUES.items():
        spec = scheme.format(every=every)
        result = loads_of(spec, unit["workers"], stream, seed=seed, sources=5)
        chosen = np.linspace(0, len(result.series) - 1, _POINTS).astype(int)
        for point in chosen:
            seen, imbalance = result.series[point]
            rows.append(
                {
                    "data": unit["data"],
                    "workers": unit["workers"],
                    "technique": name,
                    "hottest": hottest,
                    "rows": seen,
                    "time": seen / result.rows,
                    "relative": imbalance / seen,
                    "fraction": balance(result)["fraction"],
                }
            )
    return rows


def _figure(rows: Rows) -> Figure:
    panels = []
    for data in rows.distinct("data"):
        for workers in rows.distinct("workers"):
            here = rows.where(data=data, workers=workers)
            curves = lines(
                [
                    (name, here.curve("time", "relative", technique=name))
                    for name in rows.distinct("technique")
                ]
            )
            title = f"{data}, W = {workers}"
            panels.append(Panel("share of the stream", "I(t)/t", curves, title=title, log_y=True))
    return Figure(panels, columns=len(rows.distinct("workers")))


def _averages(rows: Rows) -> list[Rows]:
    """Return one set of rows a setting, with the averages over time."""
    return [
        Rows(
            rows.where(data=data, workers=workers, technique=name)[0]
            for name in rows.distinct("technique")
        )
        for data in rows.distinct("data")
        for workers in rows.distinct("workers")
    ]


def _negligible(rows: Rows) -> Verdict:
    asked = [
        row
        for name in ("G", "L5")
        for row in rows.where(technique=name)
        if row["workers"] * row["hottest"] < 1 and row["time"] > 0.1
    ]
    worst = max(asked, key=lambda row: row["relative"])
    measured = f"{worst['relative']:.1e} at most ({worst['data']}, W = {worst['workers']})"
    return Verdict(worst["relative"] < BALANCED, measured)


def _probing_does_not_help(rows: Rows) -> Verdict:
    ratios = [
        here.value("fraction", technique="L5") / here.value("fraction", technique="L5P1")
        for here in _averages(rows)
    ]
    return Verdict(
        max(ratios) < ORDER_OF_MAGNITUDE,
        f"without probing at most {max(ratios):.1f} times the imbalance of with",
    )


def _near_the_oracle(rows: Rows) -> Verdict:
    ratios = [
        here.value("fraction", technique="L5") / here.value("fraction", technique="G")
        for here in _averages(rows)
    ]
    return Verdict(max(ratios) < ORDER_OF_MAGNITUDE, f"at most {max(ratios):.1f} times")


FIGURE_5 = Experiment(
    id="partial-key/fig5",
    title="Imbalance through time with a global oracle, local loads and probing",
    runs_on=SIMULATION,
    data=datasets.describe("TW", "WP", "CT"),
    sizes={
        "smoke": {"rows": 200_000, "keys": 100_000, "workers": [5, 10, 50, 100], "probes": 60},
        "paper": {
            "rows": 10_000_000,
            "keys": 3_100_000,
            "workers": [5, 10, 50, 100],
            "probes": 1440,
        },
    },
    seconds={"smoke": 8, "paper": 100},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim(
            "negligible",
            "PKG has negligible imbalance all the time, with global information or local "
            "estimation, unless the workers are too many for the keys.",
            "near zero through time where W suits the keys",
            _negligible,
            "Different data: there are only 457 stores, and purchases of one store come one after "
            "the other. On the sets with more keys it holds.",
        ),
        Claim(
            "probing-does-not-help",
            "Probing the workers' true loads does not improve local estimation.",
            "L5P1 no better than L5",
            _probing_does_not_help,
        ),
        Claim(
            "near-the-oracle",
            "Local estimation is always close to the global oracle.",
            "L5 near G",
            _near_the_oracle,
        ),
    ),
)
