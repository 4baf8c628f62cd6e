"""Put a page where the user wants it: all of it, or nothing."""

import os
import tempfile
from pathlib import Path

from unskew.errors import InvalidParameterError, UnskewError
from unskew.reports._plotly import require_plotly


def check_report(path: Path) -> None:
    """Raise unless a report can be drawn and written to ``path``; to be asked before a long run."""
    require_plotly()
    try:
        if path.is_dir():
            raise _refused("a file, not a directory", path)
        if path.exists() and not path.is_file():
            raise _refused("a regular file", path)
        if not path.resolve().parent.is_dir():
            raise _refused("in a directory that exists", path)
        # Asking for permissions is not enough: a disk may be mounted for reading only.
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise _refused("a file that may be written", path)
    except OSError as error:
        expected = f"a path that can be written ({error.strerror})"
        raise _refused(expected, path) from None


def write_page(path: Path, page: str) -> None:
    """Write ``page`` so that ``path`` has all of it or stays as it was."""
    target = path.resolve()
    part = target.with_name(f".unskew-{os.getpid()}.part")
    try:
        part.write_text(page, encoding="utf-8", errors="backslashreplace")
        part.replace(target)
    except OSError as error:
        raise UnskewError(f"report: could not write {path}: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


def _refused(expected: str, path: Path) -> InvalidParameterError:
    return InvalidParameterError("report", "path", expected, str(path))
