"""Open an event log as plain bytes, whatever Spark compressed it with.

Spark's codecs are told by their first bytes, not by the file's name: a log that is still being
written is called ``.inprogress``, and people rename files.
"""

import io
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from unskew.errors import EventLogError

_LZ4_BLOCK = b"LZ4Block"
_SNAPPY = b"\x82SNAPPY\x00"
_LZF = b"ZV"
# What pyarrow reads as a stream, by first bytes.
_STREAMS = {b"\x28\xb5\x2f\xfd": "zstd", b"\x1f\x8b": "gzip", b"\x04\x22\x4d\x18": "lz4"}
_LONGEST_MAGIC = 8
# Where a compressed log is cut off, what does not fill one more buffer is lost.
_BUFFER = 1 << 14
_LARGEST_BLOCK = 1 << 26  # Spark's blocks are of 32 KiB; a damaged length must not take all memory


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
