"""Streams whose online scheme evens out work: each micro-batch reports what its keys took."""

import json
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew._stores import AnyPath
from unskew.groupings.base import Grouping
from unskew.hashing import Ids
from unskew.metrics import imbalance_percent
from unskew.spark.columns import free_names, identity
from unskew.spark.plans.live_file import Sent
from unskew.spark.plans.saved import key_types
from unskew.spark.routing.online import Router, routed_column
from unskew.spark.routing.salting import on_workers
from unskew.spark.session import warn_if_unchecked
from unskew.spark.steps.running import STATS_FIELD, WorkerStats, read_stats
from unskew.spark.stream.listener import follow, new_name
from unskew.spark.stream.loop import WORK_SUFFIX, Loop, PlacedStream, Report, file_without_plans
from unskew.spark.worker.cost_messages import NO_VERSION
from unskew.spark.worker.key_times import Timing, WorkTimes
from unskew.spark.worker.row_costs import N_SLOTS, RowCosts, WeightsFolder, as_line, from_lines

_FEWEST_KEYS, _MOST_KEYS_REPORTED = 64, 2048


def place_by_weight(
    df: DataFrame, by: list[str], scheme: Grouping, *, owner: str, folder: AnyPath
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
        A folder of the query's own, see `plan_folder`.
    """
    workers = scheme.workers
    loop = WeighingLoop(owner, folder, _costs_target(by, key_types(df, by), workers), workers)
    name = new_name()
    key, code = free_names(df, 2)
    warn_if_unchecked(df.sparkSession)
    coded = df.withColumn(key, identity(df, by)).withColumn(
        code,
        version_and_worker(sf.col(key), scheme, loop.source, loop.sent(df.sparkSession)),
    )
    # The least: a task that found no file shows.
    version = sf.expr(f"min({code} div {workers}) + {NO_VERSION}").alias("version")
    worker = (sf.col(code) % workers).cast("int")
    placed = on_workers(coded.observe(name, version), workers, worker).drop(code)
    follow(df.sparkSession, name, loop)
    reported = max(_FEWEST_KEYS, _MOST_KEYS_REPORTED // workers)
    return PlacedStream(placed, f"{name}{WORK_SUFFIX}", Timing(key, N_SLOTS, reported))


def version_and_worker(
    identity: Column, grouping: Grouping, source: WeightsFolder, sent: Sent | None = None
) -> Column:
    """Return a number (bigint) of each row that says its worker and which costs it was weighed by.

    Its remainder by the number of workers is the worker. The quotient is the version of the costs,
    counted from `NO_VERSION`: 0 where a task has found none.

    Parameters
    ----------
    identity
        A column of its own, as for `routed_column`.
    grouping
        Any grouping that routes identities by weight; each task has a copy.
    source
        Where a task finds out what rows weigh when it starts.
    sent
        That, where it travels with the rows.
    """

    def start() -> Router:
        own, known = grouping.for_source(0, 1), source.read()
        version = NO_VERSION if known is None else known.version
        costs = None if known is None else known.row_weights()

        def choose(ids: Ids) -> NDArray[np.int64]:
            chosen = own.route_many(ids, weights=None if costs is None else costs.weights(ids))
            return chosen + np.int64((version - NO_VERSION) * own.workers)

        return choose

    return routed_column(identity, start, "bigint", sent=sent)


class WeighingLoop(Loop[list[WorkerStats]]):
    """Learn from every micro-batch what rows of its keys take, and let the next weigh them by it.

    Parameters
    ----------
    owner
        Who is named in errors.
    folder
        The folder of the query: costs go there, and the record of micro-batches. The stream goes on
        from what is there.
    target
        Whom the costs are for, in words that fit a message.
    workers
        How many workers take rows.
    """

    def __init__(self, owner: str, folder: AnyPath, target: str, workers: int) -> None:
        file = file_without_plans(owner, folder, "costs", target)
        self._workers = workers
        self._costs = from_lines(file.read(owner), N_SLOTS) or RowCosts.nothing(N_SLOTS)
        super().__init__(folder, file, without_file="All rows weighed the same")

    @property
    def source(self) -> WeightsFolder:
        """Where tasks find what rows weigh."""
        return WeightsFolder(self._file.for_tasks, N_SLOTS)

    def read(self, progress: Any, name: str) -> Report | None:
        """Return what keys took in a micro-batch, and which costs its rows were weighed by."""
        version = progress.observedMetrics[name]["version"]
        work = progress.observedMetrics.get(f"{name}{WORK_SUFFIX}")
        if version is None or work is None:
            return None
        return Report.of(progress, version=int(version), stats=work[STATS_FIELD])

    def _observed(self, report: Report) -> list[WorkerStats] | None:
        stats = read_stats(report.stats, self._workers)
        return stats if any(one.rows for one in stats) else None

    def _learn(self, report: Report, observed: list[WorkerStats]) -> tuple[dict[str, Any], bool]:
        rows, busy, of_calls = np.zeros(self._workers, np.int64), *np.zeros((2, self._workers))
        times = []
        for one in observed:
            rows[one.worker] += one.rows
            busy[one.worker] += one.seconds
            if one.payload:
                times.append(WorkTimes.unpacked(one.payload))
                of_calls[one.worker] += times[-1].slot_seconds.sum(dtype=np.float64)
        self._costs = self._costs.after(times)
        fields = {
            "version": report.version,
            "rows": int(rows.sum()),
            "loads": tuple(rows.tolist()),
            "imbalance": imbalance_percent(of_calls),
            "imbalance_of": "busy_seconds",
            "predicted_imbalance": None,
            "busy_seconds": tuple(busy.tolist()),
        }
        return fields, True

    def _put_in_force(self) -> None:
        self._file.write([as_line(self._costs)])


def _costs_target(by: list[str], types: tuple[str, ...], workers: int) -> str:
    """Return whom costs are for, in words that fit a message."""
    return json.dumps({"keys": by, "types": list(types), "workers": workers})
