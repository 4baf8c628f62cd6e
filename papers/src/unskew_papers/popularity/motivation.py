"""Figures 2 to 6: what shuffle and key grouping cost, and how skewed the paper's sets are."""

from collections.abc import Sequence

import numpy as np

from unskew.streams import zipf
from unskew_papers.checks import Above, AtLeast, AtMost, Near, Rises
from unskew_papers.claims import Claim
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Bars, Chart, Drawing, Lines
from unskew_papers.popularity.applications import APPLICATIONS
from unskew_papers.popularity.skew import ZIPF_BY_SKEW
from unskew_papers.popularity.stage import THROUGHPUT, windows_of
from unskew_papers.popularity.workers import FLATTENS, FROM_80, ONE_COST, ZIPF_BY_WORKERS
from unskew_papers.quantities import cell, largest, mean
from unskew_papers.rows import LARGEST, SMALLEST, Row

_BASELINES = ["SG", "KG"]
_OF_ALL_ROWS = 0.8
_KEY_SHARES = {"word count": 0.3, "VWAP": 8.0, "roads": 24.0}
"""Percent of the keys that have 80 % of the rows in Figure 5: of words, stocks and locations."""
_INSTANCES = 180


def run_shares(unit: Unit, seed: int) -> Sequence[Row]:  # noqa: ARG001 (a law has no seed)
    """Return which share of the keys has 80 % of the rows, by the law that rows are drawn by."""
    known = APPLICATIONS[unit["application"]]
    law = np.arange(1, known.keys + 1) ** -known.exponent
    reached = np.searchsorted(np.cumsum(law), _OF_ALL_ROWS * law.sum()) + 1
    return [
        {
            "application": unit["application"],
            "data": f"{known.symbol}~",
            "published_percent": _KEY_SHARES[unit["application"]],
            "percent": float(100 * reached / known.keys),
        }
    ]


def run_instances(unit: Unit, seed: int) -> Sequence[Row]:
    """Return the rows of each of 180 workers under key grouping."""
    known = APPLICATIONS["word count"]
    stream = zipf(min(unit["keys"], known.keys), known.exponent, unit["rows"], seed=seed)
    loads = [window.loads for window in windows_of("key", _INSTANCES, stream, seed=seed)]
    return [
        {"worker": worker, "rows": int(load)} for worker, load in enumerate(np.sum(loads, axis=0))
    ]


FIGURE_2A = Exhibit(
    "fig2a",
    "Throughput of shuffle and key grouping by number of workers, Zipf-1.0",
    Drawing(Chart("workers", THROUGHPUT, [
        Lines("workers", "throughput", by="scheme", only=_BASELINES)])),
    (
        Claim("shuffle-stops", "Shuffle's throughput grows at first, and then no more.",
              "stops (by Figure 13 at 80 workers)", FLATTENS),
        Claim("key-grows", "Key grouping's keeps increasing.",
              "increasing (here: more with 128 than with 80)",
              Above(1, FROM_80, where={"scheme": "KG"}, form="{:.2f}×")),
    ),
    [On(ZIPF_BY_WORKERS)],
)  # fmt: skip
FIGURE_2B = Exhibit(
    "fig2b",
    "Throughput of key grouping by skew, 64 workers",
    Drawing(Chart("Zipf coefficient", THROUGHPUT, [
        Lines("z", "throughput", by="scheme", only=_BASELINES)])),
    (
        Claim("falls", "Key grouping's throughput decreases with the skew.",
              "significantly (here: to half or less)",
              AtMost(0.5, cell("throughput", z=LARGEST) / cell("throughput", z=SMALLEST),
                     where={"scheme": "KG"}, form="{:.0%}")),
    ),
    [On(ZIPF_BY_SKEW)],
)  # fmt: skip
FIGURE_3 = Exhibit(
    "fig3",
    "Counters that all workers hold, by number of workers, Zipf-1.0",
    Drawing(Chart("workers", "counters", [
        Lines("workers", "counters", by="scheme", only=[*_BASELINES, "PStream"])])),
    (
        Claim("grows", "Shuffle's memory increases with the number of workers.",
              "significantly (here: with every step)",
              Rises("counters", "workers", strictly=True, where={"scheme": "SG"},
                    form="{:,.0f}")),
    ),
    [On(ZIPF_BY_WORKERS)],
)  # fmt: skip
FIGURE_4 = Exhibit(
    "fig4",
    "Share of merges in the work of shuffle, by number of workers, Zipf-1.0",
    Drawing(Chart("workers", "merges, in % of all work", [
        Lines("workers", "merging_percent", by="scheme", only=["SG", "PStream"])])),
    (
        Claim("rises", "What merges cost increases with the number of workers.", "increasing",
              Rises("merging_percent", "workers", where={"scheme": "SG"}, form="{:.0f} %")),
        Claim("share", "Merges are this share of the time, with the fewest and the most workers.",
              "30.48 … 60.46 %",
              Near({"fewest": 30.48, "most": 60.46},
                   {"fewest": cell("merging_percent", workers=SMALLEST),
                    "most": cell("merging_percent", workers=LARGEST)},
                   share=0.1, where={"scheme": "SG"}, form="{:.0f} %"), ONE_COST),
    ),
    [On(ZIPF_BY_WORKERS)],
)  # fmt: skip
FIGURE_5 = Exhibit(
    "fig5",
    "Share of the keys that have 80 % of the rows",
    Drawing(Chart("data", "keys in %", [
        Bars("drawn", "{data}", "percent"), Bars("the paper's", "{data}", "published_percent")])),
    (
        Claim("as-drawn", "So few keys have 80 % of the rows (the drawn sets are made to it).",
              "3 ‰, 8 %, 24 %",
              Near(1, cell("percent") / cell("published_percent"), share=0.15,
                   each=["data"], form="{:.2f}×")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"application": list(_KEY_SHARES)}), run_shares,
            {"smoke": {}, "paper": {}},
            "the laws that stand for TW, ST and TX: Zipf with the published numbers of keys",
            {"smoke": 1, "paper": 1},
        ))
    ],
)  # fmt: skip
FIGURE_6 = Exhibit(
    "fig6",
    f"Rows of {_INSTANCES} workers under key grouping, word count",
    Drawing(Chart("worker", "rows", [Lines("worker", "rows", style="points")], log_y=True)),
    (
        Claim("skewed", "Loads are highly skewed.",
              "highly (here: the busiest has five times the mean)",
              AtLeast(5, largest("rows") / mean("rows"), form="{:.0f}×")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid(), run_instances,
            {"smoke": {"rows": 300_000, "keys": 100_000},
             "paper": {"rows": 10_000_000, "keys": 10_000_000}},
            "drawn for TW: Zipf-1.10 with 5.7 million keys (fewer at smoke size)",
            {"smoke": 1, "paper": 10},
        ))
    ],
)  # fmt: skip
