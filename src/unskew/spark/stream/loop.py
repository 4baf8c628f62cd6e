"""The driver's part of a stream: reports of micro-batches in, a new plan or new costs out."""

import json
import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession

from unskew._stores import AnyPath, StoreError
from unskew.errors import InvalidParameterError
from unskew.events import PLAN_RECORD, Epoch, append_epoch
from unskew.groupings.plan import Plan, check_plan
from unskew.metrics import imbalance_percent
from unskew.spark.plans.live_file import LiveFile, Sent
from unskew.spark.plans.saved import KeyPlan, PlanFileError, PlanStore
from unskew.spark.routing.expression import TABLES_TYPE, live_tables
from unskew.spark.steps.running import STATS_FIELD, read_stats
from unskew.spark.stream.counters import (
    EpochCounts,
    busy_counts,
    expected_loads,
    read_counts,
    replication,
    splits_unevenly,
)
from unskew.spark.stream.planner import Planner
from unskew.spark.worker.cost_messages import NO_VERSION
from unskew.spark.worker.key_times import Timing

ROUTING_TYPE = f"version bigint, tables {TABLES_TYPE}"
"""The live file of a plan, as a Spark type."""

WORK_SUFFIX = "-work"
"""What the name of an observation of work steps has behind the name of its stream."""

_log = logging.getLogger("unskew.spark")
_UNREACHED = "%s The stream goes on with what is in force."
_Observed = TypeVar("_Observed")


class Report(NamedTuple):
    """All that Spark hands over when a micro-batch is done."""

    query: str
    run: str
    batch: int
    version: int = NO_VERSION
    """Which plan or costs rows were routed by, where work steps do not report it themselves."""
    stats: str | None = None
    """The report of Python work steps, as `steps.running.read_stats` reads it."""
    places: str = ""
    hot: str = ""
    keys: int = 0
    """Counters of a micro-batch that is placed by a plan, see `counters.read_counts`."""
    moved: str = ""
    """Keys that were given another worker, see `counters.moved_keys`."""

    @classmethod
    def of(cls, progress: Any, **found: Any) -> Self:
        """Return what was ``found`` in the progress of a query, and of which micro-batch it is."""
        return cls(str(progress.id), str(progress.runId), int(progress.batchId), **found)

    @classmethod
    def of_counters(cls, progress: Any, name: str) -> Self | None:
        """Return the counters that a query observes as ``name``, and what its work steps measured.

        None if the micro-batch had no rows.
        """
        row = progress.observedMetrics[name].asDict()
        if not row["places"]:
            return None
        work = progress.observedMetrics.get(f"{name}{WORK_SUFFIX}")
        return cls.of(
            progress,
            version=int(row["version"]),
            places=str(row["places"]),
            hot=str(row["hot"]),
            keys=int(row["keys"]),
            moved=str(row.get("moved") or ""),
            stats=work[STATS_FIELD] if work else None,
        )

    def busy_seconds(self, workers: int) -> tuple[float, ...] | None:
        """Return how long each worker was busy; None where no work step reports it."""
        if self.stats is None:
            return None
        seconds = [0.0] * workers
        for one in read_stats(self.stats, workers):
            seconds[one.worker] += one.seconds
        return tuple(seconds)


class PlacedStream(NamedTuple):
    """A stream whose rows are placed, and where to tell what its workers did."""

    df: DataFrame
    work_observation: str
    """The name to `observe` under, as the text column ``busy``, what work steps measured."""
    timing: Timing | None = None
    """How work steps are to time the keys, if rows are placed by that; the last column of ``df``
    has their identities then."""


