"""The shuffle that places rows, by scheme, against ``repartition(W, key)`` of plain Spark."""

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks._timing import interleaved, show
from unskew.spark import balance, session
from unskew.streams import zipf

ROWS, WORKERS, FILES = 10_000_000, 8, 4
NAMES = (
    "key",
    "distribution-aware",
    "wrap",
    "popularity-counted",
    "shuffle",
    "partial-key",
    "w-choices",
    "flow",
)

BY_KEY, ROUND_ROBIN = "repartition(W, key)", "repartition(W)"
# The most that a scheme may cost, in times of what plain Spark takes for the like of it.
TARGETS = {
    "key": (BY_KEY, 1.10),
    "distribution-aware": (BY_KEY, 1.10),
    "wrap": (BY_KEY, 1.10),
    "popularity-counted": (BY_KEY, 1.10),
    "shuffle": (ROUND_ROBIN, 1.00),
    "partial-key": (BY_KEY, 1.80),
}


def main(rows: int = ROWS, rounds: int = 5) -> None:
    """Shuffle 10 million rows of a text key and two numbers to 8 workers, with each scheme."""
    spark = session(master="local[2]", spark__driver__memory="4g")
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), rows)
        df = spark.read.parquet(folder)
        actions: dict[str, Callable[[], object]] = {
            BY_KEY: partial(run, df.repartition(WORKERS, "key")),
            ROUND_ROBIN: partial(run, df.repartition(WORKERS)),
            **{name: partial(run, balance(df, "key", WORKERS, grouping=name)) for name in NAMES},
        }
        seconds = interleaved(actions, rounds)
    spark.stop()
    table = []
    for name, took in seconds.items():
        baseline, most = TARGETS.get(name, (BY_KEY, 0.0))
        ratio = took / seconds[baseline]
        verdict = f"≤ {most:.2f} × {baseline} {'✓' if ratio <= most else '✗'}" if most else ""
        table.append([name, f"{took:.2f}", f"{took / seconds[BY_KEY]:.2f}", verdict])
    title = (
        f"{rows:,} Zipf-1.2 rows (text, double, bigint) to {WORKERS} workers; learning not counted"
    )
    show(title, ["shuffle", "seconds", "× by key", "target"], table)


def run(df: DataFrame) -> None:
    """Compute all of ``df`` and throw it away."""
    df.write.format("noop").mode("overwrite").save()


def write_rows(folder: Path, rows: int) -> None:
    """Write rows of a text key, Zipf 1.2, and two numbers to files in ``folder``."""
    stream = zipf(keys=100_000, exponent=1.2, rows=rows, seed=1)
    keys = np.concatenate([batch.keys for batch in stream.batches()])
    names = pa.array([f"user-{key}" for key in range(100_001)])
    rng = np.random.default_rng(1)
    for number, part in enumerate(np.array_split(keys, FILES)):
        table = pa.table(
            {
                "key": names.take(pa.array(part)),
                "amount": rng.random(part.size),
                "count": rng.integers(0, 1000, part.size),
            }
        )
        pq.write_table(table, folder / f"{number}.parquet")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
