"""Read the newer of two files that are written in turn, if it is whole.

Runs inside Spark's Python workers, too: imports nothing of ours.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Written(NamedTuple):
    """What a whole file holds."""

    revision: int
    lines: list[str]


def as_text(written: Written) -> str:
    """Return the text of a file: its hash, its revision, its lines, none of which may break."""
    # All digits, so that the order of the text is that of the numbers, for readers that sort text.
    text = "\n".join([f"{written.revision:019d}", *written.lines])
    return f"{_hash(text)}\n{text}"


def newest_whole(paths: Sequence[Path]) -> Written | None:
    """Return what the newer of the whole files holds; None if there is none."""
    return max(filter(None, map(read_whole, paths)), default=None)


def read_whole(path: Path) -> Written | None:
    """Return what a file holds, None if it is damaged or not there."""
    try:
        expected, text = path.read_text(encoding="utf-8").split("\n", 1)
        revision, *lines = text.split("\n")
        return Written(int(revision), lines) if _hash(text) == expected else None
    except (OSError, ValueError):
        return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
