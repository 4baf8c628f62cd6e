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
    "flow": 10e6,
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
    _large_runs(many_rows)


def _large_runs(rows: int) -> None:
    """Simulate many rows; for flow ten times as many, too, on many workers: time is linear."""
    table = []
    for name, workers, size in (
        ("partial-key", 100, rows), ("flow", 10_000, rows), ("flow", 10_000, 10 * rows)
    ):  # fmt: skip
        stream = zipf(keys=max(rows // 10, 1), exponent=1.0, rows=size, seed=1)
        start = time.perf_counter()
        result = simulate(make_grouping(name, workers), stream, sources=5)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # of all runs so far
        counts = f"{workers:,}", f"{size:,}", f"{result.keys:,}"
        measured = f"{seconds:.0f}", f"{size / seconds / 1e6:.1f}", f"{peak:,.0f}"
        table.append([name, *counts, *measured, f"{result.imbalance_percent:.3g}"])
    columns = ["grouping", "workers", "rows", "keys seen", "seconds", "M rows/s", "peak MiB", "λ %"]
    show(f"large runs, 5 sources, Zipf 1 over {max(rows // 10, 1):,} keys", columns, table)


if __name__ == "__main__":
    main()