class Loop(ABC, Generic[_Observed]):
    """Learn from every micro-batch, put that in force for the next ones, and on record.

    Parameters
    ----------
    folder
        Where the record of micro-batches goes.
    file
        Where tasks find what was learned.
    without_file
        What becomes of rows whose tasks find no whole file, for the log; None if nobody need say.
    """

    def __init__(self, folder: AnyPath, file: LiveFile, *, without_file: str | None = None) -> None:
        self.folder = folder
        self._file = file
        self._without_file = without_file
        self._lock = threading.Lock()
        self._is_behind = False  # the store could not be reached
        self._look_after_files()
        self._put_in_force()

    @abstractmethod
    def read(self, progress: Any, name: str) -> Report | None:
        """Return what a query that observes as ``name`` reports; None if it had no rows."""

    @abstractmethod
    def _observed(self, report: Report) -> _Observed | None:
        """Return what is in a report, None if the micro-batch had no rows."""

    @abstractmethod
    def _learn(self, report: Report, observed: _Observed) -> tuple[dict[str, Any], bool]:
        """Return what an `Epoch` says of a micro-batch, and whether there is something new."""

    @abstractmethod
    def _put_in_force(self) -> None:
        """Write what is known for the tasks that start from now on."""

    def take(self, report: Report) -> Epoch | None:
        """Learn from a micro-batch and put that on record."""
        started = time.perf_counter()
        observed = self._observed(report)
        if observed is None:
            return None
        with self._lock:
            damaged: list[str] = []
            with self._going_on():
                damaged = self._look_after_files()
            fields, is_new = self._learn(report, observed)
            if is_new or damaged or self._is_behind:
                self._is_behind = True
                with self._going_on():
                    self._put_in_force()
                    self._is_behind = False
            if fields["version"] == NO_VERSION and not damaged and not self._is_behind:
                self._say_unseen()
            epoch = Epoch(
                query=report.query,
                run=report.run,
                batch=report.batch,
                planning_seconds=time.perf_counter() - started,
                damaged=tuple(damaged),
                **fields,
            )
            with self._going_on():
                append_epoch(self.folder, epoch, PLAN_RECORD)
        return epoch

    def sent(self, spark: SparkSession) -> Sent | None:
        """Return what is in force as it travels with the rows; None where tasks read the files."""
        return self._file.sent(spark)

    @contextmanager
    def _going_on(self) -> Iterator[None]:
        """Let a store fail: what is to be written there comes with the next micro-batch."""
        try:
            yield
        except StoreError as error:
            _log.warning(_UNREACHED, error)

    def rest(self, run: str) -> None:
        """Take note that a run of the query has ended."""

    def _look_after_files(self) -> list[str]:
        """Log and return the names of the files that were damaged since the last time."""
        damaged = self._file.damaged()
        if not self._file.folder.exists():
            _log.warning(
                "%s was deleted and is made again; the stream goes on. What was on record there "
                "is gone.",
                self._file.folder,
            )
            self._file.folder.mkdir(parents=True, exist_ok=True)
            return damaged
        for name in damaged:
            _log.warning("%s was damaged and has been written again; the stream goes on.", name)
        return damaged

    def _say_unseen(self) -> None:
        if self._without_file is not None:
            _log.warning(
                "%s: no task has found a whole file of what is known in %s. Is it the same folder "
                "on the driver and on all executors?",
                self._without_file,
                self.folder,
            )
            self._without_file = None


