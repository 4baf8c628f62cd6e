"""The driver's part of a stream: reports of micro-batches in, plans out."""

import logging
import math
import threading
import time
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, SparkSession

from unskew.errors import InvalidParameterError
from unskew.groupings._planned import PlannedGrouping
from unskew.groupings.plan import Plan
from unskew.metrics import imbalance_percent
from unskew.spark.compiled_routing import check_plan
from unskew.spark.epochs import Epoch, append_epoch
from unskew.spark.observing import Counts, read_counts
from unskew.spark.routing_file import Routing, RoutingFile
from unskew.spark.saved_plans import PlanFileError, PlanStore, load_plan

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


class PlanLoop:
    """Learn from every micro-batch and change the plan where that is worth it.

    Parameters
    ----------
    folder
        Where the plans are kept; the last one there is gone on with.
    by
        The key columns.
    grouping
        The scheme that makes the plans. It stays as it is.
    threshold
        By how many points of imbalance a new plan has to be better.

    Raises
    ------
    InvalidParameterError
        Where the last plan is for other key columns or another number of workers, or the grouping
        has learned from other identities than Spark's.
    """

    def __init__(
        self, folder: Path, by: tuple[str, ...], grouping: PlannedGrouping, *, threshold: float
    ) -> None:
        self.workers = grouping.n_workers
        self.n_slots = int(grouping.plan.slot_workers.size)
        self._by = by
        self._grouping = grouping
        self._threshold = threshold
        self._store = PlanStore(folder)
        latest = self._store.latest()
        self._version = latest.version if latest else 0
        self._plan = latest.plan_for(by, self.workers) if latest else grouping.plan
        check_plan(self._plan)
        self._looked_at = set(self._store.versions())
        self._file = RoutingFile(folder)
        self._put_in_force()
        self._lock = threading.Lock()
        self._runs: set[str] = set()
        self._forget()

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
        counts = read_counts(report.places, report.hot, self.workers, self.n_slots)
        if not counts.loads.any():
            return None
        with self._lock:
            self._runs.add(report.run)
            damaged = self._look_after_files()
            followed = self._plan if report.version == self._version else None
            if followed and self._is_surprised(followed, counts):
                self._forget()
            candidate = self._learn(counts)
            why = self._reason(candidate, report.version, imbalance_percent(counts.loads))
            if why:
                self._adopt(candidate, report, counts, why)
            if why or damaged:
                self._put_in_force()
            epoch = self._epoch(report, counts, followed, why, damaged, started)
            append_epoch(self._store.folder, epoch)
            return epoch

    def rest(self, run: str) -> None:
        """Let go of what was learned once the last query that reports here has ended."""
        with self._lock:
            self._runs.discard(run)
            if not self._runs:
                self._forget()

    def _forget(self) -> None:
        self._learner: PlannedGrouping | None = None
        self._rows = 0.0  # learned from, with decay

    def _learn(self, counts: Counts) -> Plan:
        """Return the plan for a stream that goes on as it did of late."""
        decay = float(getattr(self._grouping, "decay", 0.0))
        if self._learner is None or decay == 0.0:  # a scheme that would never forget starts anew
            self._learner = self._grouping.for_source(0, 1)
        self._rows = decay * self._rows + float(counts.loads.sum())
        self._learner.learn_counts(counts.hot_ids, counts.hot_loads, counts.slot_loads)
        return self._learner.build().plan

    def _reason(self, candidate: Plan, followed: int, actual: float) -> str | None:
        """Say why ``candidate`` should replace the present plan, or None.

        The present plan is judged by what it did. What the new one will do is what it promises
        and, on top, what chance makes of the largest of so many loads.
        """
        if self._version == 0:
            return "the first plan"
        if followed != self._version:
            return None  # the micro-batch began before the present plan was there
        expected = candidate.predicted_imbalance + self._chance(self._rows)
        if actual - expected <= self._threshold:
            return None
        return f"imbalance {actual:.1f} %, of the new plan at most {expected:.1f} % is expected"

    def _is_surprised(self, plan: Plan, counts: Counts) -> bool:
        """Whether a plan did worse than chance explains: what it was learned from is over."""
        chance = self._chance(float(counts.loads.sum()))
        actual = imbalance_percent(counts.loads)
        return actual > plan.predicted_imbalance + chance + self._threshold

    def _chance(self, rows: float) -> float:
        """Return the imbalance that so many rows have by chance alone: the largest deviation."""
        deviation = 100.0 * math.sqrt(self.workers / rows)
        return deviation * math.sqrt(2.0 * math.log(max(self.workers, 2)))

    def _adopt(self, plan: Plan, report: Report, counts: Counts, why: str) -> None:
        learned_from = (
            f"query {report.query}, up to micro-batch {report.batch} "
            f"({int(counts.loads.sum())} rows)"
        )
        saved = self._store.save(
            plan, by=self._by, grouping=self._grouping, learned_from=learned_from, why=why
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
                self._plan, self._version = found.plan_for(self._by, self.workers), found.version
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
            imbalance=imbalance_percent(counts.loads),
            predicted_imbalance=followed.predicted_imbalance if followed else None,
            split_keys=self._plan.n_split_keys,
            next_version=self._version if why else None,
            why=why,
            seconds=time.perf_counter() - started,
            damaged=damaged,
        )
