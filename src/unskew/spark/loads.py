"""Rows and busy time of every worker, predicted and actual, of a batch job or a stream."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from typing import Any, TypeAlias

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Observation, SparkSession

from unskew._stores import AnyPath, located
from unskew._validation import check_real
from unskew.errors import InvalidParameterError, UnskewError
from unskew.events import Epoch, read_epochs
from unskew.groupings.plan import Plan
from unskew.metrics import imbalance_percent
from unskew.spark.columns import By, identity, unused_name
from unskew.spark.plans.saved import PlanStore
from unskew.spark.steps.running import STATS_FIELD, read_stats
from unskew.spark.stream.counters import distinct, worker_counts

LOADS_SCHEMA = pa.schema(
    [
        ("batch", pa.int64()),
        ("version", pa.int64()),
        ("worker", pa.int32()),
        ("rows", pa.int64()),
        ("busy_seconds", pa.float64()),
        ("predicted_load", pa.float64()),
        ("imbalance", pa.float64()),
        ("predicted_imbalance", pa.float64()),
        ("replication", pa.float64()),
        ("split_keys", pa.int64()),
        ("imbalance_of", pa.string()),
        ("estimated_seconds", pa.float64()),
        ("phase", pa.string()),
        ("messages", pa.int64()),
        ("message_bytes", pa.int64()),
        ("stats_rows", pa.int64()),
        ("stats_bytes", pa.int64()),
    ]
)
"""One row per worker and epoch; ``predicted_load`` is in rows of this epoch. Columns that are not
of the worker are of the epoch, and the same in all its rows."""

_OF_WORKER = ("busy_seconds", "estimated_seconds")
_OF_EPOCH = (
    "batch",
    "version",
    "imbalance",
    "predicted_imbalance",
    "replication",
    "split_keys",
    "imbalance_of",
    "phase",
    "messages",
    "message_bytes",
    "stats_rows",
    "stats_bytes",
)

_PRECISION = 12  # distinct keys are counted within about 2 %


class Loads:
    """The loads of workers, epoch by epoch; a batch job is one epoch, a stream has many.

    Parameters
    ----------
    plan_path
        The folder of a stream (see `balance_stream`), whose record is read. Left out for a batch
        job: then give the object to `balance`, `group_by`, `map_rows` or `map_batches` as
        ``loads=`` and ask it after an action has run on the result. It tells of the first action,
        as Spark's Observation does.
    wait
        Seconds to wait for Spark's report on a batch job, which comes just after the action.

    Examples
    --------
    ``loads = Loads()``, then ``group_by(df, "user", workers=8, loads=loads).apply(…).collect()``,
    then ``loads.to_df(spark).show()``. Of a stream: ``Loads("plans/").to_df(spark).show()``.

    >>> Loads()
    Loads(of no job yet)
    """

    def __init__(self, plan_path: str | AnyPath | None = None, *, wait: float = 10.0) -> None:
        self.plan_path = None if plan_path is None else located("Loads", "plan_path", plan_path)
        self.wait = check_real("Loads", "wait", wait, minimum=0)
        self._job: JobWatch | None = None

    def _watch(self, workers: int, plan: Plan | None) -> "JobWatch":
        """Take on a job; for those who build one."""
        if self.plan_path is not None:
            raise InvalidParameterError(
                "Loads", "plan_path", "left out to watch a batch job", str(self.plan_path)
            )
        if self._job is not None:
            raise UnskewError("Loads: it watches a job already. Hint: use one Loads per result.")
        self._job = JobWatch(workers, plan)
        return self._job

    @property
    def epochs(self) -> list[Epoch]:
        """What is known, oldest first.

        Raises
        ------
        UnskewError
            For a batch job on whose result no action has finished.
        """
        return self._known(self.wait)

    def _known(self, wait: float) -> list[Epoch]:
        if self.plan_path is not None:
            return read_epochs(self.plan_path)
        if self._job is None:
            raise UnskewError(
                "Loads: it watches no job yet. Hint: give it to balance or group_by as loads=."
            )
        return [self._job.epoch(wait)]

    @property
    def epoch(self) -> Epoch:
        """The last epoch; for errors see `epochs`."""
        epochs = self.epochs
        if not epochs:
            raise UnskewError(f"Loads: no micro-batch is on record in {self.plan_path}.")
        return epochs[-1]

    def to_df(self, spark: SparkSession) -> DataFrame:
        """Return the loads as a DataFrame, one row per worker and epoch; see `LOADS_SCHEMA`.

        Null stands for what nobody measured or predicted: busy seconds where the work is Spark's
        own, predictions where no plan was learned, estimates where rows are not scheduled by cost.
        """
        shares: dict[int | None, list[float] | None] = {}
        rows = []
        for epoch in self.epochs:
            if epoch.version not in shares:
                shares[epoch.version] = predicted_shares(self._plan_of(epoch.version))
            rows += _rows_of(epoch, shares[epoch.version])
        table = pa.Table.from_pylist(rows, schema=LOADS_SCHEMA)
        return spark.createDataFrame(table)

    def _plan_of(self, version: int | None) -> Plan | None:
        if self.plan_path is None:
            return None if self._job is None else self._job.plan
        return PlanStore(self.plan_path).plan_of(version)

    def __repr__(self) -> str:
        if self.plan_path is not None:
            return f"Loads(of the stream in {self.plan_path})"
        if self._job is None:
            return "Loads(of no job yet)"
        return f"Loads(of a job on {self._job.workers} workers)"

    def _repr_html_(self) -> str:
        """Return what the last epoch was like; before there is one, whose it will be."""
        try:
            return self._known(wait=0.0)[-1]._repr_html_()
        except (UnskewError, IndexError):
            return escape(repr(self))


def _rows_of(epoch: Epoch, shares: list[float] | None) -> list[dict[str, object]]:
    common = {name: getattr(epoch, name) for name in _OF_EPOCH}
    measured = {name: getattr(epoch, name) for name in _OF_WORKER}
    return [
        {
            **common,
            **{name: None if of is None else of[worker] for name, of in measured.items()},
            "worker": worker,
            "rows": rows,
            "predicted_load": None if shares is None else shares[worker] * epoch.rows,
        }
        for worker, rows in enumerate(epoch.loads)
    ]


def predicted_shares(plan: Plan | None) -> list[float] | None:
    """Return each worker's part of all rows as the plan has it; None if it predicts nothing."""
    if plan is None or not plan.predicted_loads.any():
        return None
    shares: list[float] = (plan.predicted_loads / plan.predicted_loads.sum()).tolist()
    return shares


