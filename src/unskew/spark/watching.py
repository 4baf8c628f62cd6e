"""Watch running queries: a page that follows them, and a record of what they did."""

import logging
import queue
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from unskew.dashboard.feed import Feed
from unskew.dashboard.model import RunModel
from unskew.dashboard.serving import Closeable, DashboardServer
from unskew.errors import InvalidParameterError
from unskew.events import append_event
from unskew.spark.key_names import key_names
from unskew.spark.plan_listener import Told, tell, tell_no_more
from unskew.spark.progress_events import EventMaker

_MOST_WAITING = 256
_SECONDS_BETWEEN_LOOKS = 2.0
_SECONDS_TO_CLOSE = 15.0

_log = logging.getLogger("unskew.spark")

_Heard: TypeAlias = tuple[Any, list[Told]] | str | None
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
    return Watch(running, makers, server, session, None if folder is None else Path(folder))


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
        self._heard: queue.Queue[_Heard] = queue.Queue(_MOST_WAITING)
        self._closing = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="unskew-watch", daemon=True)
        self._thread.start()
        tell(spark, self)

    def hear(self, progress: Any, told: list[Told]) -> None:
        """Take note of a micro-batch, for Spark's listener: nothing here takes time."""
        if str(progress.runId) not in self._makers:
            return
        try:
            self._heard.put_nowait((progress, told))
        except queue.Full:
            self.dropped += 1
            self._server.feed.note_dropped(1)

    def end(self, run: str) -> None:
        """Take note that a run has ended, for Spark's listener."""
        if run in self._makers:
            with suppress(queue.Full):  # the thread looks after the queries by itself, too
                self._heard.put_nowait(run)

    def close(self) -> None:
        """Show what was heard, close the page and free its port; the queries go on."""
        self._closing.set()
        with suppress(queue.Full):
            self._heard.put_nowait(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(_SECONDS_TO_CLOSE)

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
            tell_no_more(self._spark, self)
            self._server.feed.end()
            self._server.close()

    def _next(self) -> _Heard:
        """Return what is heard next; look after the queries where that takes long."""
        while True:
            wait = not self._closing.is_set()
            try:
                return self._heard.get(block=wait, timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                if not wait:
                    return None
                for run, each in self._queries.items():
                    if not _is_active(each):
                        return run

    def _show(self, progress: Any, told: list[Told]) -> None:
        try:
            for event in self._makers[str(progress.runId)].events(progress, told):
                if self._folder is not None:
                    append_event(self._folder, event)
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
