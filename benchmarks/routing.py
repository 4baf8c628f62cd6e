"""``route_many`` of every scheme against ``key``: one hash and one modulo in a compiled loop."""

import copy
from functools import partial

import numpy as np

from benchmarks._timing import interleaved, show
from unskew.groupings.base import Grouping, LearnedGrouping, OfflineGrouping
from unskew.groupings.registry import GROUPINGS, make_grouping
from unskew.streams import zipf

ROWS, WORKERS = 10_000_000, 100

# The most that a scheme may cost, in times of key grouping.
TARGETS = {
    "shuffle": 1.0,
    "partial-key": 3.0,
    "distribution-aware": 5.0,
    "wrap": 5.0,
    "flow": 6.0,
    "popularity": 5.0,
    "d-choices": 15.0,
    "w-choices": 15.0,
    "dynamic-key": 15.0,
}


def main(rows: int = ROWS) -> None:
    """Route 10 million integer keys with each scheme, one thread, once it has learned."""
    stream = zipf(keys=100_000, exponent=1.2, rows=rows, seed=1)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    groupings = {name: _ready(name, keys) for name in GROUPINGS}
    actions = {name: partial(_route, grouping, keys) for name, grouping in groupings.items()}
    seconds = interleaved(actions)
    table = []
    for name, took in seconds.items():
        ratio, target = took / seconds["key"], TARGETS.get(name)
        verdict = "" if target is None else f"≤ {target:g} {'✓' if ratio <= target else '✗'}"
        table.append([name, f"{1e9 * took / rows:.1f}", f"{ratio:.2f}", verdict])
    title = f"route_many, {rows:,} Zipf-1.2 int64 keys, {WORKERS} workers, one thread"
    show(title, ["grouping", "ns per row", "× key", "target"], table)


def _ready(name: str, keys: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Grouping:
    grouping = make_grouping(name, WORKERS)
    if isinstance(grouping, LearnedGrouping):
        return grouping.learn(keys[: keys.size // 5]).build()
    if isinstance(grouping, OfflineGrouping):
        return grouping.fit(*np.unique(keys, return_counts=True))
    grouping.route_many(keys[: keys.size // 5])
    return grouping


def _route(grouping: Grouping, keys: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> None:
    copy.deepcopy(grouping).route_many(keys)


if __name__ == "__main__":
    main()
