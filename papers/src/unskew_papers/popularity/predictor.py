"""Figures 34 to 36: who is hot now, by coin flips and by sketches of the same memory."""

import time
from collections.abc import Callable, Sequence

import numpy as np

from unskew.hashing import Ids
from unskew.sketches.adaptive_count_min import AdaptiveCountMin
from unskew.sketches.coin_synopsis import CoinSynopsis
from unskew.sketches.count_min import CountMin
from unskew.sketches.space_saving import SpaceSaving
from unskew.streams import drift
from unskew_papers.checks import Above, AtLeast, AtMost
from unskew_papers.claims import Claim, Reason
from unskew_papers.datasets import keys_of
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.quantities import Quantity, cell, largest, mean
from unskew_papers.rows import Row, one_of

_HOT = 0.02
"""What the authors' programs call hot."""
_INTERVALS, _PHASES = 20, 4
_ENTRY_BYTES, _CELL_BYTES, _COUNTER_BYTES = 16, 8, 24
"""An entry of the synopsis (key and vector), a cell of a sketch, a counter of SpaceSaving."""
_ROWS = 4
"""Rows of the sketches."""
_BYTES = _ENTRY_BYTES * CoinSynopsis.for_frequency(_HOT).capacity
_EPSILON = float(np.e / (_BYTES / _CELL_BYTES / _ROWS))


def _coins(parts: Sequence[Ids], seed: int) -> Ids:
    synopsis = CoinSynopsis.for_frequency(_HOT, seed=seed)
    for part in parts:
        synopsis.update_many(part)
    return synopsis.hot_ids()


def _count_min(parts: Sequence[Ids], seed: int) -> Ids:
    """Look up every row's key after counting it, as one must to tell whether it is hot."""
    sketch = CountMin(epsilon=_EPSILON, delta=2.0**-_ROWS, seed=seed)
    for part in parts:
        sketch.update_many(part)
        hot = sketch.estimate_many(part) >= _HOT * sketch.total
    return np.unique(part[hot])


def _adaptive_count_min(parts: Sequence[Ids], seed: int) -> Ids:
    sketch = AdaptiveCountMin(epsilon=_EPSILON, delta=2.0**-_ROWS, growth=1.5, seed=seed)
    for number, part in enumerate(parts):
        sketch.update_many(part, time=number)
        hot = sketch.estimate_many(part, time=number) >= _HOT * part.size
    return np.unique(part[hot])


def _space_saving(parts: Sequence[Ids], _: int) -> Ids:
    """Find them as `Wrap` does: by SpaceSaving, in which older intervals fade."""
    summary = SpaceSaving(_BYTES // _COUNTER_BYTES)
    for part in parts:
        summary.scale(0.5)
        summary.update_many(part)
    return summary.heavy_hitters(_HOT)[0]


_PREDICTORS: dict[str, Callable[[Sequence[Ids], int], Ids]] = {
    "PStream": _coins,
    "count-min": _count_min,
    "Ada-CMS": _adaptive_count_min,
    "wrap (SpaceSaving)": _space_saving,
}


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    size = unit["rows"]
    stream = drift(unit["keys"], unit["z"], size // _PHASES, size, hot=50, seed=seed)
    keys = keys_of(stream).astype(np.uint64)
    now, counts = np.unique(keys[-(size // _PHASES) :], return_counts=True)
    hot_now = now[counts >= _HOT * (size // _PHASES)]
    parts = np.array_split(keys, _INTERVALS)
    rows = []
    for name, predict in _PREDICTORS.items():
        predict([part[:100] for part in parts], seed)  # compiled before the clock starts
        started = time.process_time()
        found = predict(parts, seed)
        seconds = time.process_time() - started
        right = np.intersect1d(found, hot_now).size
        rows.append(
            {
                "z": unit["z"],
                "predictor": name,
                "hot_keys": int(hot_now.size),
                "identified": int(found.size),
                "precision_percent": 100 * right / max(1, found.size),
                "recall_percent": 100 * right / max(1, hot_now.size),
                "microseconds_a_row": 1e6 * seconds / keys.size,
                "million_rows_a_second": keys.size / seconds / 1e6,
            }
        )
    return rows


_MEASURED = Measurement(
    SIMULATION,
    Grid({"z": "exponents"}),
    _run,
    {
        "smoke": {"rows": 400_000, "keys": 100_000, "exponents": [0.8, 1.0, 1.5, 2.0]},
        "paper": {
            "rows": 10_000_000, "keys": 10_000_000,
            "exponents": [0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0],
        },
    },
    f"synthetic: Zipf with hot keys that change three times; hot is a key with {_HOT:.1%} of "
    f"the rows since; {_BYTES:,} bytes each",
    {"smoke": 4, "paper": 10},
)  # fmt: skip
_NOT_SHARP = Reason(
    "Every hot key is found, but so are keys somewhat below the threshold, whose vectors have two "
    "ones part of the time; where few keys are hot these are the most. The paper does not say from "
    "which share on it counted a key as actually hot."
)
_ALL_COMPILED = Reason(
    "All predictors count arrays in compiled loops here, some nanoseconds per row, so there is "
    "less to save; and it is a time, which a busy machine changes."
)


def _draw(column: str, title: str) -> Drawing:
    lines = Lines("z", column, by="predictor", only=list(_PREDICTORS))
    return Drawing(Chart("Zipf coefficient", title, [lines]))


def _against(column: str, other: str) -> Quantity:
    """Ask for PStream's mean over the skews, divided by another's."""
    return mean(column, predictor="PStream") / mean(column, predictor=other)


FIGURE_34 = Exhibit(
    "fig34",
    "Precision of predictors of hot keys with equal memory",
    _draw("precision_percent", "precision in %"),
    (
        Claim("precise", "PStream's precision.", "96 %",
              AtLeast(96, mean("precision_percent", predictor="PStream"),
                      form="{:.0f} % on average"), _NOT_SHARP),
        Claim("than-count-min", "It is more precise than Count-Min.", "+23 %",
              AtLeast(0.23, _against("precision_percent", "count-min") - 1, form="{:+.0%}"),
              _NOT_SHARP),
        Claim("than-ada", "It is more precise than Ada-CMS.", "higher",
              Above(0, _against("precision_percent", "Ada-CMS") - 1, form="{:+.0%}"), _NOT_SHARP),
    ),
    [On(_MEASURED)],
)  # fmt: skip
FIGURE_35 = Exhibit(
    "fig35",
    "Time to tell whether a row's key is hot",
    _draw("microseconds_a_row", "microseconds per row"),
    tuple(
        Claim(f"than-{name}", f"PStream needs less time than {what}.", f"−{100 * by:.0f} %",
              AtMost(-by, _against("microseconds_a_row", other) - 1, form="{:+.0%}"),
              _ALL_COMPILED)
        for name, what, other, by in (
            ("count-min", "Count-Min", "count-min", 0.8), ("ada", "Ada-CMS", "Ada-CMS", 0.84),
        )
    ),
    [On(_MEASURED)],
)  # fmt: skip
FIGURE_36 = Exhibit(
    "fig36",
    "Throughput of predictors of hot keys",
    _draw("million_rows_a_second", "million rows per second"),
    (
        Claim("always-faster", "PStream's predictor is faster than the others at every skew.",
              "always",
              Above(1, cell("million_rows_a_second", predictor="PStream")
                    / largest("million_rows_a_second", predictor=one_of("count-min", "Ada-CMS")),
                    each=["z"], form="{:.1f}×"),
              _ALL_COMPILED),
    ),
    [On(_MEASURED)],
)  # fmt: skip
