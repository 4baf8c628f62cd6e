"""Table 1: the data sets, those that stand for them, and how skewed they are."""

from collections.abc import Sequence

import numpy as np

from unskew.simulator.loads import count_keys
from unskew_papers import datasets
from unskew_papers.claim import Claim, Verdict
from unskew_papers.figure import Curve, Figure, Panel
from unskew_papers.rows import Row, Rows
from unskew_papers.spec import SIMULATION, Experiment, Parameters, Unit

_SYMBOLS = ("WP", "TW", "CT", "LJ")
_LOGNORMAL = {"LN1": (14.71, 16_000), "LN2": (7.01, 1_100)}


def _units(parameters: Parameters) -> Sequence[Unit]:
    drawn = [{"data": name, "rows": parameters["lognormal"], "keys": 0} for name in _LOGNORMAL]
    others = [
        {"data": name, "rows": parameters["rows"], "keys": parameters["keys"]}
        for symbol in _SYMBOLS
        for name in datasets.names_for(symbol)
    ]
    return drawn + others


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


def _figure(rows: Rows) -> Figure:
    names = rows.values("data")
    return Figure(
        [
            Panel(
                "data set",
                "p1, share of the hottest key in %",
                [
                    Curve("published", names, rows.values("published_p1_percent"), "bars"),
                    Curve("here", names, rows.values("p1_percent"), "bars"),
                ],
            )
        ]
    )


def _lognormal_shares(rows: Rows) -> Verdict:
    found = {name: rows.value("p1_percent", data=name) for name in _LOGNORMAL}
    holds = all(abs(found[name] - p1) < 0.5 for name, (p1, _) in _LOGNORMAL.items())
    return Verdict(holds, ", ".join(f"{name} {share:.2f} %" for name, share in found.items()))


def _lognormal_keys(rows: Rows) -> Verdict:
    found = {name: rows.value("keys", data=name) for name in _LOGNORMAL}
    holds = all(abs(found[name] / keys - 1) < 0.1 for name, (_, keys) in _LOGNORMAL.items())
    return Verdict(holds, ", ".join(f"{name} {keys:,}" for name, keys in found.items()))


TABLE_1 = Experiment(
    id="partial-key/table1",
    title="The data sets: rows, keys and share of the hottest key",
    runs_on=SIMULATION,
    data=f"LN1 and LN2 as published; {datasets.describe(*_SYMBOLS)}",
    sizes={
        "smoke": {"lognormal": 10_000_000, "rows": 300_000, "keys": 100_000},
        "paper": {"lognormal": 10_000_000, "rows": 22_000_000, "keys": 5_000_000},
    },
    seconds={"smoke": 8, "paper": 20},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim(
            "hottest-keys",
            "With the published parameters the hottest log-normal keys have these shares.",
            "LN1 14.71 %, LN2 7.01 %",
            _lognormal_shares,
        ),
        Claim(
            "numbers-of-keys",
            "Ten million rows have so many log-normal keys.",
            "LN1 16,000, LN2 1,100",
            _lognormal_keys,
        ),
    ),
)
