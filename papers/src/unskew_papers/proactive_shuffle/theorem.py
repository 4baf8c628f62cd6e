"""Theorem 4.3: what a cell of the sketch says of an item's execution time, on average."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.sketches.cost_sketch import CostSketch
from unskew_papers.checks import All, AtMost, Within
from unskew_papers.claims import Claim
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import cell, largest, smallest
from unskew_papers.rows import Row

_COLUMNS, _ITEMS, _LONGEST = 55, 4_096, 64
_COSTS = np.tile(np.arange(1.0, _LONGEST + 1), _ITEMS // _LONGEST)
"""Every execution time has 64 items; each item comes equally often."""


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


THEOREM = Exhibit(
    "theorem4.3",
    "Expectation of an estimate with 55 columns, 4,096 items, execution times 1 … 64",
    Drawing(Chart("execution time of an item", "mean of W/F in its cell", [
        Lines("execution_time", "theorem", label="theorem"),
        Lines("execution_time", "measured", label="measured"),
    ])),
    (
        # The paper prints two digits, the lower end cut off and the upper one rounded up.
        Claim("range", "The expectation lies in this range.", "[32.08, 32.92]",
              All(Within(32.08, 32.09, {"from": smallest("theorem")}, form="{:.3f}"),
                  Within(32.91, 32.92, {"to": largest("theorem")}, form="{:.3f}"))),
        Claim("measured", "Sketches have that expectation.", "the theorem's (here: ± 0.1)",
              AtMost(0.1, largest(abs(cell("measured") - cell("theorem")), ["execution_time"]),
                     form="at most {:.3f} off")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid(), _run, {"smoke": {"sketches": 300}, "paper": {"sketches": 20_000}},
            "a formula, and one-row sketches with other hash functions each; wrap sums the costs "
            "of its hot keys exactly and has no counterpart here",
            {"smoke": 1, "paper": 10},
        ))
    ],
)  # fmt: skip
