"""Figures 9 to 11: what a threshold costs, and where it costs least."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.wrap import Wrap
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel, lines
from unskew_papers.rows import Row, Rows

_KEYS = 1_000
_NEAR = 0.1
"""What counts as near: a tenth of the axis."""
_WORKERS = 10
_AT_THE_MEAN = (
    "With both parts normalised the cost is smallest where the threshold is the mean frequency, "
    "1/1,000, whatever the law: a key above it adds more rows than a key's share of memory. The "
    "crossing lies somewhat higher for these two laws, and costs little more."
)


def _laws(name: str, seed: int) -> NDArray[np.float64]:
    """Return the frequencies of 1,000 keys.

    >>> float(round(_laws("Zipf", 0)[0], 2))
    0.23
    """
    weights = {
        "Zipf": np.arange(1, _KEYS + 1) ** -1.2,
        "normal": np.exp(-(np.linspace(-3, 3, _KEYS) ** 2) / 2),
        "random": np.random.default_rng(seed).random(_KEYS),
    }[name]
    frequencies: NDArray[np.float64] = weights / weights.sum()
    return frequencies


def _units(law: str, parameters: Parameters) -> Sequence[Unit]:
    return [{"law": law, "thresholds": parameters["thresholds"], "rows": parameters["rows"]}]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    law = _laws(unit["law"], seed)
    rows = [
        {
            "threshold": float(threshold),
            "rare_rows": float(law[law < threshold].sum()),
            "hot_keys": float((law >= threshold).mean()),
        }
        for threshold in np.linspace(0, law.max(), unit["thresholds"])
    ]
    split = _split_by_wrap(law, unit["rows"], seed)
    return [{**row, "cost": row["rare_rows"] + row["hot_keys"], "wrap": split} for row in rows]


def _split_by_wrap(law: NDArray[np.float64], rows: int, seed: int) -> float:
    """Return the same cost of the keys that `Wrap` splits for ten workers."""
    keys = np.random.default_rng(seed).choice(law.size, rows, p=law)
    wrap = Wrap(_WORKERS, seed=seed).learn(keys).build()
    split = [key for key in range(law.size) if len(wrap.candidates(key)) > 1]
    return float(1 - law[split].sum() + len(split) / law.size)


def _figure(rows: Rows) -> Figure:
    curves = [
        ("w_T·F_L", rows.curve("threshold", "rare_rows")),
        ("w_S·H", rows.curve("threshold", "hot_keys")),
        ("C(f)", rows.curve("threshold", "cost")),
    ]
    x, wrap = rows.curve("threshold", "wrap")
    split = Curve(f"wrap, {_WORKERS} workers", x, wrap, "dashed")
    return Figure([Panel("threshold f", "normalised", [*lines(curves), split])])


def _smallest_near_the_crossing(rows: Rows) -> Verdict:
    thresholds, costs = rows.curve("threshold", "cost")
    apart = [abs(row["rare_rows"] - row["hot_keys"]) for row in rows]
    best, crossing = thresholds[int(np.argmin(costs))], thresholds[int(np.argmin(apart))]
    near = abs(best - crossing) <= _NEAR * thresholds[-1]
    return Verdict(near, f"smallest at f = {best:.4f}, crossing at {crossing:.4f}")


def _monotonic(rows: Rows) -> Verdict:
    _, rare = rows.curve("threshold", "rare_rows")
    _, hot = rows.curve("threshold", "hot_keys")
    holds = rare == sorted(rare) and hot == sorted(hot, reverse=True)
    return Verdict(holds, "yes" if holds else "no")


def _experiment(number: int, law: str, what: str) -> Experiment:
    units: Callable[[Parameters], Sequence[Unit]] = partial(_units, law)
    return Experiment(
        id=f"popularity/fig{number}",
        title=f"Costs by frequency threshold, {what}",
        runs_on=SIMULATION,
        data=f"synthetic, as in the paper: 1,000 keys, {what}",
        sizes={
            "smoke": {"thresholds": 1_000, "rows": 50_000},
            "paper": {"thresholds": 1_000, "rows": 1_000_000},
        },
        seconds={"smoke": 1, "paper": 2},
        units=units,
        run=_run,
        figure=_figure,
        claims=(
            Claim(
                "monotonic",
                "Rows of rare keys become more with the threshold, hot keys fewer.",
                "monotonic",
                _monotonic,
            ),
            Claim(
                "smallest-near-the-crossing",
                "The cost is smallest near the threshold where both parts are equal.",
                "near (here: a tenth of the axis)",
                _smallest_near_the_crossing,
                _AT_THE_MEAN if law != "Zipf" else "",
            ),
        ),
    )


FIGURE_9 = _experiment(9, "Zipf", "Zipf distribution (α = 1.2)")
FIGURE_10 = _experiment(10, "normal", "normal distribution (δ = 1)")
FIGURE_11 = _experiment(11, "random", "random frequencies")
