"""The paper's synthetic runs: many random mappings of Zipf keys into a larger universe."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew import metrics
from unskew._compiled import compiled
from unskew.groupings.base import Grouping, LearnedGrouping, OfflineGrouping
from unskew.groupings.registry import make_grouping
from unskew_papers.experiment import Chunks, Grid, Unit, Values
from unskew_papers.rows import Row, Rows

KEYS, UNIVERSE, TUPLES, LEARN = 10_000, 1_000_000, 100_000, 80_000
_CHUNK = 50
"""Mappings in a unit: what is lost when a run is stopped."""

DATA = (
    "synthetic, as in the paper: 100,000 tuples of 10,000 Zipf keys, mapped at random into a "
    "universe of 1,000,000; 80,000 to learn from, 20,000 to validate"
)
WRAP = "wrap:slots=1024"
"""80,000 tuples to learn from say little of more slots."""
_MEASURES = ("lambda", "sigma")
_CELLS = 1 << 14
"""A power of two: which of them a number falls into is exact."""

Keys = NDArray[np.int64]
Load = Callable[[NDArray[np.int32], int], NDArray[np.float64]]


def in_chunks(axes: Mapping[str, Values]) -> Chunks:
    """Cut the mappings of every setting into units."""
    return Chunks(Grid(axes), "mappings", _CHUNK)


def streams(unit: Unit, alpha: float, seed: int) -> Iterable[tuple[int, Keys, Keys]]:
    """Give number, learning part and validation part of the mappings of a unit."""
    shares = np.arange(1, KEYS + 1) ** -float(alpha)
    bounds = np.cumsum(shares / shares.sum())
    bounds[-1] = 1.0
    first = np.searchsorted(bounds, np.arange(_CELLS) / _CELLS)
    for number in range(unit["first"], unit["first"] + unit["mappings"]):
        rng = np.random.default_rng([seed, number, round(100 * alpha)])
        ranks = _ranks(rng.random(TUPLES), bounds, first)
        keys = rng.choice(UNIVERSE, KEYS, replace=False)[ranks].astype(np.int64)
        yield number, keys[:LEARN], keys[LEARN:]


@compiled
def _ranks(drawn: NDArray[np.float64], bounds: NDArray[np.float64], first: Keys) -> Keys:
    """Return whose share each number fell into; ``first`` says where to begin to look."""
    ranks = np.empty(drawn.size, np.int64)
    for place in range(drawn.size):
        rank = first[int(drawn[place] * first.size)]
        while bounds[rank] < drawn[place]:
            rank += 1
        ranks[place] = rank
    return ranks


def trained(scheme: str, k: int, learning: Keys, validation: Keys, seed: int) -> Grouping:
    """Return a scheme that has learned what it may: the oracle knows the validation part."""
    grouping = make_grouping(scheme, k, seed=seed)
    if isinstance(grouping, LearnedGrouping):
        grouping.learn(learning).build()
    elif isinstance(grouping, OfflineGrouping):
        grouping.fit(*np.unique(validation, return_counts=True))
    return grouping


def tuples_of(workers: NDArray[np.int32], k: int) -> NDArray[np.float64]:
    """Return how many tuples each worker has."""
    return np.bincount(workers, minlength=k).astype(np.float64)


class Tally:
    """Means and extremes of λ and σ over mappings, by setting and scheme."""

    def __init__(self) -> None:
        self._found: dict[tuple[tuple[str, Any], ...], list[tuple[float, float]]]
        self._found = defaultdict(list)

    def add(
        self, grouping: Grouping, validation: Keys, *, load: Load = tuples_of, **setting: Any
    ) -> None:
        """Route the validation part and take note of the loads of workers."""
        loads = load(grouping.route_many(validation), grouping.workers)
        pair = (metrics.imbalance_percent(loads), metrics.stddev(loads))
        self._found[tuple(setting.items())].append(pair)

    def rows(self) -> list[Row]:
        """Return one row per setting."""
        return [_summary(dict(setting), pairs) for setting, pairs in self._found.items()]


def _summary(setting: dict[str, Any], pairs: Sequence[tuple[float, float]]) -> Row:
    row: dict[str, Any] = {**setting, "mappings": len(pairs)}
    for name, values in zip(_MEASURES, zip(*pairs, strict=True), strict=True):
        row[f"{name}_mean"] = float(np.mean(values))
        row[f"{name}_worst"], row[f"{name}_best"] = max(values), min(values)
    return row


def combine(rows: Rows) -> Rows:
    """Join the rows of several chunks of mappings into one a setting."""
    figures = {"mappings"} | {
        f"{name}_{which}" for name in _MEASURES for which in ("mean", "worst", "best")
    }
    groups: dict[tuple[tuple[str, Any], ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple((name, row[name]) for name in row if name not in figures)].append(row)
    return Rows(_joined(dict(setting), parts) for setting, parts in groups.items())


def _joined(setting: dict[str, Any], parts: Sequence[Row]) -> Row:
    weights = [part["mappings"] for part in parts]
    row: dict[str, Any] = {**setting, "mappings": sum(weights)}
    for name in _MEASURES:
        row[f"{name}_mean"] = float(np.average([p[f"{name}_mean"] for p in parts], weights=weights))
        row[f"{name}_worst"] = max(part[f"{name}_worst"] for part in parts)
        row[f"{name}_best"] = min(part[f"{name}_best"] for part in parts)
    return row
