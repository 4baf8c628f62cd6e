"""Two small files, written in turn, so that whoever reads them always finds a whole one."""

from collections.abc import Sequence
from pathlib import Path

from unskew.spark._whole_files import Written, as_text, newest_whole, read_whole
from unskew.spark.saved_plans import write_atomically

_UNLIKE_ANY = (-1, -1)


class FilePair:
    """Write lines of text to one file and then to the other.

    A file holds the hash of its own content and a revision, so a reader (`newest_whole`) takes the
    newer of those that are whole. What is damaged is therefore not used, and the next best is
    what was written before.

    Parameters
    ----------
    paths
        The two files, in a folder that exists.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> paths = [Path(folder.name, name) for name in ("a.txt", "b.txt")]
    >>> pair = FilePair(paths)
    >>> for line in ("first", "second"):
    ...     pair.write([line])
    >>> newest_whole(paths).lines
    ['second']
    >>> next(path for path in paths if "second" in path.read_text()).write_text("garbage")
    7
    >>> newest_whole(paths).lines, len(pair.damaged())
    (['first'], 1)
    >>> folder.cleanup()
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        whole = newest_whole(paths)
        self._revision = 0 if whole is None else whole.revision
        self._marks = {
            path: _UNLIKE_ANY for path in paths if path.exists() and read_whole(path) is None
        }

    def write(self, lines: Sequence[str]) -> None:
        """Write ``lines``, none of which may break; what was there before stays beside it.

        If the one before is damaged or not there, both files are written.
        """
        self._write(lines)
        if self.damaged() or not all(path.exists() for path in self._paths):
            self._write(lines)

    def damaged(self) -> list[str]:
        """Return the names of the files that are not, or no longer, as they were written."""
        known = [path for path in self._paths if path in self._marks]
        return [path.name for path in known if _mark(path) != self._marks[path]]

    def _write(self, lines: Sequence[str]) -> None:
        self._revision += 1
        path = self._paths[self._revision % 2]
        write_atomically(path, as_text(Written(self._revision, list(lines))))
        self._marks[path] = _mark(path)


def _mark(path: Path) -> tuple[int, int]:
    """Return what changes when anyone else writes a file; cheap enough for every micro-batch."""
    try:
        status = path.stat()
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)
