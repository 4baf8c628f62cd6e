"""Streams placed by `Flow`: a task starts with what those of the last micro-batches found out."""

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew._stores import AnyPath, located
from unskew.groupings.flow import Flow
from unskew.groupings.flow.known_keys import KnownKeys
from unskew.hashing import Ids
from unskew.metrics import imbalance_percent
from unskew.spark.columns import free_names, identity
from unskew.spark.plans.live_file import Sent
from unskew.spark.plans.saved import key_types
from unskew.spark.routing.online import Router, routed_column
from unskew.spark.routing.salting import on_workers
from unskew.spark.session import warn_if_unchecked
from unskew.spark.stream.counters import (
    hot_counts,
    moved_keys,
    read_hot,
    read_loads,
    read_moved,
    row_counts,
)
from unskew.spark.stream.listener import follow, new_name
from unskew.spark.stream.loop import WORK_SUFFIX, Loop, PlacedStream, Report, file_without_plans
from unskew.spark.worker.cost_messages import NO_VERSION, DamagedMessageError, pack, unpack
from unskew.spark.worker.live_files import LiveLines

_HOT_PER_WORKER, _FEWEST_HOT = 8, 128
_MOST_MOVED = 4096
_KIND = "memory"


def has_memory(folder: str | AnyPath) -> bool:
    """Whether the query of a folder is placed row by row from what is known, and by no plan."""
    return any(located("has_memory", "folder", folder).glob(f"{_KIND}-*.txt"))


class Known(NamedTuple):
    """What is known of the keys of a stream, and how often it was renewed."""

    version: int
    keys: KnownKeys

    def as_line(self) -> str:
        """Return the line of a file that `known_from` reads."""
        arrays = {"version": np.array([self.version]), **self.keys._asdict()}
        return b64encode(pack(arrays)).decode()


def known_from(lines: Sequence[str] | None, workers: int) -> Known | None:
    """Return what was known, out of the lines of a file; None where they are not of this kind.

    >>> nothing = Known(3, KnownKeys.nothing())
    >>> known_from([nothing.as_line()], 8).version
    3
    >>> known_from(["garbage"], 8), known_from(None, 8)
    (None, None)
    """
    try:
        arrays = unpack(b64decode(lines[0])) if lines else {}
        version = int(arrays.pop("version")[0])
        keys = KnownKeys(**arrays)
    except (DamagedMessageError, KeyError, TypeError, ValueError):
        return None
    starts, sizes = keys.starts, np.diff(keys.starts)
    fits = (
        keys.ids.size == keys.shares.size == sizes.size
        and starts[0] == 0
        and starts[-1] == keys.workers.size
        and bool(np.all(sizes >= 0))
        and bool(np.all((keys.workers >= 0) & (keys.workers < workers)))
    )
    return Known(version, keys) if fits else None


def place_by_memory(
    df: DataFrame, by: list[str], scheme: Flow, *, owner: str, folder: AnyPath
) -> PlacedStream:
    """Return the stream with its rows placed by ``scheme``, whose tasks start with what is known.

    Each micro-batch reports its hottest keys and which ones were given another worker; tasks that
    route rows read what is known by then when they start. So a key has the same workers in one
    micro-batch as in the next, as long as they do.

    Parameters
    ----------
    df, by
        The stream, and its key columns.
    scheme
        The grouping.
    owner
        Who is named in errors.
    folder
        A folder of the query's own, see `plan_folder`.
    """
    workers = scheme.workers
    target = json.dumps({"keys": by, "types": list(key_types(df, by)), "workers": workers})
    loop = MemoryLoop(owner, folder, target, workers)
    name = new_name()
    key, code = free_names(df, 2)
    warn_if_unchecked(df.sparkSession)
    coded = df.withColumn(key, identity(df, by)).withColumn(
        code, _routed(sf.col(key), scheme, loop.source, loop.sent(df.sparkSession))
    )
    worker = (sf.col(code) % workers).cast("int")
    has_moved = sf.expr(f"{code} div {workers} % 2 = 1")
    reported = [
        # The least: a task that found no file shows.
        sf.expr(f"min({code} div {2 * workers}) + {NO_VERSION}").alias("version"),
        row_counts(worker, workers).alias("places"),
        hot_counts(key, max(_FEWEST_HOT, _HOT_PER_WORKER * workers)).alias("hot"),
        moved_keys(has_moved, sf.col(key), worker, _MOST_MOVED).alias("moved"),
        sf.approx_count_distinct(key).alias("keys"),
    ]
    placed = on_workers(coded.observe(name, *reported), workers, worker).drop(code, key)
    follow(df.sparkSession, name, loop)
    return PlacedStream(placed, f"{name}{WORK_SUFFIX}")


