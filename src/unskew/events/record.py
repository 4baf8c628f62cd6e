"""Append epochs to a record on disk, and read it, once or while it grows.

A folder has two records at most: ``events.jsonl``, which a run writes for people and dashboards,
and ``epochs.jsonl``, which the planning loop of a stream writes beside its plans. Both have the
same lines, and beyond a size their older half is kept as ``…-older.jsonl`` until it is replaced.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from unskew._files import append_line
from unskew._stores import AnyPath, StorePath, located
from unskew.errors import UnskewError
from unskew.events.epoch import SCHEMA, Epoch, epoch_from, line_of

MOST_LINE_BYTES = 16 << 20
_MOST_BYTES_PER_POLL = 8 << 20
# In a store a record is written anew with every line.
_MOST_BYTES_IN_STORE = 1 << 20
_BEGINS_WITH_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*(\d{1,9})\b')


class Record(NamedTuple):
    """The names of a record's files, and its size, beyond which the older half is let go."""

    file: str
    older_file: str
    most_bytes: int


RUN_RECORD = Record("events.jsonl", "events-older.jsonl", 128 << 20)
"""The epochs of a run, under all groupings that it compares."""
PLAN_RECORD = Record("epochs.jsonl", "epochs-older.jsonl", 16 << 20)
"""The epochs of a stream as its planning loop saw them, beside its plans."""
EVENTS_FILE = RUN_RECORD.file


def append_epoch(folder: str | AnyPath, epoch: Epoch, record: Record = RUN_RECORD) -> None:
    """Add an epoch to a record in ``folder``, which is made if it is not there.

    Whoever follows the record sees whole lines, also of several writers; in a store, where files
    are written whole, of one writer.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from unskew.events import read_events
    >>> epoch = Epoch(
    ...     grouping="key", query="counts", run="1", batch=0, started=0.0, seconds=1.5,
    ...     rows=4, loads=(3, 1), imbalance=50.0,
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     append_epoch(folder, epoch)
    ...     read_events(folder) == [epoch]
    True
    """
    if isinstance(folder, StorePath):
        _append_in_store(folder, line_of(epoch).encode(), record)
        return
    path = Path(folder) / record.file
    path.parent.mkdir(parents=True, exist_ok=True)
    if append_line(path, line_of(epoch).encode()) > record.most_bytes // 2:
        path.replace(path.with_name(record.older_file))


def _append_in_store(folder: StorePath, line: bytes, record: Record) -> None:
    path = folder / record.file
    try:
        before = path.read_bytes()
    except FileNotFoundError:
        before = b""
    if len(before) > _MOST_BYTES_IN_STORE // 2:
        (folder / record.older_file).write_bytes(before)
        before = b""
    path.write_bytes(before + line + b"\n")


class RunRecordError(UnskewError):
    """A folder that holds no record of a run, or one that this release cannot read."""


def read_events(folder: str | Path) -> list[Epoch]:
    """Return the events that are on record in ``folder``, oldest first.

    Raises
    ------
    RunRecordError
        If there is no such folder, no event in it, or one of a newer schema. A line that was cut
        off or damaged is left out.
    """
    check_record(folder)
    tail = EventTail(folder)
    events = list(iter_polls(tail))
    if not events:
        raise no_events(folder, tail.skipped)
    return events


def read_epochs(folder: str | AnyPath, record: Record = PLAN_RECORD) -> list[Epoch]:
    """Return the epochs of a record, oldest first; none where there is no record.

    A line that is being written, or was cut by a crash, is left out.

    Parameters
    ----------
    folder
        The stream's ``plan_path``, or the run directory.
    record
        Which of the folder's records.
    """
    place = located("read_epochs", "folder", folder)
    if isinstance(place, Path):
        return list(iter_polls(EventTail(place, record)))
    with TemporaryDirectory(prefix="unskew-record-") as copied:
        for name in (record.older_file, record.file):
            with suppress(FileNotFoundError):
                (Path(copied) / name).write_bytes((place / name).read_bytes())
        return list(iter_polls(EventTail(copied, record)))


def no_events(folder: str | Path, skipped: int) -> RunRecordError:
    """Return the error for a record without one whole event."""
    damaged = f", {skipped} damaged lines" if skipped else ""
    return RunRecordError(
        f"{folder}: no micro-batch is on record there (0 whole events{damaged}). "
        "Hint: let the run finish one, or give another folder."
    )


