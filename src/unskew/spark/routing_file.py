"""The plan in force as a pair of files that a running query reads anew in every micro-batch."""

import json
from pathlib import Path
from typing import NamedTuple

import pyspark.sql.functions as sf
from pyspark.sql import Column, SparkSession

from unskew.groupings.plan import Plan
from unskew.spark.file_pair import FilePair
from unskew.spark.routing_tables import TABLES_TYPE, tables_of

ROUTING_TYPE = f"version bigint, tables {TABLES_TYPE}"
"""What a query makes of a file, as a Spark type."""

_NAMES = ("routing-a.txt", "routing-b.txt")


class Routing(NamedTuple):
    """What the files say: a plan, its version, and the key columns that it is for."""

    plan: Plan
    version: int
    by: tuple[str, ...]


class RoutingFile:
    """The files of `FilePair`, read by Spark itself: the newer one that is whole and fits.

    Behind hash and revision a file has two lines: whom it is for, and the plan in JSON. A reader
    can so choose a file before it makes sense of the plan.

    Parameters
    ----------
    folder
        A folder that the driver and all executors see under one path.
    """

    def __init__(self, folder: Path) -> None:
        self._paths = [folder / name for name in _NAMES]
        self._pair = FilePair(self._paths)

    def write(self, routing: Routing) -> None:
        """Put ``routing`` in force from the next micro-batch on; the one before stays beside it."""
        plan = {"version": routing.version, "tables": tables_of(routing.plan)}
        target = _target(routing.by, routing.plan.workers)
        self._pair.write([target, json.dumps(plan, separators=(",", ":"))])

    def damaged(self) -> list[str]:
        """Return the names of the files that are not, or no longer, as they were written."""
        return self._pair.damaged()

    def row(self, spark: SparkSession, by: tuple[str, ...], workers: int) -> Column:
        """Return what is in force as a struct of `ROUTING_TYPE`; null if no file is whole.

        It is a scalar subquery: Spark evaluates it once a micro-batch, on the driver's behalf, and
        the tables are constants to the tasks.
        """
        files = spark.read.format("binaryFile").option("ignoreMissingFiles", True)
        # One task for both: what is left to do is less than to start a second one, and a shuffle.
        content = files.load([path.absolute().as_uri() for path in self._paths]).coalesce(1)
        lines = content.select(sf.split(sf.col("content").cast("string"), "\n", 4).alias("lines"))
        mark, revision, target, plan = (sf.get("lines", sf.lit(line)) for line in range(4))
        text = sf.concat_ws("\n", revision, target, plan)
        fitting = lines.where(
            (sf.sha2(text, 256) == mark) & (target == sf.lit(_target(by, workers)))
        )
        newest = fitting.orderBy(revision.desc()).limit(1)
        return newest.select(sf.from_json(plan, ROUTING_TYPE)).scalar()


def _target(by: tuple[str, ...], workers: int) -> str:
    return json.dumps({"workers": workers, "keys": list(by)})
