"""Figures 34 to 36: who is hot now, by coin flips and by sketches of the same memory."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings.popularity import Popularity
from unskew.hashing import Ids, mix
from unskew.sketches.adaptive_count_min import AdaptiveCountMin
from unskew.sketches.coin_synopsis import CoinSynopsis
from unskew.sketches.count_min import CountMin
from unskew.sketches.counting_bloom import contains_hash, new_counters
from unskew.sketches.space_saving import SpaceSaving
from unskew.streams import drift
from unskew_papers.checks import Above, Near
from unskew_papers.claims import SETUP, TEXT, Claim, Reason
from unskew_papers.datasets import keys_of
from unskew_papers.experiment import SIMULATION, Exhibit, Grid, Measurement, On, Unit
from unskew_papers.figures import Chart, Drawing, Lines
from unskew_papers.popularity.applications import POINTS
from unskew_papers.quantities import Quantity, cell, largest, mean
from unskew_papers.rows import Row, one_of

_HOT = 0.02
"""What the authors' programs call hot."""
_INTERVALS, _PHASES = 20, 4
_ENTRY_BYTES, _CELL_BYTES, _COUNTER_BYTES = 16, 8, 24
"""An entry of the synopsis (key and vector), a cell of a sketch, a counter of SpaceSaving."""
_ROWS = 4
"""Rows of the sketches."""
_CAPACITY = CoinSynopsis.for_frequency(_HOT).capacity
_BYTES = _ENTRY_BYTES * _CAPACITY + new_counters(_CAPACITY, 0.01)[0].nbytes
"""What the synopsis and the filter of hot keys take."""
_EPSILON = float(np.e / (_BYTES / _CELL_BYTES / _ROWS))
_IDENTIFIED = 200_000
"""Rows of hot keys of which each is identified, one after the other, for the time that it takes."""

Flags = NDArray[np.bool_]


class _Predictor(ABC):
    """Watches a stream interval by interval; every row is asked for as it comes."""

    @abstractmethod
    def watch(self, keys: Ids) -> Ids:
        """Take in the rows of an interval, tell of each whether it is hot, return the hot keys."""

    @abstractmethod
    def identify(self, keys: Ids) -> Flags:
        """Return of each row whether its key is hot now."""


class _Coins(_Predictor):
    def __init__(self, seed: int) -> None:
        self._grouping = Popularity(2, frequency=_HOT, threshold_bits=None, seed=seed)

    def watch(self, keys: Ids) -> Ids:
        self._grouping.route_many(keys)
        return self._grouping.hot_ids()

    def identify(self, keys: Ids) -> Flags:
        out = np.empty(keys.size, np.bool_)
        hot, seed = self._grouping._filter, self._grouping._hash_seed
        _look_up(hot.counters, int(hot.cells[-1]), seed, keys, out)
        return out


@compiled
def _look_up(
    counters: NDArray[np.uint8], probes: int, seed: np.uint64, keys: Ids, out: Flags
) -> None:
    for i in range(keys.size):
        out[i] = contains_hash(counters, probes, mix(keys[i], seed))


class _CountMin(_Predictor):
    def __init__(self, seed: int) -> None:
        self._sketch = CountMin(epsilon=_EPSILON, delta=2.0**-_ROWS, seed=seed)

    def watch(self, keys: Ids) -> Ids:
        self._sketch.update_many(keys)
        return np.unique(keys[self.identify(keys)])

    def identify(self, keys: Ids) -> Flags:
        hot: Flags = self._sketch.estimate_many(keys) >= _HOT * self._sketch.total
        return hot


class _AdaptiveCountMin(_Predictor):
    def __init__(self, seed: int) -> None:
        self._sketch = AdaptiveCountMin(epsilon=_EPSILON, delta=2.0**-_ROWS, growth=1.5, seed=seed)
        self._now, self._rows = -1, 0

    def watch(self, keys: Ids) -> Ids:
        self._now, self._rows = self._now + 1, keys.size
        self._sketch.update_many(keys, time=self._now)
        return np.unique(keys[self.identify(keys)])

    def identify(self, keys: Ids) -> Flags:
        estimates = self._sketch.estimate_many(keys, time=self._now)
        hot: Flags = estimates >= _HOT * self._rows
        return hot


