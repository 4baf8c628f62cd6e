"""The plan in force as a pair of files that a running query reads anew in every micro-batch."""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import Column, SparkSession

from unskew.groupings.plan import Plan
from unskew.spark.routing_tables import TABLES_TYPE, tables_of
from unskew.spark.saved_plans import write_atomically

ROUTING_TYPE = f"version bigint, tables {TABLES_TYPE}"
"""What a query makes of a file, as a Spark type."""

_NAMES = ("routing-a.txt", "routing-b.txt")


class Routing(NamedTuple):
    """What the files say: a plan, its version, and the key columns that it is for."""

    plan: Plan
    version: int
    by: tuple[str, ...]


class RoutingFile:
    """Two files, written in turn, so that there always is a whole one.

    A reader takes the newer of those that are whole: each holds the hash of its own content. What
    is damaged is therefore not used, and the next best is the plan before.

    A file has four lines: the hash of the others, its revision, whom it is for, and the plan in
    JSON. A reader can so choose a file before it makes sense of the plan.

    Parameters
    ----------
    folder
        A folder that the driver and all executors see under one path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._revision = max(_revision_in(path) for path in self._paths())
        self._marks: dict[Path, tuple[int, int]] = {}

    def write(self, routing: Routing) -> None:
        """Put ``routing`` in force from the next micro-batch on; the one before stays beside it.

        If the one before is damaged or not there, both files are written.
        """
        self._write(routing)
        if self.damaged() or not all(path.exists() for path in self._paths()):
            self._write(routing)

    def _write(self, routing: Routing) -> None:
        self._revision += 1
        path = self._paths()[self._revision % 2]
        write_atomically(path, _as_text(routing, self._revision))
        self._marks[path] = _mark(path)

    def damaged(self) -> list[str]:
        """Return the names of the files that are no longer as they were written."""
        return [path.name for path, mark in self._marks.items() if _mark(path) != mark]

    def row(self, spark: SparkSession, by: tuple[str, ...], workers: int) -> Column:
        """Return what is in force as a struct of `ROUTING_TYPE`; null if no file is whole.

        It is a scalar subquery: Spark evaluates it once a micro-batch, on the driver's behalf, and
        the tables are constants to the tasks.
        """
        files = spark.read.format("binaryFile").option("ignoreMissingFiles", True)
        # One task for both: what is left to do is less than to start a second one, and a shuffle.
        content = files.load([path.absolute().as_uri() for path in self._paths()]).coalesce(1)
        lines = content.select(sf.split(sf.col("content").cast("string"), "\n", 4).alias("lines"))
        mark, revision, target, plan = (sf.get("lines", sf.lit(line)) for line in range(4))
        text = sf.concat_ws("\n", revision, target, plan)
        fitting = lines.where(
            (sf.sha2(text, 256) == mark) & (target == sf.lit(_target(by, workers)))
        )
        newest = fitting.orderBy(revision.desc()).limit(1)
        return newest.select(sf.from_json(plan, ROUTING_TYPE)).scalar()

    def _paths(self) -> list[Path]:
        return [self.folder / name for name in _NAMES]


def _as_text(routing: Routing, revision: int) -> str:
    plan = {"version": routing.version, "tables": tables_of(routing.plan)}
    text = "\n".join(
        [
            f"{revision:019d}",  # so that the order of the text is that of the numbers
            _target(routing.by, routing.plan.n_workers),
            json.dumps(plan, separators=(",", ":")),
        ]
    )
    return f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def _target(by: tuple[str, ...], workers: int) -> str:
    return json.dumps({"workers": workers, "keys": list(by)})


def _revision_in(path: Path) -> int:
    """Return the revision that a file holds, 0 if it is not there or damaged."""
    try:
        return int(path.read_text(encoding="utf-8").split("\n", 2)[1])
    except (OSError, ValueError, IndexError):
        return 0


def _mark(path: Path) -> tuple[int, int]:
    """Return what changes when anyone else writes a file; cheap enough for every micro-batch."""
    try:
        status = path.stat()
    except OSError:
        return (-1, -1)
    return (status.st_mtime_ns, status.st_size)
