"""Show a record while it grows: a thread reads the file, whoever writes it is never held up."""

import threading
from pathlib import Path

from unskew.dashboard.feed import Feed, FeedThread
from unskew.dashboard.model import RunModel
from unskew.dashboard.serving import Closeable, DashboardServer
from unskew.events import EventTail
from unskew.events.record import check_record, no_events

_SECONDS_BETWEEN_LOOKS = 0.2


class FolderFollower:
    """Publish what comes into a run directory, from `start` until `close`.

    Parameters
    ----------
    folder
        The run directory; it may come later.
    feed
        Where the epochs go.
    """

    def __init__(self, folder: str | Path, feed: Feed) -> None:
        self._tail, self._feed = EventTail(folder), feed
        self._stop = threading.Event()
        self._thread = FeedThread(feed, self._run, name="unskew-follower")

    def begin(self) -> None:
        """Publish the begin of what is there, at most 8 MiB; to be called before `start`.

        Raises
        ------
        RunRecordError
            If there is nothing, or something that this release cannot read.
        """
        check_record(self._tail.folder)
        while not self._publish_some():
            if self._tail.at_end:
                raise no_events(self._tail.folder, self._tail.skipped)

    def start(self) -> None:
        """Publish from now on what comes."""
        self._thread.start()

    def close(self) -> None:
        """Publish what is there still, and stop."""
        self._stop.set()
        self._thread.join(10.0)

    def _run(self) -> None:
        self._publish_all()
        while not self._stop.wait(_SECONDS_BETWEEN_LOOKS):
            self._publish_all()
        self._publish_all()

    def _publish_all(self) -> None:
        self._publish_some()
        while not self._tail.at_end:
            self._publish_some()

    def _publish_some(self) -> bool:
        """Publish what one look finds; return whether that was anything."""
        skipped = self._tail.skipped
        events = self._tail.poll()
        for event in events:
            self._feed.publish(event)
        self._feed.note_dropped(self._tail.skipped - skipped)
        return bool(events)


class FolderPage(Closeable):
    """The page of a run directory, live or replayed; see `serve_folder`."""

    def __init__(self, follower: FolderFollower, server: DashboardServer) -> None:
        self._follower, self._server = follower, server
        self.url, self.port, self.note = server.url, server.port, server.note

    def close(self) -> None:
        """Show that the run has ended, close the page and free the port."""
        self._follower.close()
        self._server.close()

    def __repr__(self) -> str:
        return f"FolderPage({self.url})"


def serve_folder(
    folder: str | Path,
    *,
    title: str | None = None,
    mode: str = "live",
    host: str | None = None,
    port: int | None = None,
) -> FolderPage:
    """Serve the page of a run directory, in the background, until it is closed.

    What is in the directory already is shown, and what comes is added as it comes.

    Parameters
    ----------
    folder
        The run directory (see `unskew.events`); it may come later.
    title
        What is looked at; the name of the folder by default.
    mode
        ``live``, or ``replay`` for a record that has to be there.
    host, port
        As for `DashboardServer`.

    Returns
    -------
    FolderPage
        With ``url``, ``port``, ``note`` and ``close()``; a context manager.

    Raises
    ------
    RunRecordError
        If there is nothing to replay.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, serve_folder(folder, port=0) as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    feed = Feed(RunModel(title or Path(folder).resolve().name, mode))
    follower = FolderFollower(folder, feed)
    if mode == "replay":
        follower.begin()
    server = DashboardServer(feed, host=host, port=port)
    follower.start()
    return FolderPage(follower, server)
