"""Figures 34 to 36: who is hot now, by coin flips and by sketches of the same memory."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from unskew.hashing import Ids
from unskew.sketches.adaptive_count_min import AdaptiveCountMin
from unskew.sketches.coin_synopsis import CoinSynopsis
from unskew.sketches.count_min import CountMin
from unskew.sketches.space_saving import SpaceSaving
from unskew.streams import drift
from unskew_papers.claims import Claim, Verdict
from unskew_papers.experiment import SIMULATION, Experiment, Parameters, Unit
from unskew_papers.figures import Figure, Panel, lines
from unskew_papers.rows import Row, Rows

_HOT = 0.02
"""What the authors' programs call hot."""
_INTERVALS, _PHASES = 20, 4
_ENTRY_BYTES, _CELL_BYTES, _COUNTER_BYTES = 16, 8, 24
"""An entry of the synopsis (key and vector), a cell of a sketch, a counter of SpaceSaving."""
_ROWS = 4
"""Rows of the sketches."""
_BYTES = _ENTRY_BYTES * CoinSynopsis.for_frequency(_HOT).capacity
_EPSILON = float(np.e / (_BYTES / _CELL_BYTES / _ROWS))


_NOT_SHARP = (
    "Every hot key is found, but so are keys somewhat below the threshold, whose vectors have two "
    "ones part of the time; where few keys are hot these are the most. The paper does not say from "
    "which share on it counted a key as actually hot."
)
_ALL_COMPILED = (
    "All predictors count arrays in compiled loops here, some nanoseconds a row, so there is less "
    "to save; and it is a time, which a busy machine changes."
)


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


PREDICTORS: dict[str, Callable[[Sequence[Ids], int], Ids]] = {
    "PStream": _coins,
    "count-min": _count_min,
    "Ada-CMS": _adaptive_count_min,
    "wrap (SpaceSaving)": _space_saving,
}


def _units(parameters: Parameters) -> Sequence[Unit]:
    shared = {name: parameters[name] for name in ("rows", "keys")}
    return [{"z": z, **shared} for z in parameters["exponents"]]


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    size = unit["rows"]
    stream = drift(unit["keys"], unit["z"], size // _PHASES, size, hot=50, seed=seed)
    keys = np.concatenate([batch.keys for batch in stream.batches()]).astype(np.uint64)
    now, counts = np.unique(keys[-(size // _PHASES) :], return_counts=True)
    hot_now = now[counts >= _HOT * (size // _PHASES)]
    parts = np.array_split(keys, _INTERVALS)
    rows = []
    for name, predict in PREDICTORS.items():
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


def _figure(column: str, title: str, rows: Rows) -> Figure:
    curves = [(name, rows.curve("z", column, predictor=name)) for name in PREDICTORS]
    return Figure([Panel("Zipf coefficient", title, lines(curves))])


def _mean(rows: Rows, name: str, column: str) -> float:
    return float(np.mean(rows.values(column, predictor=name)))


def _precise(rows: Rows) -> Verdict:
    found = _mean(rows, "PStream", "precision_percent")
    return Verdict(found >= 96, f"{found:.0f} % on average")


def _more_precise(other: str, by: float, rows: Rows) -> Verdict:
    found = [_mean(rows, name, "precision_percent") for name in ("PStream", other)]
    return Verdict(found[0] >= (1 + by) * found[1] and found[0] > found[1],
                   f"{found[0]:.0f} % against {found[1]:.0f} %")  # fmt: skip


def _quicker(other: str, by: float, rows: Rows) -> Verdict:
    found = [_mean(rows, name, "microseconds_a_row") for name in ("PStream", other)]
    return Verdict(found[0] <= (1 - by) * found[1], f"{found[0] / found[1] - 1:+.0%}")


def _always_faster(rows: Rows) -> Verdict:
    ratios = [
        rows.value("million_rows_a_second", z=z, predictor="PStream")
        / rows.value("million_rows_a_second", z=z, predictor=other)
        for z in rows.distinct("z")
        for other in ("count-min", "Ada-CMS")
    ]
    return Verdict(min(ratios) > 1, f"at least {min(ratios):.1f}×")


FIGURE_34 = Experiment(
    id="popularity/fig34",
    title="Precision of predictors of hot keys with equal memory",
    runs_on=SIMULATION,
    data=f"synthetic: Zipf with hot keys that change three times; hot is a key with {_HOT:.1%} of "
    f"the rows since; {_BYTES:,} bytes each",
    sizes={
        "smoke": {"rows": 400_000, "keys": 100_000, "exponents": [0.8, 1.0, 1.5, 2.0]},
        "paper": {
            "rows": 10_000_000,
            "keys": 10_000_000,
            "exponents": [0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0],
        },
    },
    seconds={"smoke": 4, "paper": 10},
    units=_units,
    run=_run,
    figure=partial(_figure, "precision_percent", "precision in %"),
    claims=(
        Claim("precise", "PStream's precision.", "96 %", _precise, _NOT_SHARP),
        Claim("than-count-min", "It is more precise than Count-Min.", "+23 %",
              partial(_more_precise, "count-min", 0.23), _NOT_SHARP),
        Claim("than-ada", "It is more precise than Ada-CMS.", "higher",
              partial(_more_precise, "Ada-CMS", 0.0), _NOT_SHARP),
    ),
)  # fmt: skip
FIGURE_35 = replace(
    FIGURE_34,
    id="popularity/fig35",
    title="Time to tell whether a row's key is hot",
    figure=partial(_figure, "microseconds_a_row", "microseconds a row"),
    rows_of=FIGURE_34.id,
    seconds={"smoke": 0, "paper": 0},
    claims=(
        Claim("than-count-min", "PStream needs less time than Count-Min.", "−80 %",
              partial(_quicker, "count-min", 0.8), _ALL_COMPILED),
        Claim("than-ada", "PStream needs less time than Ada-CMS.", "−84 %",
              partial(_quicker, "Ada-CMS", 0.84), _ALL_COMPILED),
    ),
)  # fmt: skip
FIGURE_36 = replace(
    FIGURE_34,
    id="popularity/fig36",
    title="Throughput of predictors of hot keys",
    figure=partial(_figure, "million_rows_a_second", "million rows a second"),
    rows_of=FIGURE_34.id,
    seconds={"smoke": 0, "paper": 0},
    claims=(
        Claim(
            "always-faster", "PStream's predictor is faster than the others at every skew.",
            "always", _always_faster, _ALL_COMPILED,
        ),
    ),
)  # fmt: skip
