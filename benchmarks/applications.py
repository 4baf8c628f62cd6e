"""Applications on their real data, each row with work to wait for: what groupings make of it.

``python -m benchmarks applications`` runs every built-in set under all groupings that fit, prints
the README's table, and says of each set whether ``wrap`` is the fastest of all groupings that hold
a key on 1.1 workers or less. All groupings of a set get the same micro-batches and take turns
after every one; the first rounds, in which the JVM compiles and schemes learn, are left out.
"""

import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks._turns import run_in_turns
from unskew.apps.registry import make_application
from unskew.apps.running.file_sources import BuiltIn
from unskew.apps.running.run_session import run_session
from unskew.apps.running.runner import ApplicationRun
from unskew.apps.running.sinks import parse_sink
from unskew.reports.grouping_run import GroupingRun
from unskew.reports.tables import real_text, replication_text

APPLICATIONS = {"wordcount": "words", "vwap": "purchases", "roads": "flights"}
"""One per built-in set."""
LEFT_OUT = "single"  # one worker does all: what it gives is known, and it only takes long
OURS, MOST_COPIES = "wrap", 1.1


class Size(NamedTuple):
    """How much is run; the README's table is of the default."""

    workers: int = 8
    delay: float = 0.000_5
    batch_rows: int = 30_000
    rounds: int = 6
    warm_up: int = 2


def main(size: Size = Size(), names: Iterable[str] = APPLICATIONS) -> None:  # noqa: B008 (a tuple)
    """Run all sets, or those of some applications, print a table, and judge the claim."""
    started = time.perf_counter()
    spark = run_session(None, workers=size.workers, waits=True)
    # Queries that wait for their turn look for files this often, which takes time from others.
    spark.conf.set("spark.sql.streaming.pollingDelay", "500ms")
    runs = {name: _measured(spark, name, size) for name in names}
    spark.stop()
    print(
        f"\n{size.workers} workers, {1000 * size.delay:g} ms per row (at best "
        f"{real_text(size.workers / size.delay)} rows/s), {size.batch_rows:,} rows per "
        f"micro-batch; {size.rounds - size.warm_up} rounds after {size.warm_up} of warming up. "
        f"Not run: `{LEFT_OUT}`, at most {real_text(1 / size.delay)} rows/s.\n"
    )
    print("\n".join(markdown(runs)), "\n")
    for name, of_set in runs.items():
        print(f"{APPLICATIONS[name]}: {verdict(of_set)}")
    print(f"\n{time.perf_counter() - started:.0f} s in all")


def _measured(spark: SparkSession, name: str, size: Size) -> list[GroupingRun]:
    application = make_application(name)
    groupings = [each for each in application.groupings if each != LEFT_OUT]
    with tempfile.TemporaryDirectory() as folder:

        def to_run(label: str, source: BuiltIn) -> ApplicationRun:
            return ApplicationRun(
                application,
                source,
                parse_sink("none"),
                [label],
                size.workers,
                Path(folder) / label,
                delay=size.delay,
                max_batches=size.rounds,
                warm_up=size.warm_up,
            )

        return run_in_turns(
            spark,
            groupings,
            to_run,
            batch_rows=size.batch_rows,
            batches=size.rounds,
            pool=Path(folder) / "input",
        )


def markdown(runs: Mapping[str, Sequence[GroupingRun]]) -> list[str]:
    """Return the lines of a table with a row per grouping and three columns per set."""
    titles = [f"`{name}` rows/s | λ % | replication" for name in runs]
    lines = [f"| grouping | {' | '.join(titles)} |", "|---" * (1 + 3 * len(runs)) + "|"]
    by_label = [{run.label: run for run in of_set} for of_set in runs.values()]
    labels = sorted(by_label[0], key=lambda label: -by_label[0][label].rows_per_second)
    for label in labels:
        cells = [_cells(of_set[label]) for of_set in by_label]
        lines.append(f"| `{label}` | {' | '.join(cells)} |")
    return lines


def _cells(run: GroupingRun) -> str:
    texts = [
        real_text(run.rows_per_second),
        real_text(run.imbalance_percent),
        replication_text(run.replication),
    ]
    return " | ".join(texts)


def verdict(runs: Sequence[GroupingRun]) -> str:
    """Say whether ours is as fast as the fastest of those that hold keys as seldom twice.

    Rounds are compared one by one, since all runs have the same rows in a round. Noise is twice
    the standard error of the mean ratio; runs that differ by less are equally fast.
    """
    ours = next(run for run in runs if run.label == OURS)
    rivals = [run for run in runs if run is not ours and run.replication <= MOST_COPIES]
    if ours.replication > MOST_COPIES:
        return f"does NOT hold: {OURS} itself has replication {ours.replication:.3f}"
    best = max(rivals, key=lambda run: run.rows_per_second)
    ratios = [
        (theirs.epoch.seconds or 0.0) / (own.epoch.seconds or 1.0)
        for own, theirs in zip(ours.measured, best.measured, strict=True)
    ]
    ratio = statistics.geometric_mean(ratios)
    noise = 2 * statistics.stdev(ratios) / len(ratios) ** 0.5
    said = "holds, equal within the noise" if ratio + noise >= 1 else "does NOT hold"
    said = "holds" if ratio - noise > 1 else said
    return (
        f"{said}: {OURS} {ratio:.3f} ± {noise:.3f} times the throughput of "
        f"{best.label}, the fastest other one of {len(rivals)} with replication ≤ {MOST_COPIES}"
    )


if __name__ == "__main__":
    main()
