"""Recorded streams: the keys of Parquet, CSV and text files, read in bounded memory."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError, StreamError
from unskew.streams._file_readers import (
    check_columns,
    file_kind,
    find_files,
    parquet_rows,
    read_columns,
)
from unskew.streams.base import Batch, Stream


def file(
    path: str | os.PathLike[str],
    key: str | Sequence[str] | None = None,
    cost: str | None = None,
    *,
    with_nulls: bool = False,
) -> "RecordedStream":
    """Read the keys, and costs if wanted, of a file or of all files in a directory.

    The name tells what a file is: ``.parquet`` or ``.pq``; ``.csv`` or ``.tsv`` with a header;
    anything else is text. CSV and text may be compressed (``.gz``, ``.bz2``, ``.zst`` …). Files
    of a directory come in the order of their names, those that start with ``_`` or ``.`` left out.

    Parquet keys are integers, text, bytes or points in time; CSV keys are text as it is written.
    The keys of a text are its words: runs of characters without white space, in lower case,
    without the punctuation at their ends.

    Parameters
    ----------
    path
        The file or directory. Columns and types are looked at now, rows as they are read.
    key
        The column of the keys, or several that make up the key together; may be left out where
        there is no other. A text has none.
    cost
        The column of the execution times in milliseconds.
    with_nulls
        Whether null keys are handed on, to be counted. No grouping takes them. Of a key of several
        columns each may be null.

    Raises
    ------
    StreamError
        Where there is nothing to read, or not what is asked for: now if a look at the file
        tells, else when reading comes to the row. The message names the file and the row.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "text.txt"
    ...     _ = path.write_text("To be, or not to be: that is the question.")
    ...     print(next(file(path).batches(4)).keys.to_pylist())
    ['to', 'be', 'or', 'not']
    """
    named = (key,) if isinstance(key, str) else tuple(key or ())
    if len(set(named)) < len(named):
        raise InvalidParameterError("file", "key", "distinct column names", list(named))
    if cost is not None and cost in named:
        raise InvalidParameterError("file", "cost", "another column than that of the keys", cost)
    files = find_files(Path(path).expanduser())
    keys = check_columns(files, named, cost)
    counted = all(file_kind(each) == "parquet" for each in files)
    rows = sum(parquet_rows(each) for each in files) if counted else None
    stream = RecordedStream(os.fspath(path), keys, cost, rows, with_nulls=with_nulls)
    next(stream.batches())
    return stream


@dataclass(frozen=True, eq=False)
class RecordedStream(Stream):
    """What `file` returns."""

    name: ClassVar[str] = "file"
    path: str
    keys: tuple[str, ...]
    cost: str | None
    rows: int | None
    seed: int = 0
    with_nulls: bool = False

    @property
    def spec(self) -> str:
        """The text that `parse_stream` makes the same stream of."""
        columns = {"key": self.keys, "cost": (self.cost,) if self.cost else ()}
        options = [
            f"{word}={','.join(quote(name, safe='') for name in names)}"
            for word, names in columns.items()
            if names
        ]
        # A path with a question mark is closed by another, so that its own is not taken for it.
        mark = "?" if options or "?" in self.path else ""
        return f"{self.name}:{self.path}{mark}{'&'.join(options)}"

    @property
    def has_costs(self) -> bool:
        """Whether every row has a cost."""
        return self.cost is not None

    def _batches(self, size: int) -> Iterator[Batch]:
        nothing = True
        for path in find_files(Path(self.path).expanduser()):
            row = 0
            for keys, costs in read_columns(path, self.keys, self.cost, size):
                if not self.with_nulls:
                    self._refuse_null(path, row, keys)
                checked = None if costs is None else self._checked_costs(path, row, costs)
                for first in range(0, len(keys), size):
                    rows = slice(first, first + size)
                    yield Batch(keys[rows], None if checked is None else checked[rows])
                    nothing = False
                row += len(keys)
        if nothing:
            raise StreamError(f"{self.path}: there are no rows.")

    def _refuse_null(self, path: Path, row: int, keys: pa.Array) -> None:
        if keys.null_count:
            row += int(np.argmax(keys.is_null().to_numpy(zero_copy_only=False)))
            raise StreamError(
                f"{path}: column {self.keys[0]!r} has a null key in row {row}, counted from 0. "
                "Hint: give rows without a key one of their own, or leave them out"
            )

    def _checked_costs(self, path: Path, row: int, costs: pa.Array) -> NDArray[np.float64]:
        floats = costs.cast(pa.float64(), safe=False)  # whole numbers above 2⁵³ are rounded
        numbers: NDArray[np.float64] = floats.to_numpy(zero_copy_only=False)
        good = np.isfinite(numbers) & (numbers >= 0)
        if good.all():
            return numbers
        first = int(np.argmin(good))
        raise StreamError(
            f"{path}: column {self.cost!r} must hold finite numbers >= 0, "
            f"got {costs[first].as_py()!r} in row {row + first}, counted from 0."
        )
