"""Tables 1 and 2, Figures 9 to 11: how surely hot keys are found, and what a threshold costs."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.wrap import Wrap
from unskew.sketches.coin_synopsis import flip_many
from unskew_papers.checks import All, AtLeast, AtMost, Check, Falls, Rises
from unskew_papers.claims import TEXT, Claim, Reason
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import Computed, cell, largest, where_smallest
from unskew_papers.rows import Row, Rows

_RECALL = {4: 90.85, 5: 95.96, 6: 98.26, 7: 99.27, 8: 99.70}
_FALSE = {3: 11.84, 4: 6.07, 5: 3.08, 6: 1.55, 7: 0.78}
_BITS, _FALSE_BITS = 7, 12
"""r of Table 1, and of Table 2, where 2⁷ keys have to come more than once to be taken for hot."""
_ROUNDED = 0.01
_FLIPS = "coin flips; wrap counts the rows of its sample instead and has no counterpart here"


def _two_reached(bits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Count as the theorems do: at least two results above r, one key per row of ``bits``."""
    reached: NDArray[np.bool_] = (bits >= 0).sum(axis=1) >= 2
    return reached


def _two_ones(bits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Count as the vector does: two unlike results above r."""
    vectors = np.bitwise_or.reduce(np.where(bits >= 0, 1 << np.maximum(bits, 0), 0), axis=1)
    hot: NDArray[np.bool_] = (vectors & (vectors - 1)) != 0
    return hot


def _margin(rows: Rows) -> float:
    """Return four standard deviations of a measured share, in percent."""
    share = rows.value("published_percent") / 100
    return 400 * math.sqrt(share * (1 - share) / rows.value("trials"))


def _run_recall(unit: Unit, seed: int) -> Sequence[Row]:
    ratio, trials = unit["ratio"], unit["trials"]
    rows = ratio * 2**_BITS + 1
    flips = flip_many(rows * trials, threshold_bits=_BITS, seed=seed + ratio)
    bits = flips.reshape(trials, rows)
    return [
        {
            "ratio": ratio,
            "trials": trials,
            "published_percent": _RECALL[ratio],
            "bound_percent": 100 * (1 - (1 + ratio) * math.exp(-ratio)),
            "two_results_percent": float(100 * _two_reached(bits).mean()),
            "vector_percent": float(100 * _two_ones(bits).mean()),
        }
    ]


def _run_false(unit: Unit, seed: int) -> Sequence[Row]:
    """Of M keys with N₁ rows each, M·N₁ = 2^r, see how often any is called hot."""
    ratio, trials = unit["log_ratio"], unit["trials"]
    n_keys, rows = 2**ratio, 2 ** (_FALSE_BITS - ratio)
    flips = flip_many(n_keys * rows * trials, threshold_bits=_FALSE_BITS, seed=seed + ratio)
    bits = flips.reshape(trials * n_keys, rows)
    found = {
        name: float(100 * rule(bits).reshape(trials, n_keys).any(axis=1).mean())
        for name, rule in (("two_results", _two_reached), ("vector", _two_ones))
    }
    return [
        {
            "ratio": ratio,
            "trials": trials,
            "published_percent": _FALSE[ratio],
            "bound_percent": 100 * (1 - (1 - (rows / 2**_FALSE_BITS) ** 2) ** n_keys),
            **{f"{name}_percent": share for name, share in found.items()},
        }
    ]


def _draw(x: str, y: str) -> Drawing:
    return Drawing(
        Chart(
            x,
            y,
            [
                Lines("ratio", "published_percent", label="bound", style="dashed"),
                Lines("ratio", "two_results_percent", label="two results"),
                Lines("ratio", "vector_percent", label="bit vector"),
            ],
        )
    )


_FORMULA = AtMost(
    _ROUNDED,
    largest(abs(cell("bound_percent") - cell("published_percent")), ["ratio"]),
    form="at most {:.3f} points off",
)


def _at_least(column: str) -> Check:
    return AtLeast(cell("published_percent") - Computed(_margin), cell(column), each=["ratio"])


def _at_most(column: str) -> Check:
    return AtMost(cell("published_percent") + Computed(_margin), cell(column), each=["ratio"])


TABLE_1 = Exhibit(
    "table1",
    "Recall of keys that come (N₀ − 1)/2^r = 4 … 8 times",
    _draw("(N₀ − 1)/2^r", "recall in %"),
    (
        Claim("formula", "Theorem 1 gives these bounds.", "90.85 … 99.70 % (here: ± 0.01)",
              _FORMULA),
        Claim("two-results", "A key of so many rows has two results above r at least so often.",
              "at least 90.85, 95.96, 98.26, 99.27, 99.70 %", _at_least("two_results_percent")),
        Claim("bit-vector", "The synopsis finds such a key at least so often.",
              "at least 90.85, 95.96, 98.26, 99.27, 99.70 %", _at_least("vector_percent"),
              Reason("The vector needs two results that differ: two equal ones set the same bit. "
                     "The theorem counts both, so it bounds more than the synopsis does.",
                     kind=TEXT,
                     shown_by="papers/tests/test_reasons_popularity.py::"
                     "test_a_vector_needs_two_unlike_results")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"ratio": list(_RECALL)}), _run_recall,
            {"smoke": {"trials": 2_000}, "paper": {"trials": 50_000}}, _FLIPS,
            {"smoke": 1, "paper": 20},
        ))
    ],
)  # fmt: skip
TABLE_2 = Exhibit(
    "table2",
    "False positives among 2^r/N₁ = 2³ … 2⁷ rare keys",
    _draw("log₂(2^r/N₁)", "false positives in %"),
    (
        Claim("formula", "Theorem 2 gives these bounds.", "11.84 … 0.78 % (here: ± 0.01)",
              _FORMULA),
        Claim("two-results", "Any rare key has two results above r at most so often.",
              "at most 11.84, 6.07, 3.08, 1.55, 0.78 %", _at_most("two_results_percent")),
        Claim("bit-vector", "The synopsis takes any rare key for hot at most so often.",
              "at most 11.84, 6.07, 3.08, 1.55, 0.78 %", _at_most("vector_percent")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"log_ratio": list(_FALSE)}), _run_false,
            {"smoke": {"trials": 2_000}, "paper": {"trials": 20_000}}, _FLIPS,
            {"smoke": 2, "paper": 20},
        ))
    ],
)  # fmt: skip


_KEYS = 1_000
_NEAR = 0.1
"""What counts as near: a tenth of the axis."""
_WORKERS = 10
_AT_THE_MEAN = Reason(
    "With both parts normalised the cost is smallest at the mean frequency, whatever the law. A "
    "key above 1/1,000 adds more rows than a key's share of memory. The crossing lies somewhat "
    "higher for these two laws, and costs little more.",
    kind=TEXT,
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_the_cost_is_smallest_at_the_mean_frequency",
)


def _frequencies(law: str, seed: int) -> NDArray[np.float64]:
    """Return the frequencies of 1,000 keys.

    >>> float(round(_frequencies("Zipf", 0)[0], 2))
    0.23
    """
    weights = {
        "Zipf": np.arange(1, _KEYS + 1) ** -1.2,
        "normal": np.exp(-(np.linspace(-3, 3, _KEYS) ** 2) / 2),
        "random": np.random.default_rng(seed).random(_KEYS),
    }[law]
    frequencies: NDArray[np.float64] = weights / weights.sum()
    return frequencies


def _run_costs(unit: Unit, seed: int) -> Sequence[Row]:
    law = _frequencies(unit["law"], seed)
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


_CROSSING = where_smallest("threshold", abs(cell("rare_rows") - cell("hot_keys")))


def _costs(number: int, law: str, what: str, reason: Reason | None = None) -> Exhibit:
    return Exhibit(
        f"fig{number}",
        f"Costs by frequency threshold, {what}",
        Drawing(Chart("threshold f", "normalised", [
            Lines("threshold", "rare_rows", label="w_T·F_L"),
            Lines("threshold", "hot_keys", label="w_S·H"),
            Lines("threshold", "cost", label="C(f)"),
            Lines("threshold", "wrap", label=f"wrap, {_WORKERS} workers", style="dashed"),
        ])),
        (
            Claim("monotonic", "Rows of rare keys become more with the threshold, hot keys fewer.",
                  "monotonic",
                  All(Rises("rare_rows", "threshold"), Falls("hot_keys", "threshold"))),
            Claim("smallest-near-the-crossing",
                  "The cost is smallest near the threshold where both parts are equal.",
                  "near (here: a tenth of the axis)",
                  AtMost(_NEAR * largest("threshold"),
                         abs(where_smallest("threshold", "cost") - _CROSSING),
                         form="{:.4f} apart"),
                  reason),
        ),
        [
            On(Measurement(
                SIMULATION, Grid({"law": [law]}), _run_costs,
                {
                    "smoke": {"thresholds": 1_000, "rows": 50_000},
                    "paper": {"thresholds": 1_000, "rows": 1_000_000},
                },
                f"synthetic, as in the paper: 1,000 keys, {what}", {"smoke": 1, "paper": 2},
            ))
        ],
    )  # fmt: skip


FIGURE_9 = _costs(9, "Zipf", "Zipf distribution (α = 1.2)")
FIGURE_10 = _costs(10, "normal", "normal distribution (δ = 1)", _AT_THE_MEAN)
FIGURE_11 = _costs(11, "random", "random frequencies", _AT_THE_MEAN)
