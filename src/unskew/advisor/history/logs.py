"""Find Spark event logs, open them whatever compressed them, and read their events.

A log is one file or a rolling folder. Events that do not matter are skipped unread, and what could
not be read is noted.
"""

import io
import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from unskew.errors import EventLogError

_ROLLING = "eventlog_v2_"
_STATUS = "appstatus_"
_IN_PROGRESS = ".inprogress"
_PART = re.compile(r"events_(\d+)_.*")
_COMPACT = ".compact"
_LZ4_BLOCK = b"LZ4Block"
_SNAPPY = b"\x82SNAPPY\x00"
_LZF = b"ZV"
# What pyarrow reads as a stream, by first bytes.
_STREAMS = {b"\x28\xb5\x2f\xfd": "zstd", b"\x1f\x8b": "gzip", b"\x04\x22\x4d\x18": "lz4"}
_LONGEST_MAGIC = 8
# Where a compressed log is cut off, what does not fill one more buffer is lost.
_BUFFER = 1 << 14
_LARGEST_BLOCK = 1 << 26  # Spark's blocks are of 32 KiB; a damaged length must not take all memory
LogEvent = dict[str, Any]

_NAME = re.compile(rb'\s*\{\s*"Event"\s*:\s*"(?:[\w$]+\.)*([\w$]+)"')
# A line holds one event. The largest are plans, of some megabytes; a file whose lines are longer
# than this is not read into memory to find out that it is something else.
_LONGEST_LINE = 64 << 20
# Logs are packed to a twentieth or so. A file that unpacks to much more was made to fill memory.
_MOST_UNPACKED, _MOST_TIMES_UNPACKED = 64 << 20, 300


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


def open_log(path: Path) -> BinaryIO:
    """Return the plain bytes of a log as a file that reads lines.

    Raises
    ------
    EventLogError
        If the codec is one that Python cannot read; the message names it.
    """
    file = path.open("rb")
    start = file.read(_LONGEST_MAGIC)
    file.seek(0)
    for magic, codec in _STREAMS.items():
        if start.startswith(magic):
            file.close()
            opened = pa.CompressedInputStream(pa.OSFile(str(path)), codec)
            return io.BufferedReader(opened, _BUFFER)
    for magic, blocks in ((_LZ4_BLOCK, _lz4_blocks), (_SNAPPY, _snappy_blocks)):
        if start.startswith(magic):
            return io.BufferedReader(_Blocks(file, blocks), _BUFFER)
    if start.startswith(_LZF):
        file.close()
        raise EventLogError(
            f"{path}: compressed with lzf, which Python has no reader for. Hint: set "
            "spark.eventLog.compression.codec to zstd (the default), lz4 or snappy"
        )
    return file


class _Blocks(io.RawIOBase):
    """A file made of blocks that are compressed one by one."""

    def __init__(
        self, file: BinaryIO, blocks: Callable[[BinaryIO], Iterator[bytes | pa.Buffer]]
    ) -> None:
        self._file = file
        self._blocks = blocks(file)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: "memoryview | bytearray") -> int:  # type: ignore[override] # the base takes any buffer
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = memoryview(block).cast("B")
        taken = self._left[: len(target)]
        target[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        return len(taken)

    def close(self) -> None:
        self._file.close()
        super().close()


def _lz4_blocks(file: BinaryIO) -> Iterator[bytes | pa.Buffer]:
    """Decode the format of lz4-java's ``LZ4BlockOutputStream``."""
    codec = pa.Codec("lz4_raw")
    while header := file.read(21):
        if len(header) < 21:
            raise EOFError("cut off in the head of a block")
        magic, token, packed, plain, _ = struct.unpack("<8sBiiI", header)
        if magic != _LZ4_BLOCK:
            raise OSError("not an lz4 block")
        data = _exactly(file, packed)
        stored = token & 0xF0 == 0x10
        if plain:
            yield data if stored else codec.decompress(data, _checked(plain))


def _snappy_blocks(file: BinaryIO) -> Iterator[bytes | pa.Buffer]:
    """Decode the format of snappy-java's ``SnappyOutputStream``."""
    codec = pa.Codec("snappy")
    file.read(16)  # magic and versions
    while length := file.read(4):
        if len(length) < 4:
            raise EOFError("cut off in the head of a block")
        data = _exactly(file, struct.unpack(">i", length)[0])
        yield codec.decompress(data, _checked(_plain_length(data)))


def _plain_length(block: bytes) -> int:
    """Return the length that stands before a block of snappy, in groups of seven bits.

    >>> _plain_length(bytes([0x80 | 0x39, 0x02]))
    313
    """
    length = 0
    for place, byte in enumerate(block[:5]):
        length |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return length
    raise OSError("not a snappy block")


def _exactly(file: BinaryIO, size: int) -> bytes:
    data = file.read(_checked(size))
    if len(data) < size:
        raise EOFError("cut off in a block")
    return data


def _checked(size: int) -> int:
    if not 0 <= size <= _LARGEST_BLOCK:
        raise OSError("damaged length of a block")
    return size


def _room_left(room: int, taken: int) -> int:
    if taken > room:
        raise OSError(f"unpacks to more than {_MOST_TIMES_UNPACKED:,} times its size")
    return room - taken


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

    def __iter__(self) -> Iterator[tuple[str, LogEvent]]:
        for path in self._log.parts:
            with open_log(path) as file:
                yield from self._of_file(path, file)
        if not self._events:
            raise EventLogError(f"{self._log.path}: no Spark event log (not one event in it)")

    def _of_file(self, path: Path, file: BinaryIO) -> Iterator[tuple[str, LogEvent]]:
        room = _MOST_UNPACKED + _MOST_TIMES_UNPACKED * path.stat().st_size
        try:
            while line := file.readline(_LONGEST_LINE):
                room = _room_left(room, len(line))
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

    def _of_line(self, line: bytes) -> Iterator[tuple[str, LogEvent]]:
        named = _NAME.match(line)
        whole = line.endswith(b"\n")
        if named is None or (name := named[1].decode()) not in self._wanted:
            self._events += named is not None
            self._note(whole, bad=named is None and bool(line.strip()))
            return
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
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
