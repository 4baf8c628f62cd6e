"""Place rows for a partitioned write: even tasks, few files."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame

from unskew._validation import check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.plan import Plan
from unskew.groupings.whole_first import even_layout, sized_layout
from unskew.metrics import imbalance_percent
from unskew.scheduling import LoadArray
from unskew.spark.balance import balance_stream
from unskew.spark.columns import By, check_by, quoted
from unskew.spark.plans.saved import KeyPlan, key_types
from unskew.spark.routing.choosing import AUTO
from unskew.spark.routing.placing import route
from unskew.spark.routing.write_counts import (
    PartitionCounts,
    RowBytes,
    count_partitions,
    measure_rows,
)

_UNEVEN = 0.01  # what a task may have more than the mean before a partition is cut for that
_LARGER = 0.1  # what a file may have more than was asked for


@dataclass(frozen=True, eq=False, repr=False)
class WritePlan:
    """What a partitioned write will make: tasks, files and their sizes; `for_write` follows it.

    Parameters
    ----------
    plan
        Which task writes the rows of which partition.
    partitions
        Number of partitions: distinct values of the partition columns.
    file_rows
        Rows of each file, largest first. Exact for partitions that are whole; where one is
        cut, its files are off by what chance makes of spreading its rows.
    file_bytes
        Bytes of each file in the same order, as a sample written as Parquet lets expect; None
        where only rows were asked for.
    """

    plan: KeyPlan
    partitions: int
    file_rows: LoadArray
    file_bytes: LoadArray | None = None

    @property
    def tasks(self) -> int:
        """Number of tasks that write."""
        return self.plan.workers

    @property
    def files(self) -> int:
        """Number of files that the write makes."""
        return int(self.file_rows.size)

    @property
    def busiest(self) -> float:
        """How much the busiest task has to write, as a multiple of the mean."""
        return 1 + imbalance_percent(self.plan.predicted_loads) / 100

    def __repr__(self) -> str:
        return (
            f"Write plan for {', '.join(self.plan.by)}: {self.tasks:,} tasks write {self.files:,} "
            f"files of {self.partitions:,} partitions, busiest task {self.busiest:.2f} × the mean"
        )

    def _repr_html_(self) -> str:
        """Return the line, and a bar for what each task writes."""
        return f"<div><b>{self!r}</b></div>{self.plan._repr_html_()}"


def write_plan(
    df: DataFrame,
    partition_by: By,
    *,
    workers: int | None = None,
    rows_per_file: int | None = None,
    bytes_per_file: int | None = None,
    seed: int = 0,
) -> WritePlan:
    """Return what `for_write` would do with these parameters: how many files, how large.

    One job counts the rows of each partition, which Spark combines where they are read; with
    ``bytes_per_file`` a bounded sample is brought to the driver and written as Parquet, in memory.

    Parameters
    ----------
    df
        A batch DataFrame.
    partition_by
        The partition columns of the write, a name or a list.
    workers, rows_per_file, bytes_per_file
        Exactly one of them, as for `for_write`.
    seed
        Picks the sample.

    Examples
    --------
    ``us.write_plan(df, "country", rows_per_file=1_000_000)`` shows itself as a line:
    tasks, files, partitions, and how even the tasks are.
    """
    names = check_by(df, partition_by, owner="write_plan", parameter="partition_by")
    return _made(
        "write_plan",
        df,
        names,
        _wanted("write_plan", df, workers, rows_per_file, bytes_per_file),
        seed,
    )


def for_write(
    df: DataFrame,
    partition_by: By,
    *,
    workers: int | None = None,
    rows_per_file: int | None = None,
    bytes_per_file: int | None = None,
    plan: WritePlan | Plan | None = None,
    plan_path: str | Path | None = None,
    spread_by: By | None = None,
    seed: int = 0,
) -> DataFrame:
    """Return ``df`` placed and sorted for ``.write.partitionBy(*partition_by)``.

    Same rows, same columns. A partition goes to one task where it fits, and a task writes its
    partitions one after the other, so that one file is open at a time. With ``workers`` all tasks
    write about the same number of rows, and there are at most partitions + workers − 1 files. With
    ``rows_per_file`` or ``bytes_per_file`` there are as many tasks as files of that size take: a
    larger partition gets several, smaller ones share a task, and no file is larger by more than a
    tenth, chance aside. Nothing is written here: any format, mode and options may follow.

    Parameters
    ----------
    df
        A batch DataFrame, or a stream.
    partition_by
        The partition columns of the write, a name or a list.
    workers
        Number of tasks, at least 1, all of them even in rows.
    rows_per_file
        Rows that a file should have; only for a batch.
    bytes_per_file
        Bytes that a file should have, as Parquet with the session's codec; only for a batch. Rows
        of partitions may differ in size: the tasks are even in bytes.
    plan
        What `write_plan` has made, or any plan for these columns (`load_plan`): then nothing is
        counted, and none of the three sizes is given.
    plan_path
        For a stream without a ``plan``: a folder in which it learns its plan while it runs, as in
        `balance_stream`. Each micro-batch writes at most partitions + workers − 1 files.
    spread_by
        Columns by whose content the rows of a partition that is cut are spread, as for `balance`;
        by their number otherwise.
    seed
        Picks the sample by which bytes are estimated.

    Raises
    ------
    InvalidParameterError
        When called: an unknown column, not exactly one size, a size that a stream cannot keep.

    Examples
    --------
    ``us.for_write(df, "country", workers=64).write.partitionBy("country").parquet(path)``
    """
    names = check_by(df, partition_by, owner="for_write", parameter="partition_by")
    if df.isStreaming and plan is None:
        return _stream(
            df, names, workers, rows_per_file or bytes_per_file, plan_path, spread_by, seed
        )
    if plan_path is not None:
        hint = "a batch counts its rows before it places them"
        raise InvalidParameterError("for_write", "plan_path", "left out here", plan_path, hint=hint)
    if plan is None:
        wanted = _wanted("for_write", df, workers, rows_per_file, bytes_per_file)
        plan = _made("for_write", df, names, wanted, seed)
    elif not (workers is rows_per_file is bytes_per_file is None):
        expected = "left out with workers, rows_per_file or bytes_per_file"
        raise InvalidParameterError("for_write", "plan", expected, plan)
    layout = plan.plan if isinstance(plan, WritePlan) else plan
    if not isinstance(layout, Plan):
        raise InvalidParameterError("for_write", "plan", "a WritePlan or a Plan", plan)
    routed = route(
        df,
        names,
        layout.workers,
        owner="for_write",
        grouping=AUTO,
        plan=layout,
        learn="sample",
        spread_by=spread_by,
        seed=seed,
    )
    placed = routed.placed(layout.workers)
    # Spark sorts no stream, but its file sink sorts each task's rows by itself.
    columns = [sf.col(quoted(name)) for name in names]
    return placed if df.isStreaming else placed.sortWithinPartitions(*columns)


def _wanted(
    owner: str, df: DataFrame, workers: int | None, rows: int | None, size: int | None
) -> tuple[str, int]:
    """Return the one size that is given, by its name, or raise."""
    sizes = {"workers": workers, "rows_per_file": rows, "bytes_per_file": size}
    given = [(name, value) for name, value in sizes.items() if value is not None]
    if len(given) != 1:
        expected = "the only one given of workers, rows_per_file and bytes_per_file"
        name = given[0][0] if given else "workers"
        raise InvalidParameterError(owner, name, expected, dict(given) or None)
    ((name, value),) = given
    if df.isStreaming:
        hint = "make the plan from a batch that has read what the stream has read so far"
        raise InvalidParameterError(owner, "df", "a batch DataFrame", "a stream", hint=hint)
    return name, check_int(owner, name, value, minimum=1)


def _made(
    owner: str, df: DataFrame, names: list[str], wanted: tuple[str, int], seed: int
) -> WritePlan:
    name, size = wanted
    counts = count_partitions(df, names)
    in_bytes = name == "bytes_per_file"
    row_bytes = measure_rows(df, names, counts.total, seed) if in_bytes else None
    keys = counts.to_place(row_bytes)
    if name == "workers":
        plan = even_layout(keys, size, tolerance=_UNEVEN)
    else:
        plan = sized_layout(keys, float(size), tolerance=_LARGER)
    kept = KeyPlan.of(
        plan,
        by=names,
        types=key_types(df, names),
        learned_from=f"{owner}, counts of all rows",
        why=f"{name}={size:,}",
    )
    return WritePlan(kept, counts.partitions, *_files(plan, counts, row_bytes))


def _files(
    plan: Plan, counts: PartitionCounts, row_bytes: RowBytes | None
) -> tuple[LoadArray, LoadArray | None]:
    """Return rows and bytes of every file, largest first."""
    pieces = np.repeat(plan.hot_ids, np.diff(plan.pieces.starts))
    whole = ~np.isin(counts.ids, plan.hot_ids)
    few = np.repeat(counts.other_rows / np.maximum(counts.other_keys, 1), counts.other_keys)
    if row_bytes is None:
        rows = np.concatenate((plan.pieces.loads, counts.rows[whole], few))
        return np.sort(rows)[::-1], None
    rows = np.concatenate((plan.pieces.loads / row_bytes.of(pieces), counts.rows[whole], few))
    per_row = (
        row_bytes.of(pieces),
        row_bytes.of(counts.ids[whole]),
        np.full(few.size, row_bytes.mean),
    )
    sizes = rows * np.concatenate(per_row)
    order = np.argsort(-sizes, kind="stable")
    return rows[order], sizes[order]


def _stream(
    df: DataFrame,
    names: list[str],
    workers: int | None,
    size: int | None,
    plan_path: str | Path | None,
    spread_by: By | None,
    seed: int,
) -> DataFrame:
    if size is not None:
        expected = "left out for a stream, of which nobody knows how many rows a micro-batch has"
        hint = "give workers, or a plan made from history by write_plan"
        raise InvalidParameterError(
            "for_write", "rows_per_file or bytes_per_file", expected, size, hint=hint
        )
    if plan_path is None:
        hint = "a folder in which the stream keeps its plan; or give plan="
        raise InvalidParameterError("for_write", "plan_path", "given for a stream", None, hint=hint)
    count = check_int("for_write", "workers", workers, minimum=1)
    return balance_stream(df, names, count, plan_path=plan_path, spread_by=spread_by, seed=seed)
