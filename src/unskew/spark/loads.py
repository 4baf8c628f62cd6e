"""What every worker got and did, predicted and actual: of a batch job or of a running stream."""

from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from unskew._validation import check_real
from unskew.errors import InvalidParameterError, UnskewError
from unskew.groupings.plan import Plan
from unskew.spark.epochs import Epoch, read_epochs
from unskew.spark.job_watch import JobWatch
from unskew.spark.saved_plans import PlanStore

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
"""One row a worker and epoch; ``predicted_load`` is in rows of this epoch. Columns that are not of
the worker are of the epoch, and the same in all its rows."""

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

    def __init__(self, plan_path: str | Path | None = None, *, wait: float = 10.0) -> None:
        self.plan_path = None if plan_path is None else Path(plan_path)
        self.wait = check_real("Loads", "wait", wait, minimum=0)
        self._job: JobWatch | None = None

    def watch(self, workers: int, plan: Plan | None) -> JobWatch:
        """Take on a job; for those who build one."""
        if self.plan_path is not None:
            raise InvalidParameterError(
                "Loads", "plan_path", "left out to watch a batch job", str(self.plan_path)
            )
        if self._job is not None:
            raise UnskewError("Loads: it watches a job already. Hint: make one Loads a result.")
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
        if self.plan_path is not None:
            return read_epochs(self.plan_path)
        if self._job is None:
            raise UnskewError(
                "Loads: it watches no job yet. Hint: give it to balance or group_by as loads=."
            )
        return [self._job.epoch(self.wait)]

    @property
    def epoch(self) -> Epoch:
        """The last epoch; for errors see `epochs`."""
        epochs = self.epochs
        if not epochs:
            raise UnskewError(f"Loads: no micro-batch is on record in {self.plan_path}.")
        return epochs[-1]

    def to_df(self, spark: SparkSession) -> DataFrame:
        """Return the loads as a DataFrame, one row a worker and epoch; see `LOADS_SCHEMA`.

        Null stands for what nobody measured or predicted: busy seconds where the work is Spark's
        own, predictions where no plan was learned, estimates where rows are not scheduled by cost.
        """
        shares: dict[int, list[float] | None] = {}
        rows = []
        for epoch in self.epochs:
            if epoch.version not in shares:
                shares[epoch.version] = predicted_shares(self._plan_of(epoch.version))
            rows += _rows_of(epoch, shares[epoch.version])
        table = pa.Table.from_pylist(rows, schema=LOADS_SCHEMA)
        return spark.createDataFrame(table)

    def _plan_of(self, version: int) -> Plan | None:
        if self.plan_path is None:
            return None if self._job is None else self._job.plan
        return PlanStore(self.plan_path).plan_of(version)

    def __repr__(self) -> str:
        if self.plan_path is not None:
            return f"Loads(of the stream in {self.plan_path})"
        if self._job is None:
            return "Loads(of no job yet)"
        return f"Loads(of a job on {self._job.workers} workers)"


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
