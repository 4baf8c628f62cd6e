"""How even the compiled form of wrap is on Spark, beside the simulator, on the same streams.

A plan is learned from the first fifth of a stream and then fixed; Spark routes the rest by it, with
no Python in the way, and counts what each worker gets. Rows of split keys are dealt by their number
in proportion to the plan, where the simulator's sources send each to the least loaded worker.
"""

import sys
import tempfile
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks._timing import show
from unskew.groupings.wrap import Wrap
from unskew.metrics import imbalance_percent
from unskew.simulator.loads import simulate
from unskew.spark import session
from unskew.spark.keys import identity
from unskew.spark.learning import learn
from unskew.spark.placement import route
from unskew.spark.schemes import grouping_for
from unskew.streams import parse_stream
from unskew.streams.base import Stream

ROWS, LEARNED, SOURCES, FILES = 10_000_000, 0.2, 5, 4
MOST = 4.0
"""λ in percent that the compiled form must not exceed."""
FEWEST_ROWS = 10_000
"""Rows a worker must expect for that; with fewer λ is chance."""
STREAMS = (
    "zipf:keys=100k,exponent=0.1",
    "zipf:keys=100k,exponent=0.5",
    "zipf:keys=100k,exponent=0.8",
    "zipf:keys=100k,exponent=1.2",
    "zipf:keys=100k,exponent=2.0",
    "lognormal:variant=LN1",
    "lognormal:variant=LN2",
)
WORKERS = (10, 100, 500)


def main(rows: int = ROWS) -> None:
    """Route seven streams to 10, 100 and 500 workers, by a plan from the first fifth of each."""
    spark = session(master="local[2]", spark__driver__memory="4g")
    spark.sparkContext.setLogLevel("ERROR")
    table = []
    for spec in STREAMS:
        stream = parse_stream(f"{spec},messages={rows}", seed=1)
        with tempfile.TemporaryDirectory() as folder:
            write_parts(Path(folder), stream, int(LEARNED * rows))
            first, rest = (spark.read.parquet(f"{folder}/{part}") for part in ("first", "rest"))
            for workers in WORKERS:
                compiled, pieces = on_spark(first, rest, workers, int(LEARNED * rows))
                simulated = simulate(Wrap(workers, seed=1), stream, sources=SOURCES, learn=LEARNED)
                table.append(line(spec, workers, rows, compiled, simulated.imbalance_percent))
                table[-1].append(f"{pieces:,}")
    spark.stop()
    title = f"wrap: λ in percent of {rows:,} rows, the first fifth learned from and not measured"
    columns = ["stream", "workers", "Spark", "simulator", f"Spark ≤ {MOST:g}", "extra pieces"]
    show(title, columns, table)


def on_spark(first: DataFrame, rest: DataFrame, workers: int, rows: int) -> tuple[float, int]:
    """Return λ of the rows of ``rest`` by a plan from ``first``, and its pieces beyond the keys."""
    scheme = cast(Wrap, grouping_for("wrap", workers))
    plan = learn(first, identity(first, "key"), scheme, rows=rows).plan
    routed = route(
        rest, "key", workers, grouping="wrap", plan=plan, learn="sample", deal_by=[], seed=0
    )
    counts = routed.df.groupBy(routed.worker.alias("worker")).count().toArrow()
    loads = np.zeros(workers)
    loads[counts["worker"].to_numpy()] = counts["count"].to_numpy()
    return imbalance_percent(loads), plan.extra_pieces


def line(spec: str, workers: int, rows: int, compiled: float, simulated: float) -> list[str]:
    """Return a row of the table, with a verdict where workers expect enough rows for one."""
    enough = (1 - LEARNED) * rows / workers >= FEWEST_ROWS
    verdict = ("✓" if compiled <= MOST else "✗") if enough else "few rows"
    return [spec, f"{workers}", f"{compiled:.2f}", f"{simulated:.2f}", verdict]


def write_parts(folder: Path, stream: Stream, learned: int) -> None:
    """Write the first rows of a stream to one folder and the others to another."""
    keys = np.concatenate([batch.keys for batch in stream.batches()]).astype(np.int64)
    for name, part in (("first", keys[:learned]), ("rest", keys[learned:])):
        (folder / name).mkdir()
        for number, rows in enumerate(np.array_split(part, FILES)):
            pq.write_table(pa.table({"key": rows}), folder / name / f"{number}.parquet")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS)
