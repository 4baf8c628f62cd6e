"""Write files: whole or not at all, with the user's mode, and never through a link put there."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new, never a part of either.

    Its mode is the one that the user's umask gives to new files.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_atomically(Path(folder) / "plan.json", "{}")
    ...     [path.name for path in Path(folder).iterdir()]
    ['plan.json']
    """
    # A name that nobody can guess, and only if nothing is there: no link is followed.
    part = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(_opened(part, os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def append_line(path: Path, line: bytes) -> int:
    r"""Add a line to a file, in one write, and return how long the file was before.

    So whoever follows the file sees whole lines, also of several writers. Was the last line cut by
    a crash, the new one begins after it. A link at ``path`` is refused with an `OSError`.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "record.jsonl"
    ...     path.write_bytes(b'{"cut":'), append_line(path, b"{}"), path.read_bytes()
    (7, 7, b'{"cut":\n{}\n')
    """
    descriptor = _opened(path, os.O_RDWR | os.O_APPEND)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        begin = b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b""
        os.write(descriptor, begin + line + b"\n")
    finally:
        os.close(descriptor)
    return size


def _opened(path: Path, flags: int) -> int:
    # Windows has no such links to fear, nor the flag.
    return os.open(path, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
