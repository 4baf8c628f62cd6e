"""A skewed job on real Spark: the same work, placed in three ways, side by side.

Words of a Zipf distribution are counted, and every row costs 2 ms of waiting, as a call to a
service would. Waiting needs no processor: eight workers run at full speed on two cores. Run it
with ``python examples/spark_demo.py``; it takes about a minute.
"""

import logging
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from rich.console import Console
from rich.table import Table

import unskew.spark as us
from unskew.spark.aggregators import State

WORKERS = 8
ROWS = 16_000
SECONDS_PER_ROW = 0.002
RESULT = "n long, letters long"
SCHEMES = ["key", "partial-key", "wrap"]
BARS = " ▁▂▃▄▅▆▇█"


class SlowCount(us.Aggregator):
    """Counts rows and letters of a word; waits as long as one call per row would take."""

    state_schema = pa.schema([("n", pa.int64()), ("letters", pa.int64())])

    def __init__(self, seconds_per_row: float) -> None:
        self.seconds_per_row = seconds_per_row

    def init(self) -> State:
        """Return the state of no rows."""
        return (0, 0)

    def update(self, state: State, batch: pa.RecordBatch) -> State:
        """Return the state with the rows of a batch added."""
        time.sleep(self.seconds_per_row * batch.num_rows)
        return (state[0] + batch.num_rows, state[1] + sum(batch["letters"].to_pylist()))

    def merge(self, a: State, b: State) -> State:
        """Return the state of both parts together."""
        return (a[0] + b[0], a[1] + b[1])

    def finish(self, state: State) -> State:
        """Return the counts."""
        return state


class Run(NamedTuple):
    """What came of one way to place the rows."""

    name: str
    seconds: float
    rows: tuple[int, ...]
    exact: bool


def words(spark: SparkSession) -> DataFrame:
    """Return words as a text has them: the most frequent one makes a third of all rows."""
    ranks = np.random.default_rng(1).zipf(1.4, ROWS).clip(max=2000)
    table = pa.table({"word": [f"word{rank}" for rank in ranks], "letters": 4 + ranks // 10 % 10})
    # Eight partitions, as eight files would be.
    return spark.createDataFrame(table).repartition(WORKERS).localCheckpoint()


def plain(df: DataFrame) -> list[tuple[object, ...]]:
    """Return what must come out: Spark's own groupBy, without the waiting."""
    counted = df.groupBy("word").agg(sf.count("*").alias("n"), sf.sum("letters").alias("letters"))
    return sorted(map(tuple, counted.collect()))


def run(df: DataFrame, scheme: str, expected: list[tuple[object, ...]]) -> Run:
    """Do the work with rows placed by ``scheme``, learning included."""
    loads = us.Loads()
    started = time.perf_counter()
    grouped = us.group_by(df, "word", workers=WORKERS, grouping=scheme, loads=loads)
    got = sorted(map(tuple, grouped.apply(SlowCount(SECONDS_PER_ROW), RESULT).collect()))
    seconds = time.perf_counter() - started
    return Run(scheme, seconds, loads.epoch.loads, got == expected)


def main(spark: SparkSession, show: Callable[[str], None] = print) -> list[Run]:
    """Return what came of each scheme; ``show`` is given what goes on, as text."""
    df = words(spark)
    expected = plain(df)
    show("starting the workers ...")
    for scheme in SCHEMES:
        us.group_by(df, "word", workers=WORKERS, grouping=scheme).apply(
            SlowCount(0.0), RESULT
        ).collect()
    runs = []
    for scheme in SCHEMES:
        show(f"working, rows placed by {scheme} ...")
        runs.append(run(df, scheme, expected))
    return runs


def as_table(runs: list[Run]) -> Table:
    """Return the runs side by side."""
    ideal = ROWS * SECONDS_PER_ROW / WORKERS
    table = Table(title=f"{ROWS:,} rows, 2 ms each, {WORKERS} workers: at best {ideal:.1f} s")
    table.add_column("rows placed by")
    for title in ("seconds", "× best", "most rows"):
        table.add_column(title, justify="right")
    table.add_column("workers")
    table.add_column("same result as groupBy")
    for one in runs:
        table.add_row(
            one.name,
            f"{one.seconds:.1f}",
            f"{one.seconds / ideal:.2f}",
            f"{max(one.rows):,}",
            bars(one.rows),
            "yes" if one.exact else "NO",
        )
    return table


def bars(rows: tuple[int, ...]) -> str:
    """Return one bar per worker, as high as its share of the fullest one.

    >>> bars((8, 4, 0))
    '█▄ '
    """
    return "".join(BARS[round(8 * count / max(rows))] for count in rows)


if __name__ == "__main__":
    running = us.session(master=f"local[{WORKERS}]", spark__sql__shuffle__partitions=WORKERS)
    running.sparkContext.setLogLevel("ERROR")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    console = Console()
    results = main(running, console.print)
    running.stop()
    console.print(as_table(results))
    console.print("The same work in every line. By key, the hottest word has one worker and all")
    console.print("others wait for it; partial-key gives it two; wrap as many as it needs.")
    raise SystemExit(0 if all(one.exact for one in results) else 1)
