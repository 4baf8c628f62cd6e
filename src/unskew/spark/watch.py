"""Watch running queries: a page that follows them, and a record of what they did."""

import logging
import queue
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, SparkSession

from unskew._stores import AnyPath, StoreError, check_local
from unskew.dashboard.feed import Feed, FeedThread
from unskew.dashboard.model import RunModel
from unskew.dashboard.serving import Closeable, DashboardServer
from unskew.errors import InvalidParameterError
from unskew.events import MOST_KEY_CHARACTERS, Epoch, HotKey, append_epoch
from unskew.groupings.plan import Plan, places_of
from unskew.spark.columns import identity
from unskew.spark.loads import predicted_shares
from unskew.spark.plans.saved import PlanStore
from unskew.spark.stream.counters import read_hot
from unskew.spark.stream.listener import (
    LoopEpoch,
    add_watcher,
    remove_watcher,
    seconds_of,
    started_at,
)
from unskew.spark.versions import to_arrow

_MOST_HOT_KEYS = 10
_QUANTILES = (0.5, 0.95, 0.99)

_MOST_WAITING = 256
_SECONDS_BETWEEN_LOOKS = 2.0
_SECONDS_TO_CLOSE = 15.0
_MOST_KEYS = 100_000


class EventMaker:
    """Make events of one query; remembers what has to be known of the micro-batch before.

    Parameters
    ----------
    label
        What the query is called beside others.
    names
        The text of keys by their hash; others are shown by the hash.
    """

    def __init__(self, label: str, names: Mapping[int, str]) -> None:
        self.label = label
        self._names = names
        self._last_start: float | None = None
        self._plans: dict[AnyPath, tuple[int | None, Plan | None]] = {}

    def events(self, progress: Any, learned: list[LoopEpoch]) -> list[Epoch]:
        """Return one event; one per loop, if the query has several; none of no rows."""
        rows = int(progress.numInputRows)
        if not learned and not rows:
            return []
        common = self._common(progress)
        if not learned:
            return [Epoch(grouping=self.label, rows=rows, loads=(), imbalance=0.0, **common)]
        several = len(learned) > 1
        return [
            replace(
                one.epoch,
                grouping=f"{self.label} {one.name}" if several else self.label,
                **common,
                **self._of_loop(one, progress),
            )
            for one in sorted(learned, key=lambda one: one.name)
        ]

    def _common(self, progress: Any) -> dict[str, Any]:
        started, seconds = started_at(progress), seconds_of(progress)
        before, self._last_start = self._last_start, started
        return {
            "query": progress.name or str(progress.id),
            "run": str(progress.runId),
            "batch": int(progress.batchId),
            "started": started,
            "seconds": seconds,
            "latency": None if before is None else latency_of(max(0.0, started - before), seconds),
        }

    def _of_loop(self, learned: LoopEpoch, progress: Any) -> dict[str, Any]:
        epoch = learned.epoch
        plan = self._plan(learned.folder, epoch.version)
        shares = predicted_shares(plan)
        return {
            "predicted_loads": None if shares is None else tuple(s * epoch.rows for s in shares),
            "hot_keys": self._hot_keys(progress.observedMetrics[learned.name], epoch.rows, plan),
        }

    def _hot_keys(self, observed: Any, rows: int, plan: Plan | None) -> tuple[HotKey, ...]:
        """Return the keys with the most rows; Spark reports their hashes, and no other name."""
        ids, loads = read_hot(observed.asDict().get("hot") or "")
        hashes = ids.view("int64").tolist()
        return tuple(
            HotKey(
                self._names.get(hashes[at], f"xxhash64 {hashes[at]}"),
                min(1.0, float(loads[at]) / max(rows, 1)),
                () if plan is None else tuple(sorted(places_of(plan, ids[at]))),
            )
            for at in range(min(_MOST_HOT_KEYS, ids.size))
        )

    def _plan(self, folder: AnyPath, version: int | None) -> Plan | None:
        if self._plans.get(folder, (None,))[0] != version:
            plan = None
            with suppress(StoreError):
                plan = PlanStore(folder).plan_of(version)
            self._plans[folder] = version, plan
        return self._plans[folder][1]


def latency_of(gap: float, seconds: float) -> tuple[float, float, float]:
    """Return percentiles of the time from a row's arrival to the end of its micro-batch.

    It is an estimate: rows are taken to arrive steadily in the ``gap`` between the starts of the
    micro-batch before and of this one, which then takes ``seconds``.

    >>> latency_of(10.0, 2.0)
    (7.0, 11.5, 11.9)
    """
    p50, p95, p99 = (seconds + quantile * gap for quantile in _QUANTILES)
    return p50, p95, p99


_log = logging.getLogger("unskew.spark")

_Waiting: TypeAlias = tuple[Any, list[LoopEpoch]] | str | None
"""A micro-batch; the run that has ended; or None: stop."""


