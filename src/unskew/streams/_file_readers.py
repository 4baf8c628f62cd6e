"""Read keys and costs of Parquet, CSV and text files, in bounded memory."""

import string
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from unskew.errors import InvalidKeyError, StreamError
from unskew.hashing import identities

BLOCK_BYTES = 1 << 20
"""Bytes that are read at once; of a CSV file, which Arrow reads ahead, up to some 35 are held."""

Columns: TypeAlias = list[tuple[str, pa.DataType]]
"""Names and types."""
WORD_BLOCK_BYTES = 1 << 20
"""Bytes that are read at once, and the longest word that is taken for one."""

_PUNCTUATION = string.punctuation + "“”„‘’‚«»‹›…–—¡¿"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4", ".br"}
_KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv"}


@contextmanager
def as_stream_error(path: Path, kind: str) -> Iterator[None]:
    """Turn every failure to read ``path`` into one `StreamError` that names it.

    >>> with as_stream_error(Path("a.csv"), "CSV"):
    ...     raise pa.ArrowInvalid("row 2 has 3 columns")
    Traceback (most recent call last):
    unskew.errors.StreamError: a.csv: not readable as CSV: row 2 has 3 columns
    """
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise StreamError(f"{path}: not readable as {kind}: {reason}") from error


def parquet_columns(path: Path) -> Columns:
    """Return names and types of the columns."""
    with as_stream_error(path, "Parquet"), pa.parquet.ParquetFile(path) as source:
        return [(field.name, field.type) for field in source.schema_arrow]


def parquet_rows(path: Path) -> int:
    """Return the number of rows."""
    with as_stream_error(path, "Parquet"), pa.parquet.ParquetFile(path) as source:
        return int(source.metadata.num_rows)


