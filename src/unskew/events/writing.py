"""Add to the record of a run so that others can follow it while it grows."""

import os
from pathlib import Path

from unskew.events.batch_event import BatchEvent, line_of

EVENTS_FILE, OLDER_EVENTS_FILE = "events.jsonl", "events-older.jsonl"
MOST_BYTES = 128 << 20
"""Beyond this the older half of a record is let go, so that a stream may run for years."""


def append_event(folder: str | Path, event: BatchEvent) -> None:
    """Add an event to the record in ``folder``, which is made if it is not there.

    The line goes out in one write to the end of the file, so that whoever follows the file sees
    whole lines, also of several writers. Was the last line cut by a crash, the new one begins
    after it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from unskew.events import read_events
    >>> event = BatchEvent(
    ...     grouping="key", query="counts", run="1", batch=0, started=0.0, seconds=1.5,
    ...     rows=4, loads=(3, 1), imbalance=50.0,
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     append_event(folder, event)
    ...     read_events(folder) == [event]
    True
    """
    path = Path(folder) / EVENTS_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    line = line_of(event).encode() + b"\n"
    with path.open("ab+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        if size and not _ends_with_a_whole_line(file.fileno(), size):
            line = b"\n" + line
        file.write(line)
    if size > MOST_BYTES // 2:
        path.replace(path.with_name(OLDER_EVENTS_FILE))


def _ends_with_a_whole_line(descriptor: int, size: int) -> bool:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) == b"\n"