def watch(
    query: Any,
    *,
    folder: str | Path | None = None,
    keys: DataFrame | None = None,
    host: str | None = None,
    port: int | None = None,
    spark: SparkSession | None = None,
) -> "Watch":
    """Show running queries on a page of this machine, until they end.

    Parameters
    ----------
    query
        A running `StreamingQuery`; or several as a dict by the label to show them under, side by
        side. What workers did is known of queries that unskew places (`balance_stream`, `group_by`
        and `map_rows` with a ``plan_path``); of others, rows and times.
    folder
        A run directory: what happens is also put on record there (see `unskew.events`), and
        ``unskew dashboard FOLDER`` shows it again.
    keys
        A batch DataFrame of the key columns alone, as they are in the stream, such as
        ``users.select("user")``: hot keys that are in it (in the first 100,000) are shown by their
        text. Spark reports the hashes of keys alone, so that all others are shown by their hash:
        ``df.where(xxhash64("user") == …)`` finds the rows of one, if the key is one column.
    host
        The address to listen on. Left out, only this machine can connect. Given, whoever knows
        the address with its token can.
    port
        The port, 0 for any; by default 4747 or the next free one.
    spark
        The session of the queries; the active one by default.

    Returns
    -------
    Watch
        Its ``url`` is for a browser. It closes with the last of the queries, or by ``close()``.

    Raises
    ------
    InvalidParameterError
        If there is no query that runs.
    BusyPortError
        If the port that was asked for is taken.

    Notes
    -----
    Queries never wait for it: what comes faster than it can be shown is dropped, and counted.
    """
    queries = dict(query) if isinstance(query, Mapping) else {_label_of(query): query}
    if not queries or not all(each.isActive for each in queries.values()):
        raise InvalidParameterError("watch", "query", "a query that runs", query)
    session = spark or getattr(query, "_session", None) or SparkSession.active()
    names = {} if keys is None else key_names(keys)
    makers = {str(each.runId): EventMaker(str(name), names) for name, each in queries.items()}
    title = ", ".join(map(str, queries))
    server = DashboardServer(Feed(RunModel(title)), host=host, port=port)
    running = {str(each.runId): each for each in queries.values()}
    place = None if folder is None else check_local("watch", "folder", folder)
    return Watch(running, makers, server, session, place)


class Watch(Closeable):
    """What `watch` returns; a context manager.

    Attributes
    ----------
    url : str
        The address of the page.
    dropped : int
        Micro-batches that came faster than they could be shown.
    """

    def __init__(
        self,
        queries: dict[str, Any],
        makers: dict[str, EventMaker],
        server: DashboardServer,
        spark: SparkSession,
        folder: Path | None,
    ) -> None:
        self.url, self.port, self.note = server.url, server.port, server.note
        self.dropped = 0
        self._server, self._spark, self._folder = server, spark, folder
        self._queries, self._makers = queries, makers  # by the run
        self._waiting: queue.Queue[_Waiting] = queue.Queue(_MOST_WAITING)
        self._closing = threading.Event()
        self._failed = False
        self._thread = FeedThread(server.feed, self._run, name="unskew-watch")
        self._thread.start()
        add_watcher(spark, self)

    def on_epoch(self, progress: Any, learned: list[LoopEpoch]) -> None:
        """Take note of a micro-batch, for Spark's listener: nothing here takes time."""
        if str(progress.runId) not in self._makers:
            return
        try:
            self._waiting.put_nowait((progress, learned))
        except queue.Full:
            self.dropped += 1
            self._server.feed.note_dropped(1)

    def on_end(self, run: str) -> None:
        """Take note that a run has ended, for Spark's listener."""
        if run in self._makers:
            with suppress(queue.Full):  # the thread looks after the queries by itself, too
                self._waiting.put_nowait(run)

    def close(self) -> None:
        """Show what was heard, close the page and free its port; the queries go on."""
        self._closing.set()
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(_SECONDS_TO_CLOSE)
            self._server.close()  # it stays open where the thread failed, to say so

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all queries have ended and the page is closed; return whether that is so."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        """Show what is heard until the last query has ended."""
        try:
            while self._queries and (heard := self._next()) is not None:
                if isinstance(heard, str):
                    self._queries.pop(heard, None)
                else:
                    self._show(*heard)
        finally:
            remove_watcher(self._spark, self)
        self._server.feed.end()
        self._server.close()

    def _next(self) -> _Waiting:
        """Return what is heard next; look after the queries where that takes long."""
        while True:
            wait = not self._closing.is_set()
            try:
                return self._waiting.get(block=wait, timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                if not wait:
                    return None
                for run, each in self._queries.items():
                    if not _is_active(each):
                        return run

    def _show(self, progress: Any, learned: list[LoopEpoch]) -> None:
        try:
            for event in self._makers[str(progress.runId)].events(progress, learned):
                if self._folder is not None:
                    append_epoch(self._folder, event)
                self._server.feed.publish(event)
        except Exception:
            if not self._failed:
                self._failed = True
                _log.exception("A micro-batch could not be shown; the query goes on.")

    def __repr__(self) -> str:
        return f"Watch({self.url})"


def _label_of(query: Any) -> str:
    return str(query.name or f"query {str(query.id)[:8]}")


def _is_active(query: Any) -> bool:
    try:
        return bool(query.isActive)
    except Exception:  # the session is gone, and the query with it
        return False


def key_names(keys: DataFrame) -> dict[int, str]:
    """Return the text of each key in ``keys``, at most 100,000, by its 64-bit hash.

    Parameters
    ----------
    keys
        A batch DataFrame of the key columns alone, as they are in the stream: in its order, of its
        types. Null is a key.
    """
    if keys.isStreaming:
        raise InvalidParameterError("watch", "keys", "a batch DataFrame", "a stream")
    parts = [
        sf.coalesce(sf.col(f"`{name}`").cast("string"), sf.lit("null")) for name in keys.columns
    ]
    text = sf.substring(sf.concat_ws(" · ", *parts), 1, MOST_KEY_CHARACTERS + 1)
    named = keys.select(identity(keys, keys.columns).alias("hash"), text.alias("text"))
    table = to_arrow(named.dropDuplicates(["hash"]).limit(_MOST_KEYS))
    return dict(zip(table["hash"].to_pylist(), table["text"].to_pylist(), strict=True))
