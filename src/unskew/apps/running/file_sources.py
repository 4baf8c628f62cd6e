"""Sources that are files: the application's own real data, and a folder that is watched."""

import csv
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from unskew.apps.base import Application
from unskew.apps.running.source import (
    CORRUPT,
    OpenedSource,
    Source,
    from_reader,
    schema_of,
    with_corrupt,
)
from unskew.errors import InvalidParameterError

_FORMATS = {
    ".parquet": "parquet",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
}
_FILES_LOOKED_AT = 100


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

    def open(self, spark: SparkSession, application: Application, folder: Path) -> OpenedSource:
        """Stream the files of ``folder``, where a `FileFeeder` puts one after another."""
        files = self._files(application)
        folder.mkdir(parents=True, exist_ok=True)
        reader = spark.readStream.schema(application.schema).option("maxFilesPerTrigger", 1)
        return OpenedSource(reader.parquet(str(folder)), feeder=FileFeeder(files, folder))

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


@dataclass
class Files(Source):
    """A folder that is watched; its files are all of one format, by their names.

    Parameters
    ----------
    path
        The folder. Files are to be moved into it whole.
    files_per_batch
        How many files a micro-batch has at most; None for all that are there.
    """

    path: Path
    files_per_batch: int | None = 1
    spec: str = field(default="files", init=False)

    def __post_init__(self) -> None:
        self.spec = f"files:{self.path}"

    def check(self) -> None:
        """Raise unless it is a folder with files of one format."""
        if not self.path.is_dir():
            raise InvalidParameterError("unskew run", "--source", "a folder", self.spec)
        _ = self.format

    @property
    def format(self) -> str:
        """What the files are, by their names."""
        endings = {file.suffix for file in self.path.iterdir()}
        found = sorted({_FORMATS[ending] for ending in endings.intersection(_FORMATS)})
        if len(found) != 1:
            expected = f"a folder with files of one of the formats {', '.join(_FORMATS)}"
            got = f"{self.spec} with {' and '.join(found) or 'none'}"
            hint = "the names tell the format; put at least one file there"
            raise InvalidParameterError("unskew run", "--source", expected, got, hint=hint)
        return found[0]

    def open(self, spark: SparkSession, application: Application, folder: Path) -> OpenedSource:  # noqa: ARG002 (Spark's checkpoint has it)
        """Watch the folder, and count records that are no rows."""
        schema, kind = schema_of(application.schema), self.format
        if kind in _COLUMNS:
            self._check_columns(kind, schema.fieldNames())
        reader = spark.readStream.format(kind).option("pathGlobFilter", self._pattern(kind))
        if self.files_per_batch is not None:
            reader = reader.option("maxFilesPerTrigger", self.files_per_batch)
        if kind == "parquet":
            return OpenedSource(reader.schema(schema).load(str(self.path)))
        if kind == "csv":
            # Spark would take columns by their place, whatever the header calls them.
            reader = reader.option("header", True).option("enforceSchema", False)
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT).option("mode", "PERMISSIVE")
        return from_reader(reader.schema(with_corrupt(schema)).load(str(self.path)), schema)

    def _pattern(self, kind: str) -> str:
        return "*{" + ",".join(end for end, name in _FORMATS.items() if name == kind) + "}"

    def _check_columns(self, kind: str, names: list[str]) -> None:
        """Raise if a file that is there has other columns: Spark would make do with nulls."""
        for path in sorted(self.path.glob(f"*.{kind}"))[:_FILES_LOOKED_AT]:
            found = _COLUMNS[kind](path)
            there = [name.strip().lower() for name in found or names]
            wanted = [name.lower() for name in names]
            if (there != wanted) if kind == "csv" else (not set(wanted) <= set(there)):
                expected = f"{kind} files with the columns {', '.join(names)}"
                got = f"{path.name} with {', '.join(found)[:200]}"
                raise InvalidParameterError("unskew run", "--source", expected, got)


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        return next(csv.reader(file), [])


def _parquet_names(path: Path) -> list[str]:
    try:
        names: list[str] = pq.read_schema(path).names
    except (OSError, pa.ArrowException):
        return []  # the query will say that it is none
    return names


_COLUMNS: dict[str, Callable[[Path], list[str]]] = {"csv": _header, "parquet": _parquet_names}
"""How the names of columns are read; none if there is nothing to be read."""
