"""One moment of one grouping: an event in the shape that the page draws."""

from typing import Any

from unskew.dashboard.shown_text import shown_text
from unskew.dashboard.worker_view import worker_view
from unskew.events import Epoch, HotKey
from unskew.metrics import stddev_of_percent

MOST_HOT_KEYS = 10
MOST_WORKERS_A_KEY = 24

Frame = dict[str, Any]
"""What `frame_of` returns; ready for JSON, of bounded size. ``docs/dashboard.md`` lists it."""


def frame_of(event: Epoch, *, sequence: int, step: int) -> Frame:
    """Return what is shown of ``event``.

    Parameters
    ----------
    event
        What happened.
    sequence
        Its number among all events of the run.
    step
        Where it stands on the axis of time: the number of the micro-batch, but never going back.

    Examples
    --------
    >>> event = Epoch(
    ...     grouping="key", query="counts", run="1", batch=7, started=0.0, seconds=2.0,
    ...     rows=4, loads=(3, 1), imbalance=50.0,
    ... )
    >>> frame = frame_of(event, sequence=1, step=7)
    >>> frame["rows_per_second"], frame["imbalance"], frame["sigma"], frame["busy"]
    (2.0, 50.0, 25.0, None)
    """
    placed = bool(event.loads)
    return {
        "sequence": sequence,
        "step": step,
        "batch": event.batch,
        "started": event.started,
        "seconds": event.seconds,
        "rows": event.rows,
        "rows_per_second": event.rows_per_second,
        "imbalance": event.imbalance if placed else None,
        "predicted_imbalance": event.predicted_imbalance,
        "imbalance_of": event.imbalance_of,
        "sigma": stddev_of_percent(event.loads) if placed else None,
        "replication": event.replication,
        "split_keys": event.split_keys,
        "version": event.version,
        "latency": list(event.latency) if event.latency else None,
        "dead_letters": event.dead_letters,
        "phase": None if event.phase is None else shown_text(event.phase),
        "messages": event.messages,
        "loads": worker_view(event.loads, event.predicted_loads),
        "busy": worker_view(event.busy_seconds, event.estimated_seconds),
        "hot_keys": [_hot_key(key) for key in event.hot_keys[:MOST_HOT_KEYS]],
    }


def _hot_key(hot: HotKey) -> dict[str, Any]:
    return {
        "key": shown_text(hot.key),
        "share": hot.share,
        "workers": list(hot.workers[:MOST_WORKERS_A_KEY]),
        "worker_count": len(hot.workers),
    }
