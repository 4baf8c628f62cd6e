"""Theorem 4.3: what a cell of the sketch says of an item's execution time, on average."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.sketches.cost_sketch import CostSketch
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Figure, Panel, lines
from unskew_papers.rows import Row, Rows

_COLUMNS, _ITEMS, _LONGEST = 55, 4_096, 64
_COSTS = np.tile(np.arange(1.0, _LONGEST + 1), _ITEMS // _LONGEST)
"""Every execution time has 64 items; each item comes equally often."""


def _units(parameters: Parameters) -> Sequence[Unit]:
    return [{"sketches": parameters["sketches"]}]


def _expected(cost: float) -> float:
    """Return the theorem's E{W_v/C_v} of an item with that execution time."""
    total, n, k = float(_COSTS.sum()), _ITEMS, _COLUMNS
    hit = 1 - (1 - 1 / k) ** n
    return (total - cost) / (n - 1) - k * (total - n * cost) / (n * (n - 1)) * hit


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    estimates: NDArray[np.float64] = np.zeros(_ITEMS)
    for number in range(unit["sketches"]):
        sketch = CostSketch(epsilon=math.e / _COLUMNS, delta=0.5, seed=seed + number)
        sketch.update_many(np.arange(_ITEMS), _COSTS)
        estimates += sketch.estimate_many(np.arange(_ITEMS)) / unit["sketches"]
    return [
        {
            "execution_time": cost,
            "theorem": _expected(cost),
            "measured": float(estimates[cost == _COSTS].mean()),
        }
        for cost in range(1, _LONGEST + 1)
    ]


def _figure(rows: Rows) -> Figure:
    curves = [(name, rows.curve("execution_time", name)) for name in ("theorem", "measured")]
    return Figure([Panel("execution time of an item", "mean of W/F in its cell", lines(curves))])


def _range(rows: Rows) -> Verdict:
    low, high = min(rows.values("theorem")), max(rows.values("theorem"))
    holds = (math.floor(100 * low) / 100, math.ceil(100 * high) / 100) == (32.08, 32.92)
    return Verdict(holds, f"[{low:.3f}, {high:.3f}]")


def _measured(rows: Rows) -> Verdict:
    off = max(abs(row["measured"] - row["theorem"]) for row in rows)
    return Verdict(off <= 0.1, f"at most {off:.3f} off")


THEOREM = Experiment(
    id="proactive-shuffle/theorem4.3",
    title="Expectation of an estimate with 55 columns, 4,096 items, execution times 1 … 64",
    runs_on=SIMULATION,
    data="a formula, and one-row sketches with other hash functions each; wrap sums the costs of "
    "its hot keys exactly and has no counterpart here",
    sizes={"smoke": {"sketches": 300}, "paper": {"sketches": 20_000}},
    seconds={"smoke": 1, "paper": 10},
    units=_units,
    run=_run,
    figure=_figure,
    claims=(
        Claim("range", "The expectation lies in this range.", "[32.08, 32.92]", _range),
        Claim(
            "measured",
            "Sketches have that expectation.",
            "the theorem's (here: ± 0.1)",
            _measured,
        ),
    ),
)
