"""The driver's part of a stream: reports of micro-batches in, plans out."""

import json
import logging
import math
import threading
import time
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, SparkSession

from unskew.errors import InvalidParameterError
from unskew.groupings.plan import Plan
from unskew.metrics import imbalance_percent
from unskew.spark.busy_counts import busy_counts
from unskew.spark.compiled_routing import check_plan
from unskew.spark.epochs import Epoch, append_epoch
from unskew.spark.observing import Counts, read_counts
from unskew.spark.plan_effects import expected_loads, is_dealt_unevenly, replication
from unskew.spark.plan_makers import PlanMaker
from unskew.spark.routing_file import Routing, RoutingFile
from unskew.spark.saved_plans import PlanFileError, PlanStore, SavedPlan, load_plan
from unskew.spark.work_stats import read_stats

NO_PLAN = -1
"""The version that a micro-batch reports when it found no whole plan file."""

_log = logging.getLogger("unskew.spark")


class Report(NamedTuple):
    """What Spark hands over when a micro-batch is done."""

    query: str
    run: str
    batch: int
    version: int
    places: str
    hot: str
    keys: int
    busy: str | None = None
    """What Python work steps measured: a JSON list of ``{"worker", "rows", "seconds"}``."""


class PlanLoop:
    """Learn from every micro-batch and change the plan where that is worth it.

    Parameters
    ----------
    folder
        Where the plans are kept; the last one there is gone on with.
    by
        The key columns.
    types
        Their types, as `key_types` says them.
    maker
        What makes the plans.
    threshold
        By how many points of imbalance a new plan has to be better.
    by_busy_time
        Whether plans even out the time that keys take in work steps, as far as these tell it, and
        not rows.

    Raises
    ------
    InvalidParameterError
        Where the last plan is for other key columns, other types of them or another number of
        workers, or the scheme has learned from other identities than Spark's.
    """

    def __init__(
        self,
        folder: Path,
        by: tuple[str, ...],
        types: tuple[str, ...],
        maker: PlanMaker,
        *,
        threshold: float,
        by_busy_time: bool = False,
    ) -> None:
        self.workers = maker.grouping.workers
        self.maker = maker
        self._by, self._types = by, types
        self._threshold = threshold
        self.by_busy_time = by_busy_time
        self._store = PlanStore(folder)
        latest = self._store.latest()
        self._version = latest.version if latest else 0
        self._plan = self._fitting(latest) if latest else maker.first_plan
        check_plan(self._plan)
        self._looked_at = set(self._store.versions())
        self._file = RoutingFile(folder)
        self._put_in_force()
        self._lock = threading.Lock()
        self._runs: set[str] = set()
        self._said_uneven = False

    @property
    def folder(self) -> Path:
        """Where the plans are kept."""
        return self._store.folder

    @property
    def version(self) -> int:
        """The plan that micro-batches follow which start now."""
        return self._version

    def routing_row(self, spark: SparkSession) -> Column:
        """Return the plan in force as a column for a query."""
        return self._file.row(spark, self._by, self.workers)

    def take(self, report: Report) -> Epoch | None:
        """Learn from a micro-batch, change the plan if need be, and put all this on record."""
        started = time.perf_counter()
        counts = read_counts(
            report.places,
            report.hot,
            report.keys,
            workers=self.workers,
            n_slots=self.maker.n_slots,
        )
        if not counts.loads.any():
            return None
        with self._lock:
            self._runs.add(report.run)
            damaged = self._look_after_files()
            followed = self._plan if report.version == self._version else None
            busy = busy_counts(counts, read_stats(report.busy)) if self.by_busy_time else None
            work = counts if busy is None else busy
            why = self._learn(report, counts, work, followed)
            if why or damaged:
                self._put_in_force()
            epoch = self._epoch(report, counts, work, followed, why, damaged, started)
            append_epoch(self._store.folder, epoch)
            return epoch

    def rest(self, run: str) -> None:
        """Let go of what was learned once the last query that reports here has ended."""
        with self._lock:
            self._runs.discard(run)
            if not self._runs:
                self.maker.forget()

    def _fitting(self, saved: SavedPlan) -> Plan:
        return saved.plan_for(self._by, self.workers, types=self._types)

    def _learn(
        self, report: Report, counts: Counts, work: Counts, followed: Plan | None
    ) -> str | None:
        """Change the plan where ``work`` says that it is worth it; return why, or None."""
        judged = work.loads
        if followed and is_dealt_unevenly(followed, counts):
            self._say_uneven()
            judged = expected_loads(followed, work)  # no other plan would mend that
        actual = imbalance_percent(judged)
        if followed and self._is_surprised(followed, actual, float(counts.loads.sum())):
            self.maker.forget()
        candidate = self.maker.plan_after(work, self._plan if self._version else None)
        why = self._reason(candidate, followed, actual)
        if why:
            self._adopt(candidate, report, counts, why)
        return why

    def _reason(self, candidate: Plan, followed: Plan | None, actual: float) -> str | None:
        """Say why ``candidate`` should replace the present plan, or None.

        The present plan is judged by what it did. What the new one will do is what it promises
        and, on top, what chance makes of the largest of so many loads.
        """
        if self._version == 0:
            return "the first plan"
        if followed is None:
            return None  # the micro-batch began before the present plan was there
        expected = candidate.predicted_imbalance + self._chance(self.maker.rows)
        if actual - expected <= self._threshold:
            return None
        return f"imbalance {actual:.1f} %, of the new plan at most {expected:.1f} % is expected"

    def _is_surprised(self, plan: Plan, actual: float, rows: float) -> bool:
        """Whether a plan did worse than chance explains: what it was learned from is over."""
        return actual > plan.predicted_imbalance + self._chance(rows) + self._threshold

    def _chance(self, rows: float) -> float:
        """Return the imbalance that so many rows have by chance alone: the largest deviation."""
        deviation = 100.0 * math.sqrt(self.workers / rows)
        return deviation * math.sqrt(2.0 * math.log(max(self.workers, 2)))

    def _say_uneven(self) -> None:
        if not self._said_uneven:
            self._said_uneven = True
            _log.warning(
                "Rows of split keys do not spread as planned: in the columns that they are dealt "
                "by, too many are alike. Name others with deal_by, or () to deal by chance."
            )

    def _adopt(self, plan: Plan, report: Report, counts: Counts, why: str) -> None:
        learned_from = (
            f"query {report.query}, up to micro-batch {report.batch} "
            f"({int(counts.loads.sum())} rows)"
        )
        saved = self._store.save(
            plan,
            by=self._by,
            types=self._types,
            grouping=self.maker.grouping,
            learned_from=learned_from,
            why=why,
        )
        self._plan, self._version = plan, saved.version
        self._looked_at.add(saved.version)

    def _put_in_force(self) -> None:
        self._file.write(Routing(self._plan, self._version, self._by))

    def _look_after_files(self) -> tuple[str, ...]:
        """Say which files were damaged since the last time; take up plans that others have put."""
        damaged = self._file.damaged()
        for name in damaged:
            _log.warning("%s was damaged. The stream goes on with plan %d.", name, self._version)
        for version in sorted(set(self._store.versions()) - self._looked_at):
            self._looked_at.add(version)
            path = self._store.path_of(version)
            try:
                found = load_plan(path)
                self._plan, self._version = self._fitting(found), found.version
            except (PlanFileError, InvalidParameterError) as error:
                _log.warning("%s The stream goes on with plan %d.", error, self._version)
                damaged.append(path.name)
            else:
                self._put_in_force()
        return tuple(damaged)

    def _epoch(
        self,
        report: Report,
        counts: Counts,
        work: Counts,
        followed: Plan | None,
        why: str | None,
        damaged: tuple[str, ...],
        started: float,
    ) -> Epoch:
        return Epoch(
            query=report.query,
            run=report.run,
            batch=report.batch,
            version=report.version,
            rows=int(counts.loads.sum()),
            loads=tuple(counts.loads.astype(int).tolist()),
            imbalance=imbalance_percent(work.loads),
            predicted_imbalance=followed.predicted_imbalance
            if followed and report.version
            else None,
            split_keys=self._plan.n_split_keys,
            next_version=self._version if why else None,
            why=why,
            seconds=time.perf_counter() - started,
            damaged=damaged,
            replication=replication(followed, counts) if followed else None,
            busy_seconds=_busy_seconds(report.busy, self.workers),
            imbalance_of="rows" if work is counts else "busy_seconds",
        )


def _busy_seconds(text: str | None, workers: int) -> tuple[float, ...] | None:
    """Return the seconds of each worker; a worker that ran twice was busy twice.

    >>> _busy_seconds('[{"worker": 1, "rows": 7, "seconds": 0.5}]', 2)
    (0.0, 0.5)
    """
    if text is None:
        return None
    seconds = [0.0] * workers
    for one in json.loads(text):
        seconds[one["worker"] % workers] += one["seconds"]
    return tuple(seconds)
