"""Table 1: the data sets, those that stand for them, and how skewed they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unskew.simulator.loads import count_keys
from unskew_papers import datasets
from unskew_papers.checks import Near
from unskew_papers.claims import Claim
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Parameters, Unit
from unskew_papers.figures import Bars, Chart, Drawing
from unskew_papers.quantities import cell
from unskew_papers.rows import Row

_SYMBOLS = ("WP", "TW", "CT", "LJ")
_LOGNORMAL = {"LN1": (14.71, 16_000), "LN2": (7.01, 1_100)}


def _sets(parameters: Parameters) -> list[Mapping[str, Any]]:
    drawn = [{"data": name, "rows": parameters["lognormal"], "keys": 0} for name in _LOGNORMAL]
    names = [name for symbol in _SYMBOLS for name in datasets.names_for(symbol)]
    return [*drawn, *({"data": name} for name in names)]


def _published(name: str) -> tuple[float, int]:
    if name in _LOGNORMAL:
        return _LOGNORMAL[name]
    symbol = datasets.REAL[name].stands_for if name in datasets.REAL else name.rstrip("~")
    known = datasets.PUBLISHED[symbol]
    return 100 * known.p1, known.keys


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    stream = datasets.load(unit["data"], unit["rows"], unit["keys"], seed)
    _, counts = count_keys(stream)
    p1, keys = _published(unit["data"])
    return [
        {
            "data": unit["data"],
            "rows": int(counts.sum()),
            "keys": int(counts.size),
            "published_keys": keys,
            "p1_percent": float(100 * counts.max() / np.sum(counts)),
            "published_p1_percent": p1,
        }
    ]


TABLE_1 = Exhibit(
    "table1",
    "The data sets: rows, keys and share of the hottest key",
    Drawing(Chart("data set", "p1, share of the hottest key in %", [
        Bars("published", "{data}", "published_p1_percent"),
        Bars("here", "{data}", "p1_percent"),
    ])),
    (
        Claim("hottest-keys",
              "With the published parameters the hottest log-normal keys have these shares.",
              "LN1 14.71 %, LN2 7.01 %",
              Near({name: p1 for name, (p1, _) in _LOGNORMAL.items()},
                   {name: cell("p1_percent", data=name) for name in _LOGNORMAL},
                   off=0.5, form="{:.2f} %")),
        Claim("numbers-of-keys", "Ten million rows have so many log-normal keys.",
              "LN1 16,000, LN2 1,100",
              Near({name: keys for name, (_, keys) in _LOGNORMAL.items()},
                   {name: cell("keys", data=name) for name in _LOGNORMAL},
                   share=0.1, form="{:,}")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"set": _sets}, without=["lognormal"]), _run,
            {
                "smoke": {"lognormal": 10_000_000, "rows": 300_000, "keys": 100_000},
                "paper": {"lognormal": 10_000_000, "rows": 22_000_000, "keys": 5_000_000},
            },
            f"LN1 and LN2 as published; {datasets.describe(*_SYMBOLS)}",
            {"smoke": 8, "paper": 20},
        ))
    ],
)  # fmt: skip
