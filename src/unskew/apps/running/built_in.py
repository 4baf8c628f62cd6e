"""The application's own real data, cut into files: one file is one micro-batch."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from unskew.apps.base import Application
from unskew.apps.running.opened import Opened, Source


@dataclass
class BuiltIn(Source):
    """Real rows in time order, in micro-batches of equal size, the same for every grouping.

    Parameters
    ----------
    batch_rows
        Rows of a micro-batch.
    max_batches
        How many at most; by default all rows.
    pool
        Folder where the files are made, once for all groupings.
    """

    batch_rows: int
    max_batches: int | None
    pool: Path
    spec: str = field(default="built-in", init=False)

    def open(self, spark: SparkSession, application: Application, folder: Path) -> Opened:
        """Stream the files of ``folder``, where a `FileFeeder` puts one after another."""
        files = self._files(application)
        folder.mkdir(parents=True, exist_ok=True)
        reader = spark.readStream.schema(application.schema).option("maxFilesPerTrigger", 1)
        return Opened(reader.parquet(str(folder)), feeder=FileFeeder(files, folder))

    def trigger(self, seconds: float | None, *, to_the_end: bool) -> dict[str, Any]:  # noqa: ARG002 (the feeder ends it)
        """Take up a file as soon as it is there, or at the user's pace."""
        return {"processingTime": f"{seconds or 0} seconds"}

    def _files(self, application: Application) -> list[Path]:
        if not self.pool.exists():
            limit = None if self.max_batches is None else self.max_batches * self.batch_rows
            parts = _parts(application.table(limit), self.batch_rows)
            with TemporaryDirectory(dir=self.pool.parent, prefix=".making-") as making:
                for number, part in enumerate(parts):
                    path = Path(making) / "all" / f"{number:06d}.parquet"
                    path.parent.mkdir(exist_ok=True)
                    pq.write_table(part, path, coerce_timestamps="us")
                path.parent.rename(self.pool)  # all of it, or nothing
        return sorted(self.pool.glob("*.parquet"))


class FileFeeder:
    """Put files into a folder that a stream watches, one at a time.

    Parameters
    ----------
    files
        What to put there, in this order. Those that are there already come first: a query that is
        started again has read them, or will.
    folder
        The watched folder.
    """

    def __init__(self, files: list[Path], folder: Path) -> None:
        self._folder = folder
        there = {path.name for path in folder.glob("*.parquet")}
        self._left: Iterator[Path] = iter([path for path in files if path.name not in there])

    def feed(self) -> bool:
        """Put the next file there, all of it at once."""
        path = next(self._left, None)
        if path is None:
            return False
        hidden = self._folder / f".{path.name}"  # Spark does not look at such names
        shutil.copyfile(path, hidden)
        hidden.replace(self._folder / path.name)
        return True


def _parts(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    return (table.slice(first, rows) for first in range(0, table.num_rows, rows))
