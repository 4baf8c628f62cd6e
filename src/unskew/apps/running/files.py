"""Files of a folder, and those that will come: Parquet, JSON lines, or CSV with a header."""

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from unskew.apps.base import Application
from unskew.apps.running.opened import Opened, Source
from unskew.apps.running.records import CORRUPT, from_reader, schema_of, with_corrupt
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
class Files(Source):
    """A folder that is watched; its files are all of one format, by their names.

    Parameters
    ----------
    path
        The folder. Files are to be moved into it whole.
    files_a_batch
        How many files a micro-batch has at most; None for all that are there.
    """

    path: Path
    files_a_batch: int | None = 1
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

    def open(self, spark: SparkSession, application: Application, folder: Path) -> Opened:  # noqa: ARG002 (Spark's checkpoint has it)
        """Watch the folder, and count records that are no rows."""
        schema, kind = schema_of(application.schema), self.format
        if kind in _COLUMNS:
            self._check_columns(kind, schema.fieldNames())
        reader = spark.readStream.format(kind).option("pathGlobFilter", self._pattern(kind))
        if self.files_a_batch is not None:
            reader = reader.option("maxFilesPerTrigger", self.files_a_batch)
        if kind == "parquet":
            return Opened(reader.schema(schema).load(str(self.path)))
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
