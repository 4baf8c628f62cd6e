"""Theorems 3 and 4: which keys stay in the synopsis, and how many it holds."""

import math
from collections.abc import Sequence

import numpy as np

from unskew.sketches.coin_synopsis import CoinSynopsis
from unskew_papers.checks import Above, All, AtLeast, Below, Within
from unskew_papers.claims import TEXT, Claim, Reason
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import cell
from unskew_papers.rows import Row

_KEY = 0
_DATA = (
    "one key of a given share among keys that come once; every row reaches the synopsis (r = 0), "
    "so that rows are its updates; wrap has no synopsis"
)


def _synopsis(decline: float, seed: int) -> CoinSynopsis:
    return CoinSynopsis(threshold_bits=0, decline=decline, seed=seed)


def run_rate(unit: Unit, seed: int) -> Sequence[Row]:
    """See how long a key of a given rate is held, and how soon it is gone when it stays away."""
    decline, ratio = unit["decline"], unit["ratio"]
    rate, shift = ratio * 2 * decline, round(1 / decline)
    rng = np.random.default_rng(seed + round(1000 * ratio))
    held, hot, left = [], [], []
    for draw in range(unit["draws"]):
        synopsis = _synopsis(decline, seed + draw)
        for _ in range(unit["shifts"]):
            others = rng.integers(1, 1 << 62, shift)
            synopsis.update_many(np.where(rng.random(shift) < rate, _KEY, others))
            held.append(synopsis.vector(_KEY) > 0)
            hot.append(synopsis.is_hot(_KEY))
        if not held[-1]:
            continue
        away = 0
        while synopsis.vector(_KEY):
            synopsis.update_many(rng.integers(1, 1 << 62, shift // 20))
            away += shift // 20
        left.append(away)
    return [
        {
            "ratio": ratio,
            "held_percent": float(100 * np.mean(held)),
            "hot_percent": float(100 * np.mean(hot)),
            "shifts_to_leave": float(np.mean(left) * decline),
            "logarithm": math.log2(rate / decline),
        }
    ]


def run_size(unit: Unit, seed: int) -> Sequence[Row]:
    """See how many keys are held where some have a rate above 2p and all others come once."""
    decline, hot_keys = unit["decline"], unit["hot_keys"]
    rng = np.random.default_rng(seed)
    synopsis = _synopsis(decline, seed)
    sizes = []
    for number in range(unit["shifts"]):
        keys = rng.integers(hot_keys, 1 << 62, round(1 / decline))
        is_hot = rng.random(keys.size) < hot_keys * 3 * decline
        synopsis.update_many(np.where(is_hot, rng.integers(0, max(1, hot_keys), keys.size), keys))
        if number >= unit["shifts"] // 4:
            sizes.append(len(synopsis))
    return [
        {
            "hot_keys": hot_keys, "decline": decline, "fewest": min(sizes),
            "held": float(np.mean(sizes)), "held_times_p": float(np.mean(sizes) * decline),
        }
    ]  # fmt: skip


THEOREM_3 = Exhibit(
    "theorem3",
    "How long a key is in the synopsis, by its rate (decline p = 0.01)",
    Drawing(Chart("rate, in 2p", "share of the time in %", [
        Lines("ratio", "held_percent", label="in the synopsis"),
        Lines("ratio", "hot_percent", label="hot (two ones)"),
    ], log_x=True)),
    (
        Claim("stays", "A key whose rate is larger than 2p is not evicted.",
              "with high probability (here: held 90 % of the time)",
              AtLeast(90, cell("held_percent"), each=["ratio"],
                      among=lambda row: row["ratio"] >= 1, form="{:.0f} %")),
        Claim("leaves", "A key that is evicted needs (log₂(f/p) + O(1))/p updates for it.",
              "log₂(f/p) + O(1) shifts (here: 0 … 3 more)",
              Within(0, 3, cell("shifts_to_leave") - cell("logarithm"), each=["ratio"],
                     among=lambda row: row["ratio"] >= 1, form="{:.1f} more")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"ratio": [0.25, 0.5, 1.0, 2.0, 4.0], "decline": [0.01]}), run_rate,
            {"smoke": {"draws": 40, "shifts": 100}, "paper": {"draws": 100, "shifts": 200}},
            _DATA, {"smoke": 4, "paper": 60},
        ))
    ],
)  # fmt: skip
THEOREM_4 = Exhibit(
    "theorem4",
    "Keys in the synopsis, by the number H of keys above 2p",
    Drawing(Chart("H", "keys · p", [
        Lines("hot_keys", "held_times_p", by="decline", label="p = {decline}")
    ])),
    (
        Claim("more", "At any time it holds more than H keys.", "above H",
              All(Above(0, cell("fewest") - cell("hot_keys"), each=["hot_keys", "decline"],
                        form="{:.0f} more"))),
        Claim("fewer", "It holds fewer than 1/p keys.", "below 1/p",
              Below(1, cell("held_times_p"), each=["hot_keys", "decline"], form="{:.2f}/p"),
              Reason("Where no key comes back about 2/p keys are held. A vector whose bit t is "
                     "set, with probability 2^−(t+1), needs t + 1 shifts to be empty, 2 in the "
                     "mean, and a shift takes 1/p updates; the proof lets half of the keys leave "
                     "with each.",
                     kind=TEXT,
                     shown_by="papers/tests/test_reasons_popularity.py::"
                     "test_keys_that_never_come_back_live_for_two_shifts")),
    ),
    [
        On(Measurement(
            SIMULATION, Grid({"hot_keys": [0, 5, 10], "decline": [0.01, 0.002]}), run_size,
            {"smoke": {"shifts": 100}, "paper": {"shifts": 1_000}}, _DATA,
            {"smoke": 2, "paper": 15},
        ))
    ],
)  # fmt: skip
