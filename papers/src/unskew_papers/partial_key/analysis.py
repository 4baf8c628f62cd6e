"""What the paper says beside its figures: § 5's example and theorem, and G's and L's agreement."""

from collections.abc import Sequence

import numpy as np

from unskew.groupings.partial_key import PartialKey
from unskew.streams import uniform
from unskew.streams.base import Stream
from unskew_papers import datasets
from unskew_papers.checks import All, AtLeast, AtMost, Below, Near, Rises
from unskew_papers.claims import Claim
from unskew_papers.engines.simulation import loads_of
from unskew_papers.experiment import SIMULATION, Chunks, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Bars, Chart, Drawing, Lines
from unskew_papers.partial_key.local_loads import BALANCED, disagreement
from unskew_papers.quantities import cell, largest, smallest
from unskew_papers.rows import FIRST, Row, Rows


def _run_bounds(unit: Unit, seed: int) -> Sequence[Row]:
    """Put as many keys as workers on them, and five times as many; imbalance is in rows per mean.

    Hash functions are independent, as in § 5: the choices of a key may coincide.
    """
    n, rows = unit["n"], max(unit["rows"], unit["n"] ** 2)
    found = []
    for draw in range(seed + unit["first"], seed + unit["first"] + unit["draws"]):
        few = uniform(n, rows, seed=draw)
        grouping = PartialKey(n, distinct=False, seed=draw)
        reached = {worker for key in range(n) for worker in grouping.candidates(key)}
        many = uniform(5 * n, rows, seed=draw)
        found.append(
            {
                "n": n,
                "reached": len(reached) / n,
                "n keys": _in_means(few, n, 2, draw),
                "one choice": _in_means(many, n, 1, draw),
                "two choices": _in_means(many, n, 2, draw),
            }
        )
    return found


def _in_means(stream: Stream, workers: int, choices: int, seed: int) -> float:
    """Return by how many mean loads the largest one exceeds the mean."""
    scheme = f"partial-key:choices={choices},distinct=false"
    return loads_of(scheme, workers, stream, seed=seed).imbalance_percent / 100


def _means(rows: Rows) -> Rows:
    names = ("reached", "n keys", "one choice", "two choices")
    return Rows(
        {**setting, **{name: float(np.mean(here.values(name))) for name in names}}
        for setting, here in rows.each("n")
    )


SECTION_5 = Exhibit(
    "section5",
    "§ 5: workers that n keys reach, and imbalance with one and with two choices",
    Drawing(
        Chart("workers n", "part of the workers", [Lines("n", "reached")]),
        Chart("workers n", "I(m) / (m/n)", [
            Lines("n", name, label=label) for name, label in (
                ("n keys", "n keys, d = 2"), ("one choice", "5n keys, d = 1"),
                ("two choices", "5n keys, d = 2"))
        ]),
    ),
    (
        Claim("reached", "With two choices each, n keys reach only 1 − 1/e² of n workers.",
              "≈ 0.865",
              Near(0.865, cell("reached"), off=0.025, each=["n"], form="{:.3f}")),
        Claim("overpopulated",
              "So the imbalance of n keys is at least 0.156 m/n (the text has lost the n).",
              "at least 0.156",
              AtLeast(0.156, cell("n keys"), each=["n"], form="{:.2f} m/n")),
        Claim("one-choice-grows",
              "With one choice imbalance is of the order of m/n · ln n / ln ln n: more with more "
              "workers (Theorem 5.1, 5n keys of equal frequency).",
              "grows with n", Rises("one choice", "n", strictly=True, form="{:.2f}")),
        Claim("two-choices-do-not",
              "With two choices it stays of the order of m/n, however many the workers "
              "(Theorem 5.1).",
              "O(m/n) (here: within 2×)",
              AtMost(2, {"largest by smallest": largest("two choices") / smallest("two choices")},
                     form="{:.2f}×")),
    ),
    [
        On(Measurement(
            SIMULATION, Chunks(Grid({"n": "workers"}), "draws", 10), _run_bounds,
            {
                "smoke": {"rows": 100_000, "workers": [16, 64, 256], "draws": 10},
                "paper": {"rows": 1_000_000, "workers": [16, 64, 256, 1024], "draws": 50},
            },
            "synthetic, as in the paper: keys of equal frequency, at least n² rows",
            {"smoke": 3, "paper": 60}, combine=_means,
        ))
    ],
)  # fmt: skip


def _run_agreement(unit: Unit, seed: int) -> Sequence[Row]:
    """Compare where five sources apart and the oracle send every row."""
    workers = unit["workers"]
    stream = datasets.load(unit["data"], unit["rows"], unit["keys"], seed)
    local, oracle = (PartialKey(workers, load=load, seed=seed) for load in ("local", "global"))
    same = 1 - disagreement(stream, local, oracle, 5) / 100
    found = loads_of("partial-key", workers, stream, seed=seed, sources=5)
    return [
        {
            "data": unit["data"],
            "workers": workers,
            "same_percent": 100 * same,
            "jaccard_percent": 100 * same / (2 - same),
            "fraction": found.average_imbalance_fraction,
        }
    ]


AGREEMENT = Exhibit(
    "agreement",
    "Rows that local estimation and the oracle send to the same worker, WP",
    Drawing(Chart("data set and workers", "%", [
        Bars("same worker", "{data}, W = {workers}", "same_percent"),
        Bars("Jaccard overlap", "{data}, W = {workers}", "jaccard_percent"),
    ])),
    (
        Claim("agreement",
              "Both balance very well, and yet agree on the destination of only 47 % of the rows "
              "(Jaccard overlap; for how many workers is not said).",
              "47 %",
              All(Near(47, cell("jaccard_percent"), off=5, each=["workers"], where={"data": FIRST},
                       form="{:.0f} %"),
                  Below(BALANCED, {"imbalance": cell("fraction")}, each=["data", "workers"],
                        form="{:.1e}"))),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"data": lambda _: datasets.names_for("WP"), "workers": [5, 10]}),
            _run_agreement,
            {
                "smoke": {"rows": 300_000, "keys": 100_000},
                "paper": {"rows": 22_000_000, "keys": 2_900_000},
            },
            datasets.describe("WP"), {"smoke": 2, "paper": 40},
        ))
    ],
)  # fmt: skip
