"""Rows per second of whole simulations: stream, sources, routing, loads, replication."""

import resource
import time

from benchmarks._timing import show
from unskew.groupings.registry import make_grouping
from unskew.simulator.loads import simulate
from unskew.streams import zipf

# Rows per second that each scheme should reach on one quiet core.
TARGETS = {
    "key": None,
    "shuffle": None,
    "partial-key": 10e6,
    "d-choices": 2e6,
    "w-choices": 2e6,
    "wrap": None,
}
ROWS, MANY_ROWS, ROUNDS = 10_000_000, 100_000_000, 5


def main(rows: int = ROWS, many_rows: int = MANY_ROWS) -> None:
    """Simulate 5 sources and 100 workers; the baseline is key grouping in the same run."""
    stream = zipf(keys=100_000, exponent=1.2, rows=rows, seed=1)
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name in TARGETS:
            grouping = make_grouping(name, 100)
            start = time.perf_counter()
            simulate(grouping, stream, sources=5)
            rate = rows / (time.perf_counter() - start)
            best[name] = max(rate, best.get(name, 0.0))
    table = []
    for name, rate in best.items():
        target = TARGETS[name]
        verdict = "" if target is None else f"≥ {target / 1e6:g} {'✓' if rate >= target else '✗'}"
        table.append([name, f"{rate / 1e6:.1f}", f"{rate / best['key']:.2f}", verdict])
    title = f"simulation, {rows:,} rows, 100 k keys, 5 sources, 100 workers, best of {ROUNDS}"
    show(title, ["grouping", "M rows/s", "× key", "target"], table)
    _large_run(many_rows)


def _large_run(rows: int) -> None:
    stream = zipf(keys=max(rows // 10, 1), exponent=1.0, rows=rows, seed=1)
    start = time.perf_counter()
    result = simulate(make_grouping("partial-key", 100), stream, sources=5)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = [f"{result.keys:,}", f"{seconds:.0f}", f"{rows / seconds / 1e6:.1f}", f"{peak:,.0f}"]
    title = f"partial-key, {rows:,} rows, a tenth as many keys, 5 sources, 100 workers"
    show(title, ["keys seen", "seconds", "M rows/s", "peak MiB"], [row])


if __name__ == "__main__":
    main()
