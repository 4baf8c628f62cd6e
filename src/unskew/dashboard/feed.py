"""From the thread that has events to the browsers that want them, without ever waiting for one."""

import asyncio
import json
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from unskew.dashboard.model import RunModel
from unskew.errors import UnskewError
from unskew.events import Epoch

_log = logging.getLogger("unskew.dashboard")

MOST_WAITING = 64
"""Messages that wait for a browser; a slower one loses the oldest and reads the state again."""

MOST_SUBSCRIBERS = 32


class Subscription:
    """What waits for one browser.

    Parameters
    ----------
    loop
        The loop in which `next_message` is awaited.

    Attributes
    ----------
    lost : int
        Messages that were dropped because the browser was slow, since it was last told so.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.lost = 0
        self._loop = loop
        self._waiting: deque[str] = deque()
        self._news = asyncio.Event()
        self._closed = False
        self._lock = threading.Lock()

    def put(self, message: str) -> bool:
        """Add a message and return at once; return False if the oldest was dropped for it."""
        with self._lock:
            self._waiting.append(message)
            full = len(self._waiting) > MOST_WAITING
            if full:
                self._waiting.popleft()
                self.lost += 1
        self._wake()
        return not full

    def close(self) -> None:
        """Let `next_message` return None once all was handed over."""
        self._closed = True
        self._wake()

    async def next_message(self) -> str | None:
        """Wait for the next message; None at the end."""
        while True:
            with self._lock:
                if self.lost:
                    lost, self.lost = self.lost, 0
                    self._waiting.clear()  # the browser reads the whole state instead
                    return sse("lost", {"lost": lost})
                if self._waiting:
                    return self._waiting.popleft()
                if self._closed:
                    return None
                self._news.clear()
            await self._news.wait()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the server is gone, and its loop with it
            self._loop.call_soon_threadsafe(self._news.set)


class Feed:
    """Hold the model of a run and tell subscribers what changes; for any number of threads.

    Parameters
    ----------
    model
        What is shown. From here on only the feed touches it.

    Examples
    --------
    >>> Feed(RunModel("an example")).state()["sequence"]
    0
    """

    def __init__(self, model: RunModel) -> None:
        self._model = model
        self._subscriptions: list[Subscription] = []
        self._lock = threading.Lock()
        self._closed = False
        self.lost = 0

    def publish(self, event: Epoch) -> None:
        """Show an event."""
        with self._lock:
            update = self._model.take(event)
            if update is not None and self._subscriptions:
                self._tell(sse("update", update))

    def end(self, problem: str | None = None) -> None:
        """Show that no more events come; ``problem`` says why if that was not to be expected."""
        with self._lock:
            self._model.ended, self._model.problem = True, problem
            self._tell(sse("end", {"problem": problem}))

    def note_dropped(self, count: int) -> None:
        """Count events that were dropped before they came here."""
        with self._lock:
            self._model.dropped += count

    def state(self, *, latest_only: bool = False) -> dict[str, Any]:
        """Return all that is shown; see `RunModel.state`."""
        with self._lock:
            return {**self._model.state(latest_only=latest_only), "lost_messages": self.lost}

    def totals(self) -> list[tuple[dict[str, Any], list[int], list[float]]]:
        """Return, of each grouping, its last moment, and rows and busy time per worker."""
        with self._lock:
            tracks = self._model.tracks.values()
            return [
                (
                    {**track.head(), "frame": track.frames[-1]},
                    track.totals.worker_rows,
                    track.totals.worker_busy_seconds,
                )
                for track in tracks
            ]

    @property
    def problem(self) -> str | None:
        """Why no more events come, if that was not to be expected."""
        with self._lock:
            return self._model.problem

    @property
    def is_full(self) -> bool:
        """Whether as many browsers watch as may."""
        return len(self._subscriptions) >= MOST_SUBSCRIBERS

    def subscribe(self) -> Subscription:
        """Return what a browser waits on; to be called in a running loop."""
        with self._lock:
            subscription = Subscription(asyncio.get_running_loop())
            if self._closed:
                subscription.close()
            self._subscriptions.append(subscription)
            return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Let go of a browser."""
        with self._lock:
            if subscription in self._subscriptions:
                self._subscriptions.remove(subscription)

    def close(self) -> None:
        """Send all browsers home, and those that come from now on."""
        with self._lock:
            self._closed = True
            for subscription in self._subscriptions:
                subscription.close()

    def _tell(self, message: str) -> None:
        for subscription in self._subscriptions:
            self.lost += not subscription.put(message)


class FeedThread(threading.Thread):
    """Runs what publishes to a feed. Whatever ends it shows, on the page and in the log.

    Parameters
    ----------
    feed
        What is published to.
    publish
        Called once in the thread; it returns when no more events come.
    name
        The name of the thread.

    Examples
    --------
    >>> feed = Feed(RunModel("an example"))
    >>> thread = FeedThread(feed, lambda: open("no-such-file"), name="example")
    >>> thread.start(), thread.join(), feed.state()["ended"], feed.state()["problem"]
    (None, None, True, "[Errno 2] No such file or directory: 'no-such-file'")
    """

    def __init__(self, feed: Feed, publish: Callable[[], None], *, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._feed, self._publish = feed, publish

    def run(self) -> None:
        """Publish, and show the end, with its reason where it is none that was to be expected."""
        try:
            self._publish()
        except (UnskewError, OSError) as error:
            self._feed.end(str(error))
        except BaseException as error:
            _log.exception("The page shows no more: %s ended.", self.name)
            self._feed.end(f"{self.name} ended, see the log: {type(error).__name__}: {error}")
        else:
            self._feed.end()


def sse(name: str, data: dict[str, Any]) -> str:
    r"""Return a server-sent event; JSON has no line ends, so the text cannot break out of it.

    >>> sse("end", {"problem": "a\nb"})
    'event: end\ndata: {"problem": "a\\nb"}\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(data, allow_nan=False)}\n\n"
