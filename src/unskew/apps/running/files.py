"""Files of a folder, and those that will come: Parquet, JSON lines, or CSV with a header."""

from dataclasses import dataclass, field
from pathlib import Path

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
        reader = spark.readStream.format(kind).option("pathGlobFilter", self._pattern(kind))
        if self.files_a_batch is not None:
            reader = reader.option("maxFilesPerTrigger", self.files_a_batch)
        if kind == "parquet":
            return Opened(reader.schema(schema).load(str(self.path)))
        if kind == "csv":
            reader = reader.option("header", True)
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT).option("mode", "PERMISSIVE")
        return from_reader(reader.schema(with_corrupt(schema)).load(str(self.path)), schema)

    def _pattern(self, kind: str) -> str:
        return "*{" + ",".join(end for end, name in _FORMATS.items() if name == kind) + "}"