def _routed(identity: Column, scheme: Flow, source: "KnownFolder", sent: Sent | None) -> Column:
    """Return a number (bigint) that says the worker of a row, and more.

    Its remainder by the number of workers is the worker. The quotient is odd if the key was given
    the worker just then, and half of it is the version of what was known, counted from
    `NO_VERSION`: 0 where a task has found no file.
    """

    def start() -> Router:
        known = source.read()
        own = scheme.starting_with(KnownKeys.nothing() if known is None else known.keys)
        version = NO_VERSION if known is None else known.version

        def choose(ids: Ids) -> NDArray[np.int64]:
            workers, moved = own.route_noting(ids)
            return workers + scheme.workers * (moved + 2 * np.int64(version - NO_VERSION))

        return choose

    return routed_column(identity, start, "bigint", sent=sent)


class KnownFolder(NamedTuple):
    """Where a task finds what is known of keys when it starts."""

    pair: LiveLines
    workers: int

    def read(self) -> Known | None:
        """Return what is known now, None if no file is whole: then a task starts with nothing."""
        return known_from(self.pair.read(), self.workers)


class _Seen(NamedTuple):
    """What a micro-batch has reported."""

    loads: NDArray[np.float64]
    hot_ids: Ids
    hot_rows: NDArray[np.float64]
    moved_ids: Ids
    moved_to: NDArray[np.int64]
    keys: int


class MemoryLoop(Loop[_Seen]):
    """Keep what the tasks of a stream found out about its keys, for those that come after them.

    Parameters
    ----------
    owner
        Who is named in errors.
    folder
        The folder of the query: what is known goes there, and the record of micro-batches. The
        stream goes on from what is there.
    target
        Whom it is for, in words that fit a message.
    workers
        How many workers take rows.
    """

    def __init__(self, owner: str, folder: AnyPath, target: str, workers: int) -> None:
        file = file_without_plans(owner, folder, _KIND, target)
        self._workers = workers
        before = known_from(file.read(owner), workers)
        self._known = Known(0, KnownKeys.nothing()) if before is None else before
        super().__init__(folder, file, without_file="Every task started with nothing")

    @property
    def source(self) -> KnownFolder:
        """Where tasks find what is known."""
        return KnownFolder(self._file.for_tasks, self._workers)

    def read(self, progress: Any, name: str) -> Report | None:
        """Return what a micro-batch has found out."""
        return Report.of_counters(progress, name)

    def _observed(self, report: Report) -> _Seen | None:
        loads = read_loads(report.places, self._workers)
        found = *read_hot(report.hot), *read_moved(report.moved), report.keys
        return _Seen(loads, *found) if loads.any() else None

    def _learn(self, report: Report, observed: _Seen) -> tuple[dict[str, Any], bool]:
        rows = float(observed.loads.sum())
        keys = self._known.keys.after(
            observed.hot_ids,
            observed.hot_rows / rows,
            moved_ids=observed.moved_ids,
            moved_to=observed.moved_to,
            workers=self._workers,
        )
        self._known = Known(self._known.version + 1, keys)
        fields = {
            "version": report.version,
            "rows": int(rows),
            "loads": tuple(observed.loads.astype(int).tolist()),
            "imbalance": imbalance_percent(observed.loads),
            "predicted_imbalance": None,
            "split_keys": int(np.count_nonzero(np.diff(keys.starts))),
            "replication": 1.0 + keys.workers.size / observed.keys if observed.keys else None,
            "busy_seconds": report.busy_seconds(self._workers),
        }
        return fields, True

    def _put_in_force(self) -> None:
        self._file.write([self._known.as_line()])