def read_parquet(path: Path, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
    """Read the columns, holding no more of the file than a batch and a few pages."""
    # Buffering ahead, the default, holds up to the whole file; without a buffer, a whole row group.
    options = {"pre_buffer": False, "buffer_size": BLOCK_BYTES}
    with as_stream_error(path, "Parquet"), pa.parquet.ParquetFile(path, **options) as source:
        batches = source.iter_batches(size, columns=columns, use_threads=False)
        yield from (batch.select(columns) for batch in batches)


def csv_columns(path: Path) -> Columns:
    """Return the names of the columns; whatever they look like, keys are read as text."""
    with as_stream_error(path, "CSV"), _open_csv(path, pa.csv.ConvertOptions()) as source:
        return [(field.name, pa.string()) for field in source.schema]


def read_csv(path: Path, keys: Sequence[str], cost: list[str]) -> Iterator[pa.RecordBatch]:
    """Read the key columns as text, and the cost column, if there is one, as numbers.

    Keys are taken as they are written: ``7`` and ``007`` are two keys, and a type that is guessed
    from the first rows could not fail later. An empty field without quotes is null.
    """
    options = pa.csv.ConvertOptions(
        include_columns=[*keys, *cost],
        column_types={**dict.fromkeys(keys, pa.string()), **dict.fromkeys(cost, pa.float64())},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with as_stream_error(path, "CSV"), _open_csv(path, options) as source:
        yield from source


def _open_csv(path: Path, options: pa.csv.ConvertOptions) -> pa.csv.CSVStreamingReader:
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    return pa.csv.open_csv(
        path,
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=options,
    )


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
        piece = source.read(WORD_BLOCK_BYTES)
        offset = len(_BYTE_ORDER_MARK) if piece.startswith(_BYTE_ORDER_MARK) else 0
        piece = piece[offset:]
        while following := source.read(WORD_BLOCK_BYTES):
            end = 1 + max(piece.rfind(space) for space in (b" ", b"\n", b"\t", b"\r"))
            if len(piece) - end > WORD_BLOCK_BYTES:
                raise StreamError(
                    f"{path}: a word of more than {WORD_BLOCK_BYTES} bytes at byte {offset + end}. "
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


def file_kind(path: Path) -> str:
    """Return "parquet", "csv" or "text", as the name tells.

    >>> [file_kind(Path(name)) for name in ("a.parquet", "a.csv.gz", "a.txt", "README")]
    ['parquet', 'csv', 'text', 'text']
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return _KINDS.get(suffixes[-1], "text") if suffixes else "text"


def find_files(path: Path) -> list[Path]:
    """Return the file, or those below the directory in the order of their names."""
    try:
        if path.is_file():
            files = [path]
        elif path.is_dir():
            files = sorted(
                each for each in path.rglob("*") if _is_data(each.relative_to(path), each)
            )
            if not files:
                raise StreamError(f"{path}: the directory has no files to read.")
        else:
            raise StreamError(f"{path}: there is no such file or directory.")
        kept = [each for each in files if each.stat().st_size]
    except OSError as error:
        raise StreamError(f"{path}: {error.strerror}.") from error
    if not kept:
        raise StreamError(f"{path}: {'the file is' if path.is_file() else 'all files are'} empty.")
    kinds = {file_kind(each) for each in kept}
    if len(kinds) > 1:
        raise StreamError(f"{path}: all files must be of one kind, got {', '.join(sorted(kinds))}.")
    return kept


def _is_data(inner: Path, path: Path) -> bool:
    return path.is_file() and not any(part.startswith(("_", ".")) for part in inner.parts)


def check_columns(files: list[Path], keys: Sequence[str], cost: str | None) -> tuple[str, ...]:
    """Return the columns of the keys, none for a text.

    Every file has them, and that of the costs, in a fit type. If none is named it is the only one.
    """
    if file_kind(files[0]) == "text":
        for column in (*keys, cost):
            if column is not None:
                hint = "Hint: name a Parquet file .parquet and a CSV file .csv"
                raise StreamError(f"{files[0]}: a text has no column {column!r}. {hint}")
        return ()
    kinds: dict[str, pa.DataType] = {}
    for path in files:
        parquet = file_kind(path) == "parquet"
        columns = parquet_columns(path) if parquet else csv_columns(path)
        keys = keys or (_only_column(path, columns, cost),)
        for key in keys:
            kind = _type_of_key(path, columns, key)
            first = kinds.setdefault(key, kind)
            if first != kind:
                raise StreamError(f"{path}: column {key!r} is {kind}, in {files[0]} it is {first}.")
        if cost is not None:
            _check_cost(path, columns, cost, typed=parquet)
    return tuple(keys)


def _only_column(path: Path, columns: Columns, cost: str | None) -> str:
    names = [name for name, _ in columns]
    left = [name for name in names if name != cost]
    if len(left) == 1:
        return left[0]
    raise StreamError(
        f"{path}: which column has the keys? present: {', '.join(names)}. "
        f"Hint: file:{path}?key=COLUMN"
    )


def _type_of(path: Path, columns: Columns, wanted: str) -> pa.DataType:
    found = [kind for name, kind in columns if name == wanted]
    if len(found) == 1:
        return found[0]
    several = "more than one" if found else "no"
    present = ", ".join(name for name, _ in columns)
    raise StreamError(f"{path}: {several} column {wanted!r}; present: {present}.")


def _type_of_key(path: Path, columns: Columns, key: str) -> pa.DataType:
    kind = _type_of(path, columns, key)
    try:
        identities(pa.array([], kind))
    except (InvalidKeyError, pa.ArrowException):
        good = False
    else:
        good = not pa.types.is_struct(kind)
    if not good:
        expected = "integers, text, bytes or points in time"
        raise StreamError(f"{path}: column {key!r} must hold {expected}, got {kind}.")
    return kind


def _check_cost(path: Path, columns: Columns, cost: str, *, typed: bool) -> None:
    kind = _type_of(path, columns, cost)
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if typed and not any(test(kind) for test in tests):
        raise StreamError(f"{path}: column {cost!r} must hold numbers, got {kind}.")


def read_columns(
    path: Path, keys: Sequence[str], cost: str | None, size: int
) -> Iterator[tuple[pa.Array, pa.Array | None]]:
    """Read keys and costs of one file, about ``size`` rows at a time.

    Keys of several columns come as a struct.
    """
    if not keys:
        yield from ((words, None) for words in read_words(path))
        return
    costs = [] if cost is None else [cost]
    parquet = file_kind(path) == "parquet"
    batches = read_parquet(path, [*keys, *costs], size) if parquet else read_csv(path, keys, costs)
    for batch in batches:
        *fields, last = batch.columns if costs else (*batch.columns, None)
        key = fields[0] if len(keys) == 1 else pa.StructArray.from_arrays(fields, list(keys))
        yield key, last
