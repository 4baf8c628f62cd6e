"""Run jobs of known work on Spark and read off what the engine itself costs.

Every job runs a few times and the shortest counts: other programs only ever make one longer.
"""

import os
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unskew.hashing import Ids
from unskew_papers.calibration import Calibration
from unskew_papers.engine import SLOTS, merged, worked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WARM_UP, _TIMES = 2, 4
_WAIT = 20.0
"""Milliseconds of a wait whose length is measured."""
_FEW_WORKERS = 2
_ROWS = 60_000
"""Enough to take longer than a job differs from the next."""


def calibrate() -> Calibration:
    """Measure what `Calibration` asks for: half a minute on a machine that is free."""
    few, many = _shortest([_waiting(workers) for workers in (_FEW_WORKERS, SLOTS)])
    worker = max(0.0, (many - few) / (SLOTS - _FEW_WORKERS))
    none, same, distinct = _shortest([_merging(keys) for keys in _probes()])
    return Calibration(
        measured_on=f"Spark {version('pyspark')} on a machine with {os.cpu_count()} cores",
        epoch=max(0.0, few - _FEW_WORKERS * worker - _WAIT),
        worker=worker,
        row=max(0.0, same - none) / _ROWS,
        merge=max(0.0, distinct - same) / _ROWS,
        wait=_overslept(),
    )


def _probes() -> tuple[Ids, Ids, Ids]:
    """Return hardly a row, many rows of one key, and as many of a key each."""
    return np.zeros(1, np.uint64), np.zeros(_ROWS, np.uint64), np.arange(_ROWS, dtype=np.uint64)


def _waiting(workers: int) -> "DataFrame":
    """Return a job whose workers wait for one row each."""
    keys = np.arange(workers, dtype=np.uint64)
    return worked(keys, workers, "shuffle", milliseconds=_WAIT)


def _merging(keys: Ids) -> "DataFrame":
    """Return a job that counts on one worker, and merges on one aggregator."""
    return merged(worked(keys, 1, "shuffle", milliseconds=0.0), aggregators=1)


def _overslept() -> float:
    """Return by how many milliseconds the waits of workers are too long, all waiting at once."""
    job = _waiting(SLOTS)
    busy: NDArray[np.float64] = np.concatenate(
        [job.toArrow()["busy"].to_numpy() for _ in range(_TIMES)]
    )
    return max(0.0, 1000 * float(busy.min()) - _WAIT)


def _shortest(jobs: "Sequence[DataFrame]") -> list[float]:
    """Return the shortest time of each job in milliseconds; they run in turn, one after another.

    The first turns do not count: Python workers start in them, and the JVM compiles.
    """
    taken = np.array([[_milliseconds(job) for job in jobs] for _ in range(_WARM_UP + _TIMES)])
    shortest: list[float] = taken[_WARM_UP:].min(axis=0).tolist()
    return shortest


def _milliseconds(job: "DataFrame") -> float:
    started = time.perf_counter()
    job.toArrow()
    return 1000 * (time.perf_counter() - started)
