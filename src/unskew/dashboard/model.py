"""Events in, view model out: all that the page shows, in bounded memory; no clock, no I/O."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from unskew.dashboard.frame import MOST_BARS, Frame, frame_of, shown_text
from unskew.events import Epoch

MOST_GROUPINGS = 12
MOST_FRAMES = 400
MOST_PLANS = 100

API_SCHEMA = 1
"""Version of what the JSON twins hold."""


@dataclass
class Totals:
    """What a grouping did since the page began."""

    batches: int = 0
    rows: int = 0
    seconds: float = 0.0
    busy_seconds: float = 0.0
    dead_letters: int = 0
    messages: int = 0
    worker_rows: list[int] = field(default_factory=list)
    worker_busy_seconds: list[float] = field(default_factory=list)
    """Both are kept only while there are few workers."""

    def add(self, event: Epoch) -> None:
        """Count an event in."""
        self.batches += 1
        self.rows += event.rows
        self.seconds += event.seconds or 0.0
        self.busy_seconds += sum(event.busy_seconds or ())
        self.dead_letters += event.dead_letters
        self.messages += event.messages or 0
        few = len(event.loads) <= MOST_BARS
        self.worker_rows = _added(self.worker_rows, event.loads if few else ())
        busy = event.busy_seconds or () if few else ()
        self.worker_busy_seconds = _added(self.worker_busy_seconds, busy)

    def to_json(self) -> dict[str, Any]:
        """Return the totals over all workers."""
        names = ("batches", "rows", "seconds", "busy_seconds", "dead_letters", "messages")
        return {name: getattr(self, name) for name in names}


class Track:
    """What is kept of one grouping: recent moments one by one, older ones ever more thinly."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.query = self.run = ""
        self.totals = Totals()
        self.frames: list[Frame] = []
        self.plans: deque[dict[str, Any]] = deque(maxlen=MOST_PLANS)

    def take(self, event: Epoch, sequence: int) -> None:
        """Add an event."""
        self.query, self.run = shown_text(event.query), shown_text(event.run)
        self.totals.add(event)
        last = self.frames[-1]["step"] if self.frames else -1
        step = max(event.batch, last + 1)
        self.frames.append(frame_of(event, sequence=sequence, step=step))
        if len(self.frames) > MOST_FRAMES:
            self.frames = _thinned(self.frames)
        if event.why is not None or event.next_version is not None:
            self.plans.append(_plan_made(event, step))

    def head(self) -> dict[str, Any]:
        """Return all but the frames."""
        return {
            "name": self.name,
            "query": self.query,
            "run": self.run,
            "totals": self.totals.to_json(),
            "plans": list(self.plans),
        }


class RunModel:
    """All that is shown of a run.

    Parameters
    ----------
    title
        What is looked at, in a few words.
    mode
        ``live``, ``replay`` or ``demo``.

    Examples
    --------
    >>> event = Epoch(
    ...     grouping="key", query="counts", run="1", batch=0, started=0.0, seconds=2.0,
    ...     rows=4, loads=(3, 1), imbalance=50.0,
    ... )
    >>> model = RunModel("an example")
    >>> model.take(event)["frame"]["imbalance"]
    50.0
    >>> [grouping["name"] for grouping in model.state()["groupings"]]
    ['key']
    """

    def __init__(self, title: str, mode: str = "live") -> None:
        self.title, self.mode = shown_text(title), mode
        self.tracks: dict[str, Track] = {}
        self.sequence = 0
        self.ended = False
        self.problem: str | None = None
        self.dropped = 0

    def take(self, event: Epoch) -> dict[str, Any] | None:
        """Add an event; return what changed, or None if there is no room for its grouping."""
        name = shown_text(event.grouping)
        track = self.tracks.get(name)
        if track is None:
            if len(self.tracks) >= MOST_GROUPINGS:
                self.dropped += 1
                return None
            track = self.tracks[name] = Track(name)
        self.sequence += 1
        track.take(event, self.sequence)
        return {
            "sequence": self.sequence,
            "grouping": track.head(),
            "frame": track.frames[-1],
            "dropped": self.dropped,
        }

    def state(self, *, latest_only: bool = False) -> dict[str, Any]:
        """Return all that is shown, or its last moment alone, ready for JSON."""
        return {
            "schema": API_SCHEMA,
            "title": self.title,
            "mode": self.mode,
            "ended": self.ended,
            "problem": self.problem,
            "sequence": self.sequence,
            "dropped": self.dropped,
            "groupings": [
                {**track.head(), "frames": track.frames[-1:] if latest_only else [*track.frames]}
                for track in self.tracks.values()
            ],
        }


def _thinned(frames: list[Frame]) -> list[Frame]:
    """Leave out every second frame of the older half, but never the first."""
    half = len(frames) // 2
    return frames[:half:2] + frames[half:]


def _plan_made(event: Epoch, step: int) -> dict[str, Any]:
    return {
        "step": step,
        "batch": event.batch,
        "time": (event.started or 0.0) + (event.seconds or 0.0),
        "version": event.next_version,
        "why": None if event.why is None else shown_text(event.why, 300),
    }


def _added(sums: list[Any], values: tuple[Any, ...]) -> list[Any]:
    """Return the sums, place by place; they begin again when the number of workers changes."""
    if len(sums) != len(values):
        return list(values)
    return [one + other for one, other in zip(sums, values, strict=True)]
