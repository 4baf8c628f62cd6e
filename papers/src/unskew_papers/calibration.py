"""What the queueing simulator has to know of an engine, as a run of Spark has shown it."""

import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unskew import __version__
from unskew.reports.writing import write_page

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
    >>> costs.merge_in_rows(work=0.0), round(costs.merge_in_rows(work=0.99), 3)
    (2.0, 0.02)
    >>> costs.batch(rows_of_busiest=1000, work=1.0, workers=4, merges=50, rows_a_wait=500)
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

    def merge_in_rows(self, work: float) -> float:
        """Return what a merge costs in rows of ``work`` each."""
        return self.merge / self.row_with(work)

    def busy(self, rows: int, work: float, rows_a_wait: int) -> float:
        """Return how long a worker waits for its rows, some of them at a time."""
        return rows * work + math.ceil(rows / rows_a_wait) * self.wait

    def batch(
        self, rows_of_busiest: int, work: float, workers: int, merges: int, rows_a_wait: int
    ) -> float:
        """Return how long a micro-batch takes from its start to its merged result."""
        at_work = self.busy(rows_of_busiest, work, rows_a_wait) + rows_of_busiest * self.row
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
    from unskew_papers.calibrating import calibrate

    return calibrate()
