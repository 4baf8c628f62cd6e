"""Read the record of a run, once or while it grows."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from unskew.errors import UnskewError
from unskew.events.batch_event import SCHEMA, BatchEvent, event_from
from unskew.events.writing import EVENTS_FILE, OLDER_EVENTS_FILE

MOST_LINE_BYTES = 16 << 20
_MOST_BYTES_A_POLL = 8 << 20
_BEGINS_WITH_SCHEMA = re.compile(rb'\s*\{\s*"schema"\s*:\s*(\d{1,9})\b')


class RunRecordError(UnskewError):
    """A folder that holds no record of a run, or one that this release cannot read."""


def read_events(folder: str | Path) -> list[BatchEvent]:
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
        damaged = f", {tail.skipped} damaged lines" if tail.skipped else ""
        raise RunRecordError(
            f"{folder}: no micro-batch is on record there (0 whole events{damaged}). "
            "Hint: let the run finish one, or give another folder."
        )
    return events


def iter_polls(tail: "EventTail") -> Iterator[BatchEvent]:
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
    if not (path / EVENTS_FILE).is_file() and not (path / OLDER_EVENTS_FILE).is_file():
        raise RunRecordError(
            f"{folder}: it has no {EVENTS_FILE}. Hint: give the run directory of `unskew run`."
        )


class EventTail:
    """Follow a record that grows.

    Parameters
    ----------
    folder
        The run directory. It, and the file in it, may come later.

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

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.skipped = 0
        self.at_end = False
        self._files = [self.folder / OLDER_EVENTS_FILE, self.folder / EVENTS_FILE]
        self._reading: int | None = None
        self._offset = 0
        self._cut = b""
        self._in_long_line = False

    def poll(self) -> list[BatchEvent]:
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
        file_is_done = len(chunk) < _MOST_BYTES_A_POLL
        if file_is_done and follower is not None:
            chunk += b"\n" if self._cut or chunk else b""  # a cut line is never completed
            self._reading, self._offset = follower, 0
        self.at_end = file_is_done and follower is None
        return [event for line in self._lines(chunk) if (event := self._event(line)) is not None]

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
            return file.read(_MOST_BYTES_A_POLL)

    def _lines(self, chunk: bytes) -> list[bytes]:
        *lines, self._cut = (self._cut + chunk).split(b"\n")
        if self._in_long_line and lines:
            del lines[0]
            self._in_long_line = False
        if len(self._cut) > MOST_LINE_BYTES or self._in_long_line:
            self.skipped += not self._in_long_line
            self._in_long_line, self._cut = True, b""
        return [line for line in lines if line.strip()]

    def _event(self, line: bytes) -> BatchEvent | None:
        begin = _BEGINS_WITH_SCHEMA.match(line)
        if begin and int(begin[1]) > SCHEMA and _is_whole(line):
            raise RunRecordError(
                f"{self.folder / EVENTS_FILE}: its events are of schema {int(begin[1])}, this "
                f"release reads up to {SCHEMA}. Hint: pip install --upgrade unskew"
            )
        try:
            return event_from(line)
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
