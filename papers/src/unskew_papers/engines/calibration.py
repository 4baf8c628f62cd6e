"""Costs of an engine, as queues have to know them: measured by jobs of known work on Spark.

Every job runs a few times and the shortest counts: other programs only ever make one longer.
"""

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unskew import __version__
from unskew.hashing import Ids
from unskew.reports.page import write_page
from unskew_papers.engines.spark_jobs import SLOTS, merged, worked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILE = "calibration.json"


@dataclass(frozen=True)
class Calibration:
    """Costs of an engine besides the work that rows are given, all in milliseconds.

    Parameters
    ----------
    measured_on
        Engine and machine that showed them.
    epoch
        A micro-batch, however few its rows.
    worker
        What a micro-batch takes more for each of its workers.
    row
        A row beyond its work: from the engine to its worker, and counted there.
    merge
        A partial result, a key of one worker, that is handed over and merged.
    wait
        By how much a worker that waits does so too long, each time.

    Examples
    --------
    >>> costs = Calibration("an example", epoch=100, worker=10, row=0.01, merge=0.02, wait=0.5)
    >>> costs.batch(rows_of_busiest=1000, work=1.0, workers=4, merges=50, rows_per_wait=500)
    1152.0
    """

    measured_on: str
    epoch: float
    worker: float
    row: float
    merge: float
    wait: float

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "Calibration":
        """Return what `fields` wrote down, as parameters and units of experiments carry it."""
        return cls(**fields)

    def fields(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    def row_with(self, work: float) -> float:
        """Return how long a worker takes for a row that it is given ``work`` for."""
        return work + self.row

    def busy(self, rows: int, work: float, rows_per_wait: int) -> float:
        """Return how long a worker waits for its rows, some of them at a time."""
        return rows * work + math.ceil(rows / rows_per_wait) * self.wait

    def batch(
        self, rows_of_busiest: int, work: float, workers: int, merges: int, rows_per_wait: int
    ) -> float:
        """Return how long a micro-batch takes from its start to its merged result."""
        at_work = self.busy(rows_of_busiest, work, rows_per_wait) + rows_of_busiest * self.row
        return self.epoch + workers * self.worker + at_work + merges * self.merge


ON_RECORD = Calibration(
    "Spark 4.3 on a busy machine with two cores; on record, where there is no Spark",
    epoch=450.0,
    worker=65.0,
    row=0.00106,
    merge=0.00973,
    wait=0.04,
)
"""For machines without Spark; `measured_on` says so wherever it was used."""


def calibration_in(out: Path, measure: Callable[[], Calibration] | None = None) -> Calibration:
    """Return the calibration of a results folder; it is measured once, and kept there.

    Parameters
    ----------
    out
        The results folder.
    measure
        Who measures; by default a run on Spark, or what is on record where there is none.
    """
    path = out / FILE
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept.pop("unskew") == __version__:
            return Calibration.of(kept)
    found = (measure or _measured_here)()
    keep(found, out)
    return found


def keep(calibration: Calibration, out: Path) -> None:
    """Write a calibration down, for all experiments of this results folder."""
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"unskew": __version__, **calibration.fields()}, indent=2)
    write_page(out / FILE, text + "\n")


def _measured_here() -> Calibration:
    if find_spec("pyspark") is None or not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        return ON_RECORD
    return calibrate()


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
    """Return the shortest time of each job in milliseconds; all run once, then all again.

    The first rounds do not count: Python workers start in them, and the JVM compiles.
    """
    taken = np.array([[_milliseconds(job) for job in jobs] for _ in range(_WARM_UP + _TIMES)])
    shortest: list[float] = taken[_WARM_UP:].min(axis=0).tolist()
    return shortest


def _milliseconds(job: "DataFrame") -> float:
    started = time.perf_counter()
    job.toArrow()
    return 1000 * (time.perf_counter() - started)
