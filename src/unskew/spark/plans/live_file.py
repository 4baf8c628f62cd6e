"""The live file: a plan, or costs, in force, which a query reads in every micro-batch.

It is a pair of files that are written alternately, so that whoever reads them always finds a whole
one. A file holds the hash of its own content and a revision; a reader takes the newer of those that
are whole and for its query. A damaged file is therefore never used, and the next best is what was
written before.
"""

from collections.abc import Sequence
from pathlib import Path

import pyspark.sql.functions as sf
from pyspark.sql import Column, SparkSession

from unskew._files import write_atomically
from unskew.errors import InvalidParameterError
from unskew.spark.worker.live_files import LivePair, Written, as_text, newest_whole, read_whole

_UNLIKE_ANY = (-1, -1)


class LiveFile:
    """Keep lines of text where the tasks of a query, and its next run, can read them.

    Parameters
    ----------
    folder
        A folder of the query's own, which the driver and all executors see under one path. It is
        made if need be.
    kind
        The first part of the names of both files: ``routing`` or ``costs``.
    target
        Whom the lines are for, in words that fit an error message.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> file = LiveFile(Path(folder.name), "costs", "key: user")
    >>> for line in ("first", "second"):
    ...     file.write([line])
    >>> file.pair.read()
    ['second']
    >>> newer = next(path for path in file.pair.paths if "second" in path.read_text())
    >>> newer.write_text("garbage")
    7
    >>> file.pair.read(), file.damaged() == [newer.name]
    (['first'], True)
    >>> LiveFile(Path(folder.name), "costs", "key: day").read("doctest")
    Traceback (most recent call last):
    unskew.errors.InvalidParameterError: doctest: plan_path must be the folder of a query with ...
    >>> folder.cleanup()
    """

    def __init__(self, folder: Path, kind: str, target: str) -> None:
        # Executors may run in another folder than the driver.
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        paths = [self.folder / f"{kind}-{letter}.txt" for letter in "ab"]
        self.pair = LivePair(paths, target)
        whole = newest_whole(paths)
        self._revision = 0 if whole is None else whole.revision
        self._marks = {
            path: _UNLIKE_ANY for path in paths if path.exists() and read_whole(path) is None
        }

    def read(self, owner: str) -> list[str] | None:
        """Return what the last run has written; None if nothing of it is there and whole.

        Raises
        ------
        InvalidParameterError
            If it is another query's.
        """
        whole = newest_whole(self.pair.paths)
        if whole is None:
            return None
        target, *lines = whole.lines
        if target != self.pair.target:
            raise self.belongs_to(owner, target)
        return lines

    def write(self, lines: Sequence[str]) -> None:
        """Put ``lines`` in force, none of which may break; those of before stay beside them.

        If the file before is damaged or not there, both are written.
        """
        self._write(lines)
        if self.damaged() or not all(path.exists() for path in self.pair.paths):
            self._write(lines)

    def damaged(self) -> list[str]:
        """Return the names of the files that are not, or no longer, as they were written."""
        known = [path for path in self.pair.paths if path in self._marks]
        return [path.name for path in known if _mark(path) != self._marks[path]]

    def column(self, spark: SparkSession, kind: str) -> Column:
        """Return the one line in force, which is JSON, as a struct of ``kind``; null if none is.

        It is a scalar subquery: Spark evaluates it once per micro-batch, on the driver's behalf,
        and its value is a constant to the tasks.
        """
        files = spark.read.format("binaryFile").option("ignoreMissingFiles", True)
        # One task for both: what is left to do is less than to start a second one, and a shuffle.
        content = files.load([path.as_uri() for path in self.pair.paths]).coalesce(1)
        lines = content.select(sf.split(sf.col("content").cast("string"), "\n", 4).alias("lines"))
        mark, revision, target, line = (sf.get("lines", sf.lit(at)) for at in range(4))
        text = sf.concat_ws("\n", revision, target, line)
        fitting = lines.where((sf.sha2(text, 256) == mark) & (target == sf.lit(self.pair.target)))
        newest = fitting.orderBy(revision.desc()).limit(1)
        return newest.select(sf.from_json(line, kind)).scalar()

    def belongs_to(self, owner: str, other: str) -> InvalidParameterError:
        """Return the error for a folder that belongs to another query."""
        expected = f"the folder of a query with {self.pair.target}"
        hint = "each query needs a folder of its own; in another one it starts from nothing"
        return InvalidParameterError(owner, "plan_path", expected, other, hint=hint)

    def _write(self, lines: Sequence[str]) -> None:
        self._revision += 1
        path = self.pair.paths[self._revision % 2]
        text = as_text(Written(self._revision, [self.pair.target, *lines]))
        write_atomically(path, text)
        self._marks[path] = _mark(path)


def _mark(path: Path) -> tuple[int, int]:
    """Return what changes when anyone else writes a file; cheap enough for every micro-batch."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