Details: TypeAlias = Callable[[str], Mapping[str, Any]]


def refuse_loads_on_stream(owner: str, df: DataFrame) -> None:
    """Raise if ``df`` is a stream, which keeps a record of its own."""
    if df.isStreaming:
        hint = "with plan_path= the stream keeps a record, which Loads(plan_path) reads"
        raise InvalidParameterError(owner, "loads", "left out for a stream", "Loads", hint=hint)


class JobWatch:
    """What is to be observed of a job, and what came of it.

    Parameters
    ----------
    workers
        Number of workers.
    plan
        The plan that places the rows; None where there is none.
    """

    def __init__(self, workers: int, plan: Plan | None) -> None:
        self.workers = workers
        self.plan = plan
        self._observations: list[Observation] = []
        self._known: dict[str, Any] = {}
        self._details: Details | None = None
        self._reader: threading.Thread | None = None
        self._found: dict[str, Any] = {}
        self._error: Exception | None = None

    def of_work(self, *, whole_keys: bool = False, details: Details | None = None) -> Observation:
        """Return where the stats of a Python step go.

        Parameters
        ----------
        whole_keys
            Whether no key is ever split.
        details
            Makes fields of the `Epoch` out of the text of all stats, for steps that tell more.
        """
        if whole_keys:
            self._known["replication"] = 1.0
        self._details = details
        return self._observation()

    def with_keys(self, df: DataFrame, by: By) -> DataFrame:
        """Return partial results where they were made, with keys counted on their way."""
        return self._observed(df, by, rows=False)

    def with_rows(self, df: DataFrame, by: By) -> DataFrame:
        """Return placed rows, with rows per worker and keys counted on their way."""
        return self._observed(df, by, rows=True)

    def epoch(self, wait: float) -> Epoch:
        """Return what the first action did, or raise if none is over within ``wait`` seconds."""
        found = {**self._results(wait), **self._known}
        loads, busy = self._loads(found)
        plan = self.plan
        predicts = plan is not None and plan.predicted_loads.any()
        epoch = Epoch(
            query="",
            run="",
            batch=0,
            version=0,
            rows=sum(loads),
            loads=tuple(loads),
            imbalance=imbalance_percent(loads),
            predicted_imbalance=plan.predicted_imbalance if plan and predicts else None,
            split_keys=None if plan is None else plan.n_split_keys,
            why=plan.why or None if plan else None,
            replication=_replication(found),
            busy_seconds=busy,
        )
        if self._details is None or not found.get(STATS_FIELD):
            return epoch
        return replace(epoch, **self._details(found[STATS_FIELD]))

    def _observation(self) -> Observation:
        self._observations.append(Observation())
        return self._observations[-1]

    def _observed(self, df: DataFrame, by: By, *, rows: bool) -> DataFrame:
        refuse_loads_on_stream("balance", df)
        # Spark observes only what is deterministic: the partition has to be a column first.
        place = unused_name("_place", df.columns)
        placed = df.withColumn(place, sf.spark_partition_id())
        key = identity(df, by)
        counts = [
            distinct(key, _PRECISION).alias("keys"),
            distinct(sf.xxhash64(key, place), _PRECISION).alias("pieces"),
        ]
        if rows:
            counts.append(worker_counts(sf.col(place), self.workers).alias("rows"))
        return placed.observe(self._observation(), *counts).drop(place)

    def _loads(self, found: dict[str, Any]) -> tuple[list[int], tuple[float, ...] | None]:
        rows, seconds = [0] * self.workers, [0.0] * self.workers
        if STATS_FIELD not in found:
            for one in json.loads(found["rows"] or "[]"):
                rows[one["item"] % self.workers] += one["count"]
            return rows, None
        for stats in read_stats(found[STATS_FIELD], self.workers):
            rows[stats.worker] += stats.rows
            seconds[stats.worker] += stats.seconds
        return rows, tuple(seconds)

    def _results(self, wait: float) -> dict[str, Any]:
        if not self._found:
            self._read(wait)
        if self._error is not None:
            raise self._error
        if not self._found:
            raise UnskewError(
                "Loads: no action on the result has finished yet, or it had no rows. "
                "Hint: collect(), write … first."
            )
        return self._found

    def _read(self, wait: float) -> None:
        """Let a thread ask Spark, which in a session of its own process answers after an action."""
        if self._reader is None:
            self._reader = threading.Thread(target=self._ask, name="unskew-loads", daemon=True)
            self._reader.start()
        self._reader.join(wait)
        if not self._reader.is_alive():
            self._reader = None  # through Connect Spark answers at once, maybe with nothing

    def _ask(self) -> None:
        try:
            answers = [_answer(observation) for observation in self._observations]
            if all(answers):
                self._found = {name: value for answer in answers for name, value in answer.items()}
        except Exception as error:
            self._error = error


def _answer(observation: Observation) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = observation.get
    except Exception as error:
        # Where no rows are, Spark leaves the observation out, and cannot hand over that it did.
        if "toPyRow" not in str(error):
            raise
        return {"rows": None}
    return answer


def _replication(found: dict[str, Any]) -> float | None:
    if "replication" in found:
        return float(found["replication"])
    # Two estimates: their quotient may fall below what is possible.
    return max(1.0, found["pieces"] / found["keys"]) if found.get("keys") else None
