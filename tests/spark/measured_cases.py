"""Times of work steps that are told what each row costs, and look at no clock."""

import json
from base64 import b64encode
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from unskew.spark.worker.key_times import KeyTimes, WorkTimes


class Clock:
    """Stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def times_of(
    ids: NDArray[np.uint64], costs: NDArray[np.float64], *, n_slots: int, n_keys: int
) -> WorkTimes:
    """Return what a worker tells that is called once for each row."""
    clock = Clock()

    def work(seconds: float) -> None:
        clock.now += seconds

    times = KeyTimes(n_slots, n_keys, clock=clock)
    for identity, cost in zip(ids.view(np.int64).tolist(), costs.tolist(), strict=True):
        times.call(identity, 1, work, cost)
    return times.summary()


def stats_of(told: Iterable[tuple[int, WorkTimes]]) -> str:
    """Return the text in which workers tell the driver their rows and times, in their order."""
    stats = [
        {
            "worker": worker,
            "rows": rows,
            "seconds": 1.0,
            "payload": b64encode(times.packed()).decode(),
        }
        for worker, (rows, times) in enumerate(told)
    ]
    return json.dumps(stats)
