"""Applications on their real data, each row with work to wait for: what groupings make of it.

``python -m benchmarks applications`` runs every built-in set under all groupings that fit and
prints the README's table; ``key`` in the same run is the baseline.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from unskew.apps.registry import make_application
from unskew.apps.running.run_session import run_session
from unskew.apps.running.runner import Run
from unskew.apps.running.sinks import parse_sink
from unskew.apps.running.sources import Portions, parse_source
from unskew.reports.grouping_run import GroupingRun
from unskew.reports.numbers import real_text, replication_text

APPLICATIONS = ("wordcount", "vwap", "roads")
"""One a built-in set: words, purchases, flights."""
LEFT_OUT = ("single",)  # one worker does all: it only takes long
WORKERS, DELAY, BATCH_ROWS, BATCHES, WARM_UP = 8, 0.000_5, 60_000, 5, 2


def main() -> None:
    """Run all sets and print a table of each."""
    spark = run_session(None, workers=WORKERS, waits=True)
    for name in APPLICATIONS:
        print(
            f"\n{name}: {WORKERS} workers, {1000 * DELAY:g} ms a row, {BATCH_ROWS:,} rows a batch"
        )
        _print(_measured(spark, name))
    spark.stop()


def _measured(spark: SparkSession, name: str) -> list[GroupingRun]:
    application = make_application(name)
    groupings = [each for each in application.groupings if each not in LEFT_OUT]
    with tempfile.TemporaryDirectory() as folder:
        portions = Portions(BATCH_ROWS, None, BATCHES, Path(folder) / "input")
        run = Run(
            application,
            parse_source("built-in", portions),
            parse_sink("none"),
            groupings,
            WORKERS,
            Path(folder),
            delay=DELAY,
            max_batches=BATCHES,
            warm_up=WARM_UP,
        )
        run.check()
        return run.run(spark)


def _print(runs: Sequence[GroupingRun]) -> None:
    baseline = next(run.rows_per_second for run in runs if run.label == "key")
    print("| grouping | rows/s | × key | λ % | replication | p99 s |\n|---|---|---|---|---|---|")
    for run in sorted(runs, key=lambda each: -each.rows_per_second):
        speed = run.rows_per_second
        cells = [
            f"`{run.label}`",
            real_text(speed),
            f"{speed / baseline:.2f}",
            real_text(run.imbalance_percent),
            replication_text(run.replication),
            real_text(run.latency(0.99)),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
