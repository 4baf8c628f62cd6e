"""Make frames: one moment of one grouping in the shape that the page draws.

Workers have a bar each while they are few, and a summary when they are many. Text of unknown
origin is made safe to look at.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew.events import Epoch, HotKey
from unskew.metrics import stddev_of_percent

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
MOST_BARS = 64
"""Beyond so many workers neighbours share a cell."""

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

WorkerView = dict[str, Any]
"""What `worker_view` returns; ready for JSON."""
MOST_HOT_KEYS = 10
MOST_WORKERS_PER_KEY = 24

Frame = dict[str, Any]
"""What `frame_of` returns; ready for JSON, of bounded size. ``docs/dashboard.md`` lists it."""


def shown_text(text: str, most: int = 100) -> str:
    r"""Return ``text`` with all that is unseen spelled out, cut to ``most`` characters.

    Control characters, marks that turn the direction of writing and half characters would let a
    key look like another one, or like none.

    >>> shown_text("anna\x00\u202e!")
    'anna\\x00\\u202e!'
    >>> shown_text("<b>שלום</b>")
    '<b>שלום</b>'
    >>> shown_text("abcdef", most=4)
    'abc…'
    """
    begin = text[: most + 1]
    spelled = "".join(_spelled(character) for character in begin)
    return spelled if len(spelled) <= most else spelled[: most - 1] + "…"


def _spelled(character: str) -> str:
    if unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def worker_view(
    actual: Sequence[float] | None, predicted: Sequence[float] | None = None
) -> WorkerView | None:
    """Return what to draw of one number per worker; its size does not grow with the workers.

    Parameters
    ----------
    actual
        What each worker had; None if that is not known.
    predicted
        What each should have had; left out where workers share cells.

    Returns
    -------
    WorkerView
        ``workers`` is their number, ``mean`` and ``quantiles`` (0, 5, 25, 50, 75, 95, 100 %) are
        over all of them. ``values`` has a number per worker; or the largest of each cell of
        ``per_cell`` neighbours, and ``cell_means`` beside it.

    Examples
    --------
    >>> worker_view([3, 1])["values"]
    [3.0, 1.0]
    >>> many = worker_view(range(1000))
    >>> many["workers"], many["per_cell"], len(many["values"]), many["values"][0]
    (1000, 16, 63, 15.0)
    """
    if not actual:
        return None
    numbers = np.asarray(actual, np.float64)
    per_cell = -(-numbers.size // MOST_BARS)
    shown_prediction = predicted if per_cell == 1 else None
    return {
        "workers": numbers.size,
        "per_cell": per_cell,
        "values": _rounded(_over_cells(numbers, per_cell, np.maximum)),
        "cell_means": _rounded(_cell_means(numbers, per_cell)) if per_cell > 1 else None,
        "predicted": None if shown_prediction is None else _rounded(np.asarray(shown_prediction)),
        "mean": float(numbers.mean()),
        "quantiles": _rounded(np.quantile(numbers, QUANTILES)),
    }


def _over_cells(
    numbers: NDArray[np.float64], per_cell: int, ufunc: np.ufunc
) -> NDArray[np.float64]:
    begins = np.arange(0, numbers.size, per_cell)
    joined: NDArray[np.float64] = ufunc.reduceat(numbers, begins)
    return joined


def _cell_means(numbers: NDArray[np.float64], per_cell: int) -> NDArray[np.float64]:
    sums = _over_cells(numbers, per_cell, np.add)
    sizes = _over_cells(np.ones_like(numbers), per_cell, np.add)
    means: NDArray[np.float64] = sums / sizes
    return means


def _rounded(numbers: NDArray[np.float64]) -> list[float]:
    """Return the numbers with six decimals: microseconds, which no eye tells apart."""
    listed: list[float] = np.round(np.asarray(numbers, np.float64), 6).tolist()
    return listed


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
        "workers": list(hot.workers[:MOST_WORKERS_PER_KEY]),
        "worker_count": len(hot.workers),
    }
