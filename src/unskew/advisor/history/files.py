"""Find the event logs in a path: one file, a rolling folder, or the folder of many."""

import re
from pathlib import Path
from typing import NamedTuple

from unskew.errors import EventLogError

_ROLLING = "eventlog_v2_"
_STATUS = "appstatus_"
_IN_PROGRESS = ".inprogress"
_PART = re.compile(r"events_(\d+)_.*")
_COMPACT = ".compact"


class EventLog(NamedTuple):
    """The log of one application: its files in the order of time."""

    path: Path
    parts: tuple[Path, ...]
    in_progress: bool


def find_logs(path: Path) -> list[EventLog]:
    """Return the logs of the applications in ``path``, by name.

    Raises
    ------
    EventLogError
        If there is nothing at ``path``, or a folder without logs.
    """
    if path.is_file():
        return [_single(path)]
    if not path.is_dir():
        raise EventLogError(
            f"{path}: no such file or folder. Hint: give what spark.eventLog.dir names, "
            "or a file in it"
        )
    if _parts(path):
        return [_rolling(path)]
    entries = sorted(each for each in path.iterdir() if not each.name.startswith((".", "_")))
    rolling = [_rolling(each) for each in entries if each.is_dir() and _is_rolling(each)]
    single = [_single(each) for each in entries if each.is_file() and each.stat().st_size]
    if not rolling and not single:
        raise EventLogError(
            f"{path}: a folder without event logs. Hint: Spark writes them with "
            "spark.eventLog.enabled=true and spark.eventLog.dir"
        )
    return sorted([*rolling, *single], key=lambda log: log.path.name)


def _single(path: Path) -> EventLog:
    return EventLog(path, (path,), path.name.endswith(_IN_PROGRESS))


def _rolling(path: Path) -> EventLog:
    running = any(
        each.name.startswith(_STATUS) and each.name.endswith(_IN_PROGRESS)
        for each in path.iterdir()
    )
    return EventLog(path, _parts(path), running)


def _is_rolling(path: Path) -> bool:
    return path.name.startswith(_ROLLING) and bool(_parts(path))


def _parts(path: Path) -> tuple[Path, ...]:
    """Return the parts of a rolling log in order; a compacted one stands for all before it."""
    numbered = [
        (int(found[1]), each)
        for each in path.iterdir()
        if (found := _PART.fullmatch(each.name)) and each.is_file()
    ]
    compacted = [number for number, each in numbered if each.name.endswith(_COMPACT)]
    first = max(compacted, default=-1)
    kept = [
        (number, each)
        for number, each in numbered
        if number > first or (number == first and each.name.endswith(_COMPACT))
    ]
    return tuple(each for _, each in sorted(kept))
