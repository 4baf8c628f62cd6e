"""How even the compiled form of wrap is on Spark, beside the simulator, on the same streams.

Spark routes by a fixed plan, with no Python in the way, and counts what each worker gets. Rows of
split keys are spread by their number in proportion to the plan, where the simulator's sources send
each to the least loaded worker. The plan is learned in three ways: as `balance` does it for a
table, from a sample of its rows; from one pass over all of them (``learn="pass"``); and from the
first fifth, which is not measured, as by one who has to plan before the rows are there.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from benchmarks._timing import show
from unskew.groupings.plan import Plan
from unskew.groupings.wrap import Wrap
from unskew.metrics import imbalance_percent
from unskew.simulator.loads import simulate
from unskew.spark import session
from unskew.spark.columns import identity
from unskew.spark.routing.learning import learn
from unskew.spark.routing.placing import route
from unskew.spark.routing.schemes import grouping_for
from unskew.streams import parse_stream
from unskew.streams.base import Stream

ROWS, LEARNED, SOURCES, FILES = 10_000_000, 0.2, 5, 4
MOST = 4.0
"""λ in percent that the compiled form must not exceed."""
FEWEST_ROWS = 10_000
"""Rows that a worker must expect for that; with fewer λ is chance."""
STREAMS = (
    "zipf:keys=100k,exponent=0.1",
    "zipf:keys=100k,exponent=0.3",
    "zipf:keys=100k,exponent=0.5",
    "zipf:keys=100k,exponent=0.8",
    "zipf:keys=100k,exponent=1.2",
    "zipf:keys=100k,exponent=2.0",
    "lognormal:variant=LN1",
    "lognormal:variant=LN2",
)
WORKERS = (10, 100, 500)
WAYS = ("sample", "pass", "first fifth")


class Found(NamedTuple):
    """What became of the rows."""

    percent: float
    """λ"""
    pieces: int
    """Of keys, beyond one per key."""


def main(
    rows: int = ROWS, streams: Sequence[str] = STREAMS, all_workers: Sequence[int] = WORKERS
) -> None:
    """Route eight streams to 10, 100 and 500 workers, by plans that were learned in three ways."""
    spark = session(master="local[2]", spark__driver__memory="4g")
    spark.sparkContext.setLogLevel("ERROR")
    table = []
    for spec in streams:
        stream = parse_stream(f"{spec},rows={rows}", seed=1)
        with tempfile.TemporaryDirectory() as folder:
            write_parts(Path(folder), stream, int(LEARNED * rows))
            first, rest = (spark.read.parquet(f"{folder}/{part}") for part in ("first", "rest"))
            for workers in all_workers:
                found = on_spark(first, rest, workers, int(LEARNED * rows))
                simulated = simulate(Wrap(workers, seed=1), stream, sources=SOURCES, learn=LEARNED)
                table.append(line(spec, workers, rows, found, simulated.imbalance_percent))
    spark.stop()
    title = f"wrap: λ in percent of {rows:,} rows, {MOST:g} at most"
    columns = ["stream", "workers", *WAYS, "simulator", "extra pieces"]
    show(title, columns, table)


def on_spark(first: DataFrame, rest: DataFrame, workers: int, rows: int) -> dict[str, Found]:
    """Return what became of the rows by plans that were learned in each of the ways."""
    scheme = cast(Wrap, grouping_for("wrap", workers))
    before = learn(first, identity(first, "key"), scheme, rows=rows).plan
    every = first.unionAll(rest)
    return {
        "sample": routed_by(every, workers, None, "sample"),
        "pass": routed_by(every, workers, None, "pass"),
        "first fifth": routed_by(rest, workers, before, "sample"),
    }


def routed_by(df: DataFrame, workers: int, plan: Plan | None, how: str) -> Found:
    """Return λ of ``df`` by a plan, learned if there is none, and its pieces beyond the keys."""
    routed = route(
        df,
        "key",
        workers,
        owner="benchmark",
        grouping="wrap",
        plan=plan,
        learn=how,
        spread_by=[],
        seed=0,
    )
    counts = routed.df.groupBy(routed.worker.alias("worker")).count().toArrow()
    loads = np.zeros(workers)
    loads[counts["worker"].to_numpy()] = counts["count"].to_numpy()
    assert routed.plan is not None
    return Found(imbalance_percent(loads), routed.plan.extra_pieces)


def line(
    spec: str, workers: int, rows: int, found: dict[str, Found], simulated: float
) -> list[str]:
    """Return a row of the table, with verdicts where workers expect enough rows for them."""
    enough = (1 - LEARNED) * rows / workers >= FEWEST_ROWS
    cells = [
        f"{one.percent:.2f}" + (f" {'✓' if one.percent <= MOST else '✗'}" if enough else "")
        for one in found.values()
    ]
    most_pieces = max(one.pieces for one in found.values())
    return [spec, f"{workers}", *cells, f"{simulated:.2f}", f"{most_pieces:,}"]


def write_parts(folder: Path, stream: Stream, learned: int) -> None:
    """Write the first rows of a stream to one folder and the others to another."""
    keys = np.concatenate([batch.keys for batch in stream.batches()]).astype(np.int64)
    for name, part in (("first", keys[:learned]), ("rest", keys[learned:])):
        (folder / name).mkdir()
        for number, rows in enumerate(np.array_split(part, FILES)):
            pq.write_table(pa.table({"key": rows}), folder / name / f"{number}.parquet")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else ROWS)
