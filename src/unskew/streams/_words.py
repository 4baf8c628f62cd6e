"""The words of a text file, a block at a time."""

import string
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from unskew.errors import StreamError
from unskew.streams._reading import as_stream_error

BLOCK = 1 << 20
"""Bytes that are read at once, and the longest word that is taken for one."""

_PUNCTUATION = string.punctuation + "“”„‘’‚«»‹›…–—¡¿"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_words(path: Path) -> Iterator[pa.Array]:
    """Read the words of a UTF-8 text, compressed or not, in bounded memory.

    A word is a run of characters without white space, in lower case, without the punctuation
    at its ends; what is nothing but punctuation is no word.

    Raises
    ------
    StreamError
        Where the text is not UTF-8, or a word is longer than any text has.
    """
    for text in _read_blocks(path):
        # Arrow's split sometimes leaves white space at the very end of a text in its last word.
        whole = pa.array([text.strip()], pa.string())
        words = pc.utf8_split_whitespace(pc.utf8_lower(whole)).flatten()
        bare = pc.utf8_trim(words, characters=_PUNCTUATION)
        yield bare.filter(pc.not_equal(bare, ""))


def _read_blocks(path: Path) -> Iterator[str]:
    """Read a text in pieces that end where a word ends."""
    with as_stream_error(path, "text"), pa.input_stream(str(path)) as source:
        piece = source.read(BLOCK)
        offset = len(_BYTE_ORDER_MARK) if piece.startswith(_BYTE_ORDER_MARK) else 0
        piece = piece[offset:]
        while following := source.read(BLOCK):
            end = 1 + max(piece.rfind(space) for space in (b" ", b"\n", b"\t", b"\r"))
            if len(piece) - end > BLOCK:
                raise StreamError(
                    f"{path}: a word of more than {BLOCK} bytes at byte {offset + end}. "
                    "Hint: is this a text file?"
                )
            yield _decoded(path, piece[:end], offset)
            offset += end
            piece = piece[end:] + following
        yield _decoded(path, piece, offset)


def _decoded(path: Path, piece: bytes, offset: int) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError as error:
        raise StreamError(
            f"{path}: not UTF-8 text: {error.reason} at byte {offset + error.start}. "
            "Hint: convert it, or name a Parquet file .parquet and a CSV file .csv"
        ) from None
