"""Tables 1 and 2: how often hot keys are found, and rare ones are taken for hot."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from unskew.sketches.coin_synopsis import flip_many
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Curve, Figure, Panel, lines
from unskew_papers.rows import Row, Rows

_RECALL = {4: 90.85, 5: 95.96, 6: 98.26, 7: 99.27, 8: 99.70}
_FALSE = {3: 11.84, 4: 6.07, 5: 3.08, 6: 1.55, 7: 0.78}
_BITS = 7
_ROUNDED = 0.01
_DATA = "coin flips; wrap counts the rows of its sample instead and has no counterpart here"


def _two_reached(bits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Count as the theorems do: at least two results above r, one key a row of ``bits``."""
    reached: NDArray[np.bool_] = (bits >= 0).sum(axis=1) >= 2
    return reached


def _two_ones(bits: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Count as the vector does: two unlike results above r."""
    vectors = np.bitwise_or.reduce(np.where(bits >= 0, 1 << np.maximum(bits, 0), 0), axis=1)
    hot: NDArray[np.bool_] = (vectors & (vectors - 1)) != 0
    return hot


def _margin(row: Row) -> float:
    """Return four standard deviations of a measured share, in percent."""
    share = row["published_percent"] / 100
    return 400 * math.sqrt(share * (1 - share) / row["trials"])


def _recall_units(parameters: Parameters) -> Sequence[Unit]:
    return [{"ratio": ratio, "trials": parameters["trials"]} for ratio in _RECALL]


def _recall_run(unit: Unit, seed: int) -> Sequence[Row]:
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


def _false_units(parameters: Parameters) -> Sequence[Unit]:
    return [{"log_ratio": ratio, "trials": parameters["trials"]} for ratio in _FALSE]


def _false_run(unit: Unit, seed: int) -> Sequence[Row]:
    """Of M keys with N₁ rows each, M·N₁ = 2^r, see how often any is called hot."""
    ratio, trials = unit["log_ratio"], unit["trials"]
    n_keys, rows = 2**ratio, 2 ** max(0, _BITS - ratio)
    flips = flip_many(n_keys * rows * trials, threshold_bits=_BITS, seed=seed + ratio)
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
            "bound_percent": 100 * (1 - (1 - (rows / 2**_BITS) ** 2) ** n_keys),
            **{f"{name}_percent": share for name, share in found.items()},
        }
    ]


def _figure(x: str, y: str) -> Callable[[Rows], Figure]:
    def draw(rows: Rows) -> Figure:
        curves = [
            ("two results", rows.curve("ratio", "two_results_percent")),
            ("bit vector", rows.curve("ratio", "vector_percent")),
        ]
        bound = Curve("bound", *rows.curve("ratio", "published_percent"), "dashed")
        return Figure([Panel(x, y, [bound, *lines(curves)])])

    return draw


def _formula(rows: Rows) -> Verdict:
    off = max(abs(row["bound_percent"] - row["published_percent"]) for row in rows)
    return Verdict(off <= _ROUNDED, f"at most {off:.3f} points off")


def _recall_holds(column: str) -> Callable[[Rows], Verdict]:
    def check(rows: Rows) -> Verdict:
        holds = all(row[column] >= row["published_percent"] - _margin(row) for row in rows)
        return Verdict(holds, ", ".join(f"{row[column]:.2f}" for row in rows))

    return check


def _false_holds(column: str) -> Callable[[Rows], Verdict]:
    def check(rows: Rows) -> Verdict:
        holds = all(row[column] <= row["published_percent"] + _margin(row) for row in rows)
        return Verdict(holds, ", ".join(f"{row[column]:.2f}" for row in rows))

    return check


TABLE_1 = Experiment(
    id="popularity/table1",
    title="Recall of keys that come (N₀ − 1)/2^r = 4 … 8 times",
    runs_on=SIMULATION,
    data=_DATA,
    sizes={"smoke": {"trials": 2_000}, "paper": {"trials": 50_000}},
    seconds={"smoke": 1, "paper": 20},
    units=_recall_units,
    run=_recall_run,
    figure=_figure("(N₀ − 1)/2^r", "recall in %"),
    claims=(
        Claim("formula", "Theorem 1 gives these bounds.", "90.85 … 99.70 %", _formula),
        Claim(
            "two-results",
            "A key of so many rows has two results above r at least so often.",
            "90.85, 95.96, 98.26, 99.27, 99.70 %",
            _recall_holds("two_results_percent"),
        ),
        Claim(
            "bit-vector",
            "The synopsis finds such a key at least so often.",
            "90.85, 95.96, 98.26, 99.27, 99.70 %",
            _recall_holds("vector_percent"),
            "The vector needs two results that differ: two equal ones set the same bit. The "
            "theorem counts both, so it bounds more than the synopsis does.",
        ),
    ),
)
TABLE_2 = Experiment(
    id="popularity/table2",
    title="False positives among 2^r/N₁ = 2³ … 2⁷ rare keys",
    runs_on=SIMULATION,
    data=_DATA,
    sizes={"smoke": {"trials": 8_000}, "paper": {"trials": 200_000}},
    seconds={"smoke": 1, "paper": 5},
    units=_false_units,
    run=_false_run,
    figure=_figure("log₂(2^r/N₁)", "false positives in %"),
    claims=(
        Claim("formula", "Theorem 2 gives these bounds.", "11.84 … 0.78 %", _formula),
        Claim(
            "two-results",
            "Any rare key has two results above r at most so often.",
            "11.84, 6.07, 3.08, 1.55, 0.78 %",
            _false_holds("two_results_percent"),
        ),
        Claim(
            "bit-vector",
            "The synopsis takes any rare key for hot at most so often.",
            "11.84, 6.07, 3.08, 1.55, 0.78 %",
            _false_holds("vector_percent"),
        ),
    ),
)