class _SpaceSaving(_Predictor):
    """Find them as `Wrap` does: by SpaceSaving, in which older intervals fade."""

    def __init__(self, _: int) -> None:
        self._summary = SpaceSaving(_BYTES // _COUNTER_BYTES)

    def watch(self, keys: Ids) -> Ids:
        self._summary.scale(0.5)
        self._summary.update_many(keys)
        return self._summary.heavy_hitters(_HOT)[0]

    def identify(self, keys: Ids) -> Flags:
        return np.isin(keys, self._summary.heavy_hitters(_HOT)[0])


_PREDICTORS: dict[str, Callable[[int], _Predictor]] = {
    "PStream": _Coins,
    "count-min": _CountMin,
    "Ada-CMS": _AdaptiveCountMin,
    "wrap (SpaceSaving)": _SpaceSaving,
}


def _run(unit: Unit, seed: int) -> Sequence[Row]:
    size = unit["rows"]
    stream = drift(unit["keys"], unit["z"], size // _PHASES, size, hot=50, seed=seed)
    phases = np.array_split(keys_of(stream).astype(np.uint64), _PHASES)
    hot_keys = [_hot_in(phase) for phase in phases]
    rows = []
    for name, make in _PREDICTORS.items():
        make(seed).watch(phases[0][:100])  # compiled before the clock starts
        predictor, found, seconds = make(seed), [], 0.0
        for phase, hot in zip(phases, hot_keys, strict=True):
            for part in np.array_split(phase, _INTERVALS // _PHASES):
                started = time.process_time()
                identified = predictor.watch(part)
                seconds += time.process_time() - started
                found.append((identified.size, np.intersect1d(identified, hot).size, hot.size))
        identified_sizes, right, there = np.transpose(found)
        rows.append(
            {
                "z": unit["z"],
                "predictor": name,
                "hot_keys": float(there.mean()),
                "identified": float(identified_sizes.mean()),
                "precision_percent": float(100 * np.mean(right / np.maximum(1, identified_sizes))),
                "recall_percent": float(100 * np.mean(right / there)),
                "nanoseconds": _identification(predictor, part[np.isin(part, hot)]),
                "million_rows_a_second": size / seconds / 1e6,
            }
        )
    return rows


def _hot_in(keys: Ids) -> Ids:
    names, counts = np.unique(keys, return_counts=True)
    found: Ids = names[counts >= _HOT * keys.size]
    return found


def _identification(predictor: _Predictor, hot_rows: Ids) -> float:
    """Return the nanoseconds from a row of a hot key to the answer whether it is hot."""
    rows = np.resize(hot_rows, _IDENTIFIED)
    predictor.identify(rows)
    started = time.process_time()
    predictor.identify(rows)
    return (time.process_time() - started) / rows.size * 1e9


_MEASURED = Measurement(
    SIMULATION,
    Grid({"z": "exponents"}),
    _run,
    {
        "smoke": {"rows": 400_000, "keys": 100_000, "exponents": [1.0, 1.5, 2.0]},
        "paper": {
            "rows": 10_000_000, "keys": 10_000_000,
            "exponents": [1.0, 1.2, 1.4, 1.6, 1.8, 2.0],
        },
    },
    f"synthetic: Zipf with hot keys that change three times (with Zipf-0.8 and less no key is hot "
    f"at all); hot is a key with {_HOT:.1%} of the rows of a phase; means over {_INTERVALS} "
    f"intervals; {_BYTES:,} bytes each",
    {"smoke": 4, "paper": 15},
)  # fmt: skip
_NOT_SHARP = Reason(
    "Two ones in a vector tell a hot key from a rare one only roughly. A key at the threshold has "
    "them 70 % of the time and one at a quarter of it still 20 %. Many more keys are somewhat "
    "below the threshold than above, so that about half of what is identified is not hot. The "
    "paper does not say from which share on it counted a key as actually hot.",
    kind=TEXT,
    shown_by="papers/tests/test_reasons_popularity.py::"
    "test_two_ones_tell_hot_keys_from_rare_ones_only_roughly",
)
_ALL_COMPILED = Reason(
    "All predictors are compiled loops over arrays here. A row takes some nanoseconds, where the "
    "paper's take milliseconds. So there is something else to save; and it is a time, which a busy "
    "machine changes.",
    kind=SETUP,
    shown_by="unskew reproduce popularity/fig35 popularity/fig36 --size paper",
)


def _chart(column: str, title: str) -> Chart:
    lines = Lines("z", column, by="predictor", only=list(_PREDICTORS))
    return Chart("Zipf coefficient", title, [lines])


def _against(column: str, other: str) -> Quantity:
    """Ask for PStream's mean over the skews, divided by another's."""
    return mean(column, predictor="PStream") / mean(column, predictor=other)


def _faster(other: str) -> Quantity:
    column = "million_rows_a_second"
    return cell(column, predictor="PStream") / cell(column, predictor=other) - 1


_OTHERS = {"count-min": "Count-Min", "Ada-CMS": "Ada-CMS"}

FIGURE_34 = Exhibit(
    "fig34",
    "Precision of predictors of hot keys with equal memory, and their recall",
    Drawing(_chart("precision_percent", "precision in %"),
            _chart("recall_percent", "recall in % (not in the paper)")),
    (
        Claim("precise", "PStream's precision.", "96 %",
              Near(96, mean("precision_percent", predictor="PStream"), off=3,
                   form="{:.0f} % on average"), _NOT_SHARP),
        Claim("than-count-min", "It is more precise than Count-Min.", "+23 %",
              Near(0.23, _against("precision_percent", "count-min") - 1, off=POINTS,
                   beyond="above", form="{:+.0%}"), _NOT_SHARP),
        Claim("than-ada", "It is more precise than Ada-CMS.", "higher",
              Above(0, _against("precision_percent", "Ada-CMS") - 1, form="{:+.0%}"), _NOT_SHARP),
    ),
    [On(_MEASURED)],
)  # fmt: skip
FIGURE_35 = Exhibit(
    "fig35",
    "Time to identify a row of a hot key",
    Drawing(_chart("nanoseconds", "nanoseconds per row")),
    tuple(
        Claim(f"than-{other.lower()}", f"PStream needs less time than {what}.", f"−{by:.0%}",
              Near(-by, _against("nanoseconds", other) - 1, off=POINTS, beyond="below",
                   form="{:+.0%}"),
              _ALL_COMPILED)
        for (other, what), by in zip(_OTHERS.items(), (0.8, 0.84), strict=True)
    ),
    [On(_MEASURED)],
)  # fmt: skip
FIGURE_36 = Exhibit(
    "fig36",
    "Throughput of predictors of hot keys",
    Drawing(_chart("million_rows_a_second", "million rows per second")),
    (
        Claim("always-faster", "PStream's predictor is faster than the others at every skew.",
              "always",
              Above(1, cell("million_rows_a_second", predictor="PStream")
                    / largest("million_rows_a_second", predictor=one_of(*_OTHERS)),
                    each=["z"], form="{:.1f}×")),
        *(Claim(f"than-{other.lower()}", f"With Zipf-1.0 it is faster than {what}.",
                f"+{by:.1%}",
                Near(by, _faster(other), off=POINTS, beyond="above", where={"z": 1.0},
                     form="{:+.0%}"),
                _ALL_COMPILED)
          for (other, what), by in zip(_OTHERS.items(), (0.367, 0.475), strict=True)),
    ),
    [On(_MEASURED)],
)  # fmt: skip
