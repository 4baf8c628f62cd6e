"""Failures of a reader, told in the words of the stream that was read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from unskew.errors import StreamError


@contextmanager
def as_stream_error(path: Path, kind: str) -> Iterator[None]:
    """Turn every failure to read ``path`` into one `StreamError` that names it.

    >>> with as_stream_error(Path("a.csv"), "CSV"):
    ...     raise pa.ArrowInvalid("row 2 has 3 columns")
    Traceback (most recent call last):
    unskew.errors.StreamError: a.csv: not readable as CSV: row 2 has 3 columns
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise StreamError(f"{path}: not readable as {kind}: {reason}") from error
