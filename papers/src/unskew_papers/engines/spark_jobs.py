"""Jobs on Spark with work that waits, so that many workers run at full speed on few cores."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unskew.groupings.base import LearnedGrouping
from unskew.hashing import Ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLOTS = 16
"""Workers that wait at the same time, where a figure does not ask for more."""
MOST_WORKERS = 128
"""Most workers that can wait at the same time: task slots of the session, some 40 MB each."""
MODULO = "modulo"
"""Whole numbers by their remainder, which Spark is given as an expression."""
SOURCES = 8
"""Partitions that rows come from."""
ROWS_PER_WAIT = 500
"""Rows that a worker waits for at a time."""


@dataclass(frozen=True)
class JobResult:
    """What a job did.

    Parameters
    ----------
    seconds
        Wall clock time from its start to its result, learning not included.
    loads
        Rows that each worker got.
    busy
        Seconds that each worker worked.
    partials
        Counters that the workers held, all together.
    exact
        Whether the result is the one of a plain count.
    """

    seconds: float
    loads: tuple[int, ...]
    busy: tuple[float, ...]
    partials: int
    exact: bool

    @property
    def throughput(self) -> float:
        """Rows per second while the workers work: a stream starts once, a job every time."""
        return sum(self.loads) / max(self.busy)

    @property
    def stddev_percent(self) -> float:
        """σ of the loads, in percent of their mean."""
        return float(100 * np.std(self.loads) / np.mean(self.loads))

    def row_seconds(self) -> NDArray[np.float64]:
        """Return when each row was done, from when its worker began: it takes all at one speed."""
        each = zip(self.busy, self.loads, strict=True)
        return np.concatenate([busy * np.arange(1, rows + 1) / rows for busy, rows in each if rows])


@cache
def local_spark() -> "SparkSession":
    """Return a session of this machine with as many task slots as workers may wait."""
    from unskew.spark.session import session

    found = session(
        master=f"local[{MOST_WORKERS}]",
        app_name="unskew reproduce",
        spark__sql__execution__arrow__maxRecordsPerBatch=ROWS_PER_WAIT,
        spark__default__parallelism=SOURCES,
        spark__sql__shuffle__partitions=4,
        spark__sql__adaptive__enabled=False,
        spark__python__worker__reuse=True,
        spark__python__daemon__module="unskew_papers.engines.python_daemon",
    )
    found.sparkContext.setLogLevel("ERROR")
    return found


def count_keys_on_spark(
    keys: Ids,
    workers: int,
    scheme: str,
    *,
    milliseconds: float,
    learn_from: Ids | None = None,
    seed: int = 0,
    sources: int | None = None,
) -> JobResult:
    """Count keys on Spark, every row of which makes its worker wait.

    Parameters
    ----------
    keys
        The key of every row.
    workers
        Number of workers, no more than `MOST_WORKERS`.
    scheme
        How rows are placed; `MODULO` or a spec that `unskew.spark.balance` takes.
    milliseconds
        How long a worker waits for a row.
    learn_from
        Rows from which a scheme that learns makes its plan beforehand; by default ``keys``.
    seed
        For the scheme.
    sources
        Tasks that rows come from, each of which decides by itself where they go; by default
        `SOURCES`.
    """
    job = worked(
        keys, workers, scheme, milliseconds=milliseconds, learn_from=learn_from, seed=seed,
        sources=sources,
    )  # fmt: skip
    started = time.perf_counter()
    found = job.toArrow()
    seconds = time.perf_counter() - started
    return summed_up(found, keys, workers, seconds)


def worked(
    keys: Ids,
    workers: int,
    scheme: str,
    *,
    milliseconds: float,
    learn_from: Ids | None = None,
    seed: int = 0,
    sources: int | None = None,
) -> "DataFrame":
    """Return the counts of each worker, with its number and how long it was busy.

    Parameters are those of `count_keys_on_spark`; nothing but learning has run yet.
    """
    rows = frame(keys) if sources is None else frame(keys).repartition(sources)
    return counted(_placed(rows, workers, scheme, learn_from, seed), milliseconds)


def counted(placed: "DataFrame", milliseconds: float) -> "DataFrame":
    """Return the counts of each worker of rows that are on their workers."""
    from pyspark.sql import functions as sf

    partial = placed.mapInArrow(_waiting_count(milliseconds), _RESULT)
    return partial.withColumn("worker", sf.spark_partition_id())


def merged(partials: "DataFrame", aggregators: int) -> "DataFrame":
    """Return the counts of keys, merged by so many aggregators."""
    from pyspark.sql import functions as sf

    brought = partials.repartition(aggregators, "key")
    return brought.groupBy("key").agg(sf.sum("n").alias("n"), sf.max("busy").alias("busy"))


_RESULT = "key long, n long, busy double"


def frame(keys: Ids) -> "DataFrame":
    """Return rows of one column, ``key``."""
    return local_spark().createDataFrame(pa.table({"key": keys.astype(np.int64)}))


def _placed(
    rows: "DataFrame", workers: int, scheme: str, learn_from: Ids | None, seed: int
) -> "DataFrame":
    from pyspark.sql import functions as sf

    from unskew.spark.balance import balance
    from unskew.spark.columns import identity
    from unskew.spark.routing.learning import learn_placing
    from unskew.spark.routing.schemes import grouping_for

    if scheme == MODULO:
        return rows.repartitionById(workers, sf.expr(f"int(pmod(key, {workers}))"))
    grouping = grouping_for(scheme, workers, seed=seed)
    if not isinstance(grouping, LearnedGrouping):
        return balance(rows, "key", workers, grouping=grouping, seed=seed)
    sample = rows if learn_from is None else frame(learn_from)
    plan = learn_placing(sample, identity(sample, ["key"]), grouping, how="pass").plan
    return balance(rows, "key", workers, plan=plan, seed=seed)


def _waiting_count(milliseconds: float):  # type: ignore[no-untyped-def] # pyspark hints its own kind
    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen, busy = [], 0.0
        for batch in batches:
            started = time.perf_counter()
            time.sleep(milliseconds * batch.num_rows / 1000)
            seen.append(batch.column(0))
            busy += time.perf_counter() - started
        counted = pc.value_counts(pa.chunked_array(seen, pa.int64()))
        names, counts = counted.field("values"), counted.field("counts")
        busy_column = pa.array([busy] * len(names), pa.float64())
        yield pa.RecordBatch.from_arrays([names, counts, busy_column], ["key", "n", "busy"])

    return count


def summed_up(found: pa.Table, keys: Ids, workers: int, seconds: float) -> JobResult:
    """Return what a job did, of the partial counts of all its workers."""
    place = found["worker"].to_numpy()
    counts = found["n"].to_numpy()
    loads = np.bincount(place, weights=counts, minlength=workers)
    busy = np.zeros(workers)
    np.maximum.at(busy, place, found["busy"].to_numpy())
    names, inverse = np.unique(found["key"].to_numpy(), return_inverse=True)
    totals = np.bincount(inverse, weights=counts)
    expected = np.unique(keys.astype(np.int64), return_counts=True)
    exact = np.array_equal(names, expected[0]) and np.array_equal(totals, expected[1])
    whole = tuple(int(load) for load in loads)
    return JobResult(seconds, whole, tuple(busy.tolist()), found.num_rows, bool(exact))
