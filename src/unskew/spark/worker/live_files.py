"""What a task finds of a live file: the newer of two, if it is whole, or what comes with its rows.

Imports nothing of ours.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Written(NamedTuple):
    """The content of a whole file."""

    revision: int
    lines: list[str]


class LiveLines(Protocol):
    """Where a task finds the lines in force; it travels to the task, so it must pickle."""

    def read(self) -> list[str] | None:
        """Return them, None if none are known."""


class SentLines:
    r"""Lines that the first row of a partition has with it, where tasks cannot read the files.

    Examples
    --------
    >>> sent = SentLines()
    >>> sent.take("first\nsecond")
    >>> sent.read()
    ['first', 'second']
    """

    def __init__(self) -> None:
        self._text: str | None = None

    def take(self, text: Any) -> None:
        """Take note of what the first row has; None where no file was whole."""
        self._text = text

    def read(self) -> list[str] | None:
        """Return the lines."""
        return None if self._text is None else self._text.split("\n")


class LivePair(NamedTuple):
    """Where the tasks of a query find what its driver has written."""

    paths: Sequence[Path]
    """In a folder that the driver and all executors see under one path."""
    target: str
    """Whom a file is for: its first line."""

    def read(self) -> list[str] | None:
        """Return the other lines of the newer whole file; None if it is not for this query."""
        whole = newest_whole(self.paths)
        if whole is None or whole.lines[0] != self.target:
            return None
        return whole.lines[1:]


def as_text(written: Written) -> str:
    """Return the text of a file: its hash, its revision, its lines, none of which may break."""
    # All digits, so that the order of the text is that of the numbers, for readers that sort text.
    text = "\n".join([f"{written.revision:019d}", *written.lines])
    return f"{_hash(text)}\n{text}"


def newest_whole(paths: Sequence[Path]) -> Written | None:
    """Return the content of the newer of the whole files; None if there is none."""
    return max(filter(None, map(read_whole, paths)), default=None)


def read_whole(path: Path) -> Written | None:
    """Return the content of a file, None if it is damaged or not there."""
    try:
        expected, text = path.read_text(encoding="utf-8").split("\n", 1)
        revision, *lines = text.split("\n")
        return Written(int(revision), lines) if _hash(text) == expected else None
    except (OSError, ValueError):
        return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