class PlanLoop(Loop[EpochCounts]):
    """Learn from every micro-batch and change the plan where that is worth it.

    Parameters
    ----------
    folder
        Where the plans are kept; the stream goes on from the last one there.
    by
        The key columns.
    types
        Their types, as `key_types` says them.
    planner
        Makes the plans.
    start
        The plan to start with, if the folder has none.
    threshold
        By how many points of imbalance a new plan has to be better.
    by_busy_time
        Whether plans even out the time that keys take in work steps, as far as these report it,
        and not rows.

    Raises
    ------
    InvalidParameterError
        Where the last plan is for other key columns, other types of them or another number of
        workers, or the scheme has learned from other identities than Spark's.
    """

    def __init__(
        self,
        folder: AnyPath,
        by: tuple[str, ...],
        types: tuple[str, ...],
        planner: Planner,
        *,
        start: Plan | None = None,
        threshold: float,
        by_busy_time: bool = False,
    ) -> None:
        self.workers = planner.grouping.workers
        self.planner = planner
        self._by, self._types = by, types
        self._threshold = threshold
        self.by_busy_time = by_busy_time
        self._store = PlanStore(folder)
        latest = self._store.latest()
        if latest is None and start is not None:
            latest = self._begun_with(start)
        self._version = latest.version if latest else 0
        self._plan = self._fitting(latest) if latest else planner.first_plan
        check_plan("plan_path", self._plan)
        self._looked_at = set(self._store.versions())
        self._runs: set[str] = set()
        self._said_uneven = False
        target = json.dumps({"workers": self.workers, "keys": list(by)})
        super().__init__(self._store.folder, LiveFile(self._store.folder, "routing", target))

    @property
    def version(self) -> int:
        """The plan that micro-batches follow which start now."""
        return self._version

    def read(self, progress: Any, name: str) -> Report | None:
        """Return the counters of a micro-batch, and what its work steps measured."""
        return Report.of_counters(progress, name)

    def routing_column(self, spark: SparkSession) -> Column:
        """Return the plan in force as a column of `ROUTING_TYPE` for a query."""
        return self._file.column(spark, ROUTING_TYPE)

    def rest(self, run: str) -> None:
        """Let go of what was learned once the last query that reports here has ended."""
        with self._lock:
            self._runs.discard(run)
            if not self._runs:
                self.planner.forget()

    def _begun_with(self, plan: Plan) -> KeyPlan | None:
        """Put the plan that the user gave into the folder; one of plain hashing needs no file."""
        if isinstance(plan, KeyPlan) and plan.grouping == "key":
            return None
        slots = plan.slot_workers.size
        if slots != self.planner.n_slots:
            expected = f"one with the {self.planner.n_slots} slots of {self.planner.grouping}"
            hint = "learn it with us.plan(…, grouping=…) and the same grouping"
            raise InvalidParameterError("plan_path", "plan", expected, f"{slots} slots", hint=hint)
        return self._store.save(
            plan,
            by=self._by,
            types=self._types,
            grouping=self.planner.grouping,
            learned_from=plan.learned_from if isinstance(plan, KeyPlan) else "",
            why="given to start with",
        )

    def _fitting(self, saved: KeyPlan) -> Plan:
        saved.check_fits("plan_path", self._by, self.workers, self._types)
        return saved

    def _observed(self, report: Report) -> EpochCounts | None:
        counts = read_counts(
            report.places,
            report.hot,
            report.keys,
            workers=self.workers,
            n_slots=self.planner.n_slots,
        )
        return counts if counts.loads.any() else None

    def _learn(self, report: Report, observed: EpochCounts) -> tuple[dict[str, Any], bool]:
        self._runs.add(report.run)
        followed = self._plan if report.version == self._version else None
        stats = read_stats(report.stats, self.workers)
        busy = busy_counts(observed, stats) if self.by_busy_time else None
        work = observed if busy is None else busy
        why = self._replan(report, observed, work, followed)
        fields = {
            "version": report.version,
            "rows": int(observed.loads.sum()),
            "loads": tuple(observed.loads.astype(int).tolist()),
            "imbalance": imbalance_percent(work.loads),
            "predicted_imbalance": (
                followed.predicted_imbalance if followed and report.version else None
            ),
            "split_keys": self._plan.n_split_keys,
            "next_version": self._version if why else None,
            "why": why,
            "replication": replication(followed, observed) if followed else None,
            "busy_seconds": report.busy_seconds(self.workers),
            "imbalance_of": "rows" if work is observed else "busy_seconds",
        }
        return fields, why is not None

    def _replan(
        self, report: Report, counts: EpochCounts, work: EpochCounts, followed: Plan | None
    ) -> str | None:
        """Change the plan where ``work`` says that it is worth it; return why, or None."""
        judged = work.loads
        if followed and splits_unevenly(followed, counts):
            self._say_uneven()
            judged = expected_loads(followed, work)  # no other plan would mend that
        actual = imbalance_percent(judged)
        if followed and self._is_surprised(followed, actual, float(counts.loads.sum())):
            self.planner.forget()
        candidate = self.planner.plan_after(work, self._plan if self._version else None)
        why = self._reason(candidate, followed, actual)
        if why:
            try:
                saved = self._save(candidate, report, counts, why)
            except StoreError as error:
                _log.warning(_UNREACHED, error)
                return None
            self._plan, self._version = candidate, saved.version
            self._looked_at.add(saved.version)
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
        expected = candidate.predicted_imbalance + self._chance(self.planner.rows)
        if actual - expected > self._threshold:
            return f"imbalance is {actual:.1f} %, a new plan should reach {expected:.1f} %"
        cooled = split_keys(self._plan) - set(candidate.hot_ids.tolist())
        fewer_pieces = candidate.extra_pieces <= self._plan.extra_pieces
        if cooled and fewer_pieces and candidate.predicted_imbalance <= actual:
            keys = f"{len(cooled)} key{'' if len(cooled) == 1 else 's'}"
            return f"{keys} cooled down and no longer split, for a plan that is as even"
        return None

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
                "Rows of split keys do not spread as planned: in the columns that they are spread "
                "by, too many are alike. Name others with spread_by, or () to leave it to chance."
            )

    def _save(self, plan: Plan, report: Report, counts: EpochCounts, why: str) -> KeyPlan:
        learned_from = (
            f"query {report.query}, up to micro-batch {report.batch} "
            f"({int(counts.loads.sum())} rows)"
        )
        return self._store.save(
            plan,
            by=self._by,
            types=self._types,
            grouping=self.planner.grouping,
            learned_from=learned_from,
            why=why,
        )

    def _put_in_force(self) -> None:
        routing = {"version": self._version, "tables": live_tables(self._plan)}
        self._file.write([json.dumps(routing, separators=(",", ":"))])

    def _look_after_files(self) -> list[str]:
        """Say which files were damaged since the last time; take up plans that others have put."""
        damaged = super()._look_after_files()
        for version in sorted(set(self._store.versions()) - self._looked_at):
            try:
                found = self._fitting(self._store.load(version))
            except (PlanFileError, InvalidParameterError) as error:
                _log.warning("%s The stream goes on with plan %d.", error, self._version)
                damaged.append(self._store.path_of(version).name)
            else:
                self._plan, self._version, self._is_behind = found, version, True
                self._put_in_force()
                self._is_behind = False
            self._looked_at.add(version)
        return damaged


def split_keys(plan: Plan) -> set[int]:
    """Return the identities of the keys that live on several workers."""
    return set(plan.hot_ids[np.diff(plan.pieces.starts) > 1].tolist())


def file_without_plans(owner: str, folder: AnyPath, kind: str, target: str) -> LiveFile:
    """Return the live file of costs, or of known keys, in a folder that holds no plans."""
    file = LiveFile(folder, kind, target)
    if PlanStore(folder).versions():
        raise file.belongs_to(owner, "one with plans")
    return file
