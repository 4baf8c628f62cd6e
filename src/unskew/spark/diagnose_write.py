"""Say what a partitioned write makes today, what Spark's own ways would, and what `for_write`."""

from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew._validation import check_int
from unskew.errors import StreamError
from unskew.spark.columns import By, check_by, free_names, quoted
from unskew.spark.for_write import write_plan
from unskew.spark.routing.learning import refuse_stream

_EVEN = 1.1  # of the mean: what the busiest task may have where nothing is to be gained
PAGE = "docs/cookbook/thousands-of-tiny-files.md"
"""The page of the cookbook on this symptom."""


@dataclass(frozen=True)
class WriteWay:
    """One way to write: how many files and tasks, and the largest task."""

    name: str
    files: int
    tasks: int
    largest_task: int
    """Rows of the task that writes most."""
    busiest: float
    """The same as a multiple of the mean over the tasks asked for, or all where there are more."""


@dataclass(frozen=True)
class WriteDiagnosis:
    """What becomes of a partitioned write; `diagnose_write` makes it.

    ``print`` shows a sentence, a table and the line of code to use.
    """

    partition_by: tuple[str, ...]
    rows: int
    partitions: int
    workers: int
    ways: tuple[WriteWay, ...]
    verdict: str
    code: str

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {**asdict(self), "cookbook": PAGE}

    def __str__(self) -> str:
        table = [("before the write", "files", "tasks", "largest task", "× mean")]
        for way in self.ways:
            cells = (f"{way.files:,}", f"{way.tasks:,}", f"{way.largest_task:,}")
            table.append((way.name, *cells, f"{way.busiest:.2f}"))
        widths = [max(len(row[at]) for row in table) for at in range(5)]
        lines = [
            "  ".join(
                cell.ljust(width) if at == 0 else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        return "\n".join((self.verdict, "", *lines, "", f"    {self.code}", f"see {PAGE}"))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def diagnose_write(df: DataFrame, partition_by: By, workers: int) -> WriteDiagnosis:
    """Return how many files ``df.write.partitionBy`` makes, and how uneven its tasks are.

    Beside it stand what Spark's own ``repartition`` would make, by the columns and without, and
    what `for_write` would: all counted, none written. Three aggregations over the partition
    columns.

    Parameters
    ----------
    df
        A batch DataFrame, as it would be written.
    partition_by
        The partition columns of the write, a name or a list.
    workers
        How many tasks should share the write, at least 1.

    Raises
    ------
    InvalidParameterError
        For a stream, an unknown column, or fewer than one worker.
    StreamError
        Where ``df`` has no rows.

    Examples
    --------
    ``print(us.diagnose_write(df, "country", workers=64))``
    """
    refuse_stream("diagnose_write", df)
    names = check_by(df, partition_by, owner="diagnose_write", parameter="partition_by")
    workers = check_int("diagnose_write", "workers", workers, minimum=1)
    plan = write_plan(df, names, workers=workers)
    rows = int(np.rint(plan.file_rows.sum()))
    if rows == 0:
        raise StreamError("diagnose_write: there are no rows")
    listed = f'"{names[0]}"' if len(names) == 1 else "[" + ", ".join(f'"{n}"' for n in names) + "]"
    columns = ", ".join(f'"{name}"' for name in names)
    loads = plan.plan.predicted_loads
    ways = (
        _as_read(df, names, workers),
        *_repartitioned(df, names, workers, rows, columns),
        WriteWay("us.for_write", plan.files, plan.tasks, int(np.rint(loads.max())), plan.busiest),
    )
    verdict, before = _verdict(ways, plan.partitions + workers - 1)
    code = {
        ways[0].name: "df",
        ways[1].name: f"df.{ways[1].name}",
        ways[3].name: f"us.for_write(df, {listed}, workers={workers})",
    }[before]
    written = f"{code}.write.partitionBy({columns})"
    return WriteDiagnosis(tuple(names), rows, plan.partitions, workers, ways, verdict, written)


def _as_read(df: DataFrame, names: list[str], workers: int) -> WriteWay:
    task, rows = free_names(df, 2)
    keys = [sf.col(quoted(name)) for name in names]
    files = df.groupBy(sf.spark_partition_id().alias(task), *keys).agg(sf.count("*").alias(rows))
    per_task = files.groupBy(task).agg(sf.count("*").alias("files"), sf.sum(rows).alias("rows"))
    found = [tuple(row) for row in per_task.select("files", "rows").collect()]
    return _way("as read", found, max(workers, len(found)))


def _repartitioned(
    df: DataFrame, names: list[str], workers: int, rows: int, columns: str
) -> tuple[WriteWay, WriteWay]:
    (count,) = free_names(df, 1)
    keys = [sf.col(quoted(name)) for name in names]
    partitions = df.groupBy(*keys).agg(sf.count("*").alias(count))
    task = sf.pmod(sf.hash(*keys), sf.lit(workers))
    per_task = partitions.groupBy(task.alias("task")).agg(
        sf.count("*").alias("files"),
        sf.sum(count).alias("rows"),
        sf.sum(sf.least(sf.col(count), sf.lit(workers))).alias("spread"),
    )
    found = per_task.select("files", "rows", "spread").collect()
    by_column = _way(
        f"repartition({workers}, {columns})", [(row[0], row[1]) for row in found], workers
    )
    spread = sum(row["spread"] for row in found)  # each task has some rows of each partition
    even = WriteWay(f"repartition({workers})", spread, workers, -(-rows // workers), 1.0)
    return by_column, even


def _way(name: str, tasks: list[tuple[int, ...]], asked: int) -> WriteWay:
    largest = max(rows for _, rows in tasks)
    mean = sum(rows for _, rows in tasks) / asked
    return WriteWay(name, sum(files for files, _ in tasks), len(tasks), largest, largest / mean)


def _verdict(ways: tuple[WriteWay, ...], most_files: int) -> tuple[str, str]:
    """Return a sentence, and the name of the way that suffices."""
    now, by_column, _, ours = ways
    if now.files <= most_files and now.busiest <= _EVEN:
        return "Leave it as it is: few files, even tasks.", now.name
    today = f"Today {now.files:,} files, the largest task {now.busiest:.2f} × the mean"
    if by_column.busiest <= max(_EVEN, ours.busiest):
        return f"{today}: repartition by the partition columns suffices.", by_column.name
    return (
        f"{today}; by {by_column.name} {by_column.files:,} and {by_column.busiest:.2f} ×; "
        f"by us.for_write {ours.files:,} and {ours.busiest:.2f} ×.",
        ours.name,
    )
