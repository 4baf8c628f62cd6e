"""The events of a log one by one: those that matter, with what could not be read noted."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from unskew.advisor.history.codecs import open_log
from unskew.advisor.history.files import EventLog
from unskew.errors import EventLogError

Event = dict[str, Any]

_NAME = re.compile(rb'\s*\{\s*"Event"\s*:\s*"(?:[\w$]+\.)*([\w$]+)"')
# A line holds one event. The largest are plans, of some megabytes; a file whose lines are longer
# than this is not read into memory to find out that it is something else.
_LONGEST_LINE = 256 << 20


class EventReader:
    """Read events of wanted kinds; afterwards tell what was amiss.

    Parameters
    ----------
    log
        The files of one application.
    wanted
        Names of events without their package. Lines of others are not even parsed.
    """

    def __init__(self, log: EventLog, wanted: frozenset[str]) -> None:
        self._log = log
        self._wanted = wanted
        self._events = 0
        self.unreadable_lines = 0
        self.cut_off = False

    def __iter__(self) -> Iterator[tuple[str, Event]]:
        for path in self._log.parts:
            with open_log(path) as file:
                yield from self._of_file(path, file)
        if not self._events:
            raise EventLogError(f"{self._log.path}: no Spark event log (not one event in it)")

    def _of_file(self, path: Path, file: BinaryIO) -> Iterator[tuple[str, Event]]:
        try:
            while line := file.readline(_LONGEST_LINE):
                if not self._events and not _NAME.match(line):
                    raise EventLogError(
                        f"{path}: no Spark event log (its first line is no event). Hint: event "
                        "logs are the files that Spark writes to spark.eventLog.dir"
                    )
                yield from self._of_line(line)
        except (EOFError, OSError) as error:
            # A log of a driver that died, or that still runs, ends within a compressed block.
            if not self._events:
                raise EventLogError(f"{path}: cannot be read: {error}") from error
            self.cut_off = True

    def _of_line(self, line: bytes) -> Iterator[tuple[str, Event]]:
        named = _NAME.match(line)
        whole = line.endswith(b"\n")
        if named is None or (name := named[1].decode()) not in self._wanted:
            self._events += named is not None
            self._note(whole, bad=named is None and bool(line.strip()))
            return
        try:
            event = json.loads(line)
        except ValueError:
            self._note(whole, bad=True)
            return
        self._events += 1
        yield name, event

    def _note(self, whole: bool, *, bad: bool) -> None:
        if not bad:
            return
        if whole:
            self.unreadable_lines += 1
        else:
            self.cut_off = True