def iter_polls(tail: "EventTail") -> Iterator[Epoch]:
    """Yield what ``tail`` has until its file has no more, holding a bounded part at a time."""
    while True:
        events = tail.poll()
        yield from events
        if tail.at_end:
            return


def check_record(folder: str | Path) -> None:
    """Raise `RunRecordError` unless ``folder`` has a record."""
    path = Path(folder)
    if not path.is_dir():
        what = "it is a file" if path.exists() else "there is no such folder"
        raise RunRecordError(f"{folder}: {what}. Hint: give the run directory of `unskew run`.")
    if not (path / EVENTS_FILE).is_file() and not (path / RUN_RECORD.older_file).is_file():
        raise RunRecordError(
            f"{folder}: it has no {EVENTS_FILE}. Hint: give the run directory of `unskew run`."
        )


class EventTail:
    """Follow a record that grows.

    Parameters
    ----------
    folder
        The run directory. It, and the file in it, may come later.
    record
        Which of the folder's records.

    Attributes
    ----------
    skipped : int
        Lines that were no events: cut by a crash, damaged, or longer than 16 MiB.
    at_end : bool
        Whether the last `poll` read all there was.

    Examples
    --------
    >>> tail = EventTail("no-such-folder")
    >>> tail.poll(), tail.at_end
    ([], True)
    """

    def __init__(self, folder: str | Path, record: Record = RUN_RECORD) -> None:
        self.folder = Path(folder)
        self.record = record
        self.skipped = 0
        self.at_end = False
        self._files = [self.folder / record.older_file, self.folder / record.file]
        self._reading: int | None = None
        self._offset = 0
        self._cut = b""
        self._in_long_line = False

    def poll(self) -> list[Epoch]:
        """Return the events that came since the last call, at most 8 MiB of them.

        A line that is still being written is left for later.

        Raises
        ------
        RunRecordError
            If an event is of a newer schema than this release reads.
        """
        path, follower = self._file_to_read()
        chunk = self._read_chunk(path) if path is not None else b""
        self._offset += len(chunk)
        file_is_done = len(chunk) < _MOST_BYTES_PER_POLL
        if file_is_done and follower is not None:
            chunk += b"\n" if self._cut or chunk else b""  # a cut line is never completed
            self._reading, self._offset = follower, 0
        self.at_end = file_is_done and follower is None
        return [epoch for line in self._lines(chunk) if (epoch := self._epoch(line)) is not None]

    def _file_to_read(self) -> tuple[Path | None, int | None]:
        """Return the file to go on with, and the identity of the one after it, if there is one."""
        there = [(path, number) for path in self._files if (number := _identity(path)) is not None]
        if not there:
            return None, None
        numbers = [number for _, number in there]
        at = numbers.index(self._reading) if self._reading in numbers else 0
        if self._reading != numbers[at] or there[at][0].stat().st_size < self._offset:
            self._reading, self._offset, self._cut = numbers[at], 0, b""
        return there[at][0], numbers[at + 1] if at + 1 < len(numbers) else None

    def _read_chunk(self, path: Path) -> bytes:
        with path.open("rb") as file:
            file.seek(self._offset)
            return file.read(_MOST_BYTES_PER_POLL)

    def _lines(self, chunk: bytes) -> list[bytes]:
        *lines, self._cut = (self._cut + chunk).split(b"\n")
        if self._in_long_line and lines:
            del lines[0]
            self._in_long_line = False
        if len(self._cut) > MOST_LINE_BYTES or self._in_long_line:
            self.skipped += not self._in_long_line
            self._in_long_line, self._cut = True, b""
        return [line for line in lines if line.strip()]

    def _epoch(self, line: bytes) -> Epoch | None:
        begin = _BEGINS_WITH_SCHEMA.match(line)
        if begin and int(begin[1]) > SCHEMA and _is_whole(line):
            raise RunRecordError(
                f"{self.folder / self.record.file}: its events are of schema {int(begin[1])}, this "
                f"release reads up to {SCHEMA}. Hint: pip install --upgrade unskew"
            )
        try:
            return epoch_from(line)
        except ValueError:
            self.skipped += 1
            return None


def _identity(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
