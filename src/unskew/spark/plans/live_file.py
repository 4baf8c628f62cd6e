"""The live file: a plan, or costs, in force, which a query reads in every micro-batch.

It is a pair of files that are written alternately, so that whoever reads them always finds a whole
one. A file holds the hash of its own content and a revision; a reader takes the newer of those that
are whole and for its query. A damaged file is therefore never used, and the next best is what was
written before.

In a folder that all nodes see, Python tasks read the files themselves. In a store only the JVM can:
there Spark reads them once per micro-batch, and the first row of each partition has the lines with
it (`LiveFile.sent`).
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column, SparkSession

from unskew._stores import AnyPath, StorePath, located, write_whole
from unskew.errors import InvalidParameterError
from unskew.spark.steps.running import shipped
from unskew.spark.versions import ARROW_COLUMNS, column_step, require
from unskew.spark.worker.live_files import (
    LiveLines,
    LivePair,
    SentLines,
    Written,
    as_text,
    newest_whole,
    read_whole,
)

_UNLIKE_ANY = (-1, -1)


class Sent(NamedTuple):
    """Lines that travel with the rows."""

    text: Column
    """All of them, as Spark reads them once per micro-batch."""
    lines: SentLines
    """Has to be given what the first row of a partition has."""

    def column(self, any_column: Column) -> Column:
        """Return the text in the first row of each partition, and null in the others.

        Spark numbers no rows of a stream (``monotonically_increasing_id``), so Python tells which
        row is the first. ``any_column`` is what it is given to count, a small one.
        """
        is_first = column_step(shipped(_first_rows), "boolean").asNondeterministic()
        return sf.when(is_first(any_column, any_column), self.text)


def _first_rows(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
    is_first = True
    for batch, *_ in batches:
        marks = np.zeros(len(batch), bool)
        marks[:1] = is_first
        is_first = False
        yield pa.array(marks)


def plan_folder(owner: str, plan_path: str | AnyPath, spark: SparkSession) -> AnyPath:
    """Return where ``plan_path`` is, or raise if running queries could not follow what is there."""
    folder = located(owner, "plan_path", plan_path, spark=spark)
    if isinstance(folder, StorePath):
        require(spark, ARROW_COLUMNS, f"{owner} with plan_path in a store")
    if isinstance(folder, StorePath) and not folder.files.is_live:
        hint = (
            "through Connect Spark writes folders, whose files have other names each time, and a "
            "running query does not look for them; take a classic session, or a mounted path"
        )
        raise InvalidParameterError(
            owner, "plan_path", "a local or mounted path in Connect", str(folder), hint=hint
        )
    return folder


class LiveFile:
    """Keep lines of text where the tasks of a query, and its next run, can read them.

    Parameters
    ----------
    folder
        A folder of the query's own, which the driver and all executors see under one path, or one
        in a store. It is made if need be.
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

    def __init__(self, folder: AnyPath, kind: str, target: str) -> None:
        # Executors may run in another folder than the driver.
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        # A StorePath does what is asked of a Path here.
        paths = cast("list[Path]", [self.folder / f"{kind}-{letter}.txt" for letter in "ab"])
        self.pair = LivePair(paths, target)
        is_local = isinstance(self.folder, Path)
        self.for_tasks: LiveLines = self.pair if is_local else SentLines()
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
        return self._newest(spark, lambda line: sf.from_json(line, kind))

    def sent(self, spark: SparkSession) -> Sent | None:
        """Return the lines in force as they travel with the rows; None where tasks read the files.

        What `for_tasks` then reads is what its `take` was given.
        """
        if not isinstance(self.for_tasks, SentLines):
            return None
        return Sent(self._newest(spark, lambda lines: lines), self.for_tasks)

    def _newest(self, spark: SparkSession, made: Callable[[Column], Column]) -> Column:
        """Return what ``made`` makes of the lines in force, as a scalar subquery."""
        # A file that is gone, or a store that fails, must not stop the query.
        files = spark.read.format("binaryFile").options(
            ignoreMissingFiles=True, ignoreCorruptFiles=True
        )
        # One task for both: what is left to do is less than to start a second one, and a shuffle.
        content = files.load([path.as_uri() for path in self.pair.paths]).coalesce(1)
        lines = content.select(sf.split(sf.col("content").cast("string"), "\n", 4).alias("lines"))
        mark, revision, target, line = (sf.get("lines", sf.lit(at)) for at in range(4))
        text = sf.concat_ws("\n", revision, target, line)
        fitting = lines.where((sf.sha2(text, 256) == mark) & (target == sf.lit(self.pair.target)))
        newest = fitting.orderBy(revision.desc()).limit(1)
        return newest.select(made(line)).scalar()

    def belongs_to(self, owner: str, other: str) -> InvalidParameterError:
        """Return the error for a folder that belongs to another query."""
        expected = f"the folder of a query with {self.pair.target}"
        hint = "each query needs a folder of its own; in another one it starts from nothing"
        return InvalidParameterError(owner, "plan_path", expected, other, hint=hint)

    def _write(self, lines: Sequence[str]) -> None:
        revision = self._revision + 1
        path = self.pair.paths[revision % 2]
        write_whole(path, as_text(Written(revision, [self.pair.target, *lines])))
        self._revision = revision
        self._marks[path] = _mark(path)


def _mark(path: AnyPath) -> tuple[int, int]:
    """Return what changes when anyone else writes a file; cheap enough for every micro-batch."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
