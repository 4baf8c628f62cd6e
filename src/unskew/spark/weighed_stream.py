"""Let schemes that decide row by row weigh the rows of a stream by what its work has taken."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.groupings.base import Grouping
from unskew.hashing import Ids
from unskew.metrics import imbalance_percent
from unskew.spark._key_times import Timing, WorkTimes
from unskew.spark._weights_source import WeightsFolder
from unskew.spark.cost_messages import NO_ROUND
from unskew.spark.keys import identity
from unskew.spark.learned_file import LearnedFile
from unskew.spark.learning_loop import LearningLoop, WorkReport
from unskew.spark.lost_executors import warn_if_unchecked
from unskew.spark.placed_stream import PlacedStream
from unskew.spark.placement import free_names
from unskew.spark.plan_listener import WORK_SUFFIX, follow
from unskew.spark.pooled_times import PooledTimes, as_line, from_lines
from unskew.spark.routing_step import Router, routed_column
from unskew.spark.saved_plans import key_types
from unskew.spark.work_stats import STATS_FIELD, read_stats

N_SLOTS = 256
"""Hash slots: any worker may have keys of all of them, and each tells the driver of them."""

_FEWEST_KEYS, _KEYS_TOLD = 64, 2048
_numbers = itertools.count(1)


def weigh_stream(
    df: DataFrame, by: list[str], scheme: Grouping, *, owner: str, folder: Path
) -> PlacedStream:
    """Return the stream with its rows placed by ``scheme``, which evens out work instead of rows.

    Each micro-batch reports what its keys took; tasks that route rows read what was learned of
    that when they start.

    Parameters
    ----------
    df, by
        The stream, and its key columns.
    scheme
        A grouping that decides row by row and can weigh rows.
    owner
        Who is named in errors.
    folder
        A folder of the query's own, which the driver and all executors see under one path.
    """
    workers = scheme.workers
    file = LearnedFile(folder, _target(by, key_types(df, by), workers))
    loop = WeighingLoop(owner, folder, file, workers)
    name = f"unskew-weights-{next(_numbers)}"
    key, code = free_names(df, 2)
    warn_if_unchecked(df.sparkSession)
    coded = df.withColumn(key, identity(df, by)).withColumn(
        code, version_and_worker(sf.col(key), scheme, loop.source)
    )
    # The least: a task that found no file shows.
    version = sf.expr(f"min({code} div {workers}) + {NO_ROUND}").alias("version")
    worker = (sf.col(code) % workers).cast("int")
    placed = coded.observe(name, version).repartitionById(workers, worker).drop(code)
    follow(df.sparkSession, name, loop, read_weighed)
    told = max(_FEWEST_KEYS, _KEYS_TOLD // workers)
    return PlacedStream(placed, f"{name}{WORK_SUFFIX}", Timing(key, N_SLOTS, told))


def version_and_worker(identity: Column, grouping: Grouping, source: WeightsFolder) -> Column:
    """Return a number (bigint) of each row that says its worker and which costs it was weighed by.

    Its remainder by the number of workers is the worker. The quotient is the version of the costs,
    counted from `NO_ROUND`: 0 where a task has found none.

    Parameters
    ----------
    identity
        A column of its own, as for `routed_column`.
    grouping
        Any grouping that routes identities by weight; each task has a copy.
    source
        Where a task finds out what rows weigh when it starts.
    """

    def start() -> Router:
        own, known = grouping.for_source(0, 1), source.read()
        version = NO_ROUND if known is None else known.version
        costs = None if known is None else known.row_weights()

        def choose(ids: Ids) -> NDArray[np.int64]:
            chosen = own.route_many(ids, weights=None if costs is None else costs.weights(ids))
            return chosen + np.int64((version - NO_ROUND) * own.workers)

        return choose

    return routed_column(identity, start, "bigint")


def read_weighed(progress: Any, name: str) -> WorkReport | None:
    """Return what a `WeighingLoop` takes out of the progress of a query; None if it had no rows."""
    version = progress.observedMetrics[name]["version"]
    work = progress.observedMetrics.get(f"{name}{WORK_SUFFIX}")
    if version is None or work is None:
        return None
    query, run, batch = str(progress.id), str(progress.runId), int(progress.batchId)
    return WorkReport(query, run, batch, work[STATS_FIELD], int(version))


class WeighingLoop(LearningLoop):
    """Learn from every micro-batch what rows of its keys take, and let the next weigh them by it.

    Parameters
    ----------
    owner
        Who is named in errors.
    folder
        Where the record of micro-batches goes.
    file
        Where it is kept for tasks; what is there is gone on with.
    workers
        How many workers take rows.
    """

    def __init__(self, owner: str, folder: Path, file: LearnedFile, workers: int) -> None:
        self._file, self._workers = file, workers
        self._times = from_lines(file.read(owner), N_SLOTS) or PooledTimes.nothing(N_SLOTS)
        super().__init__(folder, file, without_files="All rows weighed the same")

    @property
    def source(self) -> WeightsFolder:
        """Where tasks find what rows weigh."""
        return WeightsFolder(self._file.own, N_SLOTS)

    def _learn(self, report: WorkReport) -> dict[str, Any] | None:
        stats = read_stats(report.stats)
        told = {one.worker: WorkTimes.unpacked(one.payload) for one in stats if one.payload}
        rows, busy, of_calls = np.zeros(self._workers, np.int64), *np.zeros((2, self._workers))
        for one in stats:
            rows[one.worker], busy[one.worker] = one.rows, one.seconds
        if not rows.any():
            return None
        for worker, times in told.items():
            of_calls[worker] = times.slot_seconds.sum(dtype=np.float64)
        self._times = self._times.after(list(told.values()))
        return {
            "version": report.version,
            "rows": int(rows.sum()),
            "loads": tuple(rows.tolist()),
            "imbalance": imbalance_percent(of_calls),
            "imbalance_of": "busy_seconds",
            "predicted_imbalance": None,
            "busy_seconds": tuple(busy.tolist()),
        }

    def _put_in_force(self) -> None:
        self._file.write([as_line(self._times)])


def _target(by: list[str], types: tuple[str, ...], workers: int) -> str:
    """Return whom costs are for, in words that fit a message."""
    return json.dumps({"keys": by, "types": list(types), "workers": workers})
