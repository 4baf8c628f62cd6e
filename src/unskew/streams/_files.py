"""Which files a recorded stream has, what kind they are, and whether they have its columns."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from unskew.errors import InvalidKeyError, StreamError
from unskew.hashing import identities
from unskew.streams._tables import Columns, csv_columns, parquet_columns, read_csv, read_parquet
from unskew.streams._words import read_words

_COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4", ".br"}
_KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "csv"}


def kind_of(path: Path) -> str:
    """Return "parquet", "csv" or "text", as the name tells.

    >>> [kind_of(Path(name)) for name in ("a.parquet", "a.csv.gz", "a.txt", "README")]
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
    kinds = {kind_of(each) for each in kept}
    if len(kinds) > 1:
        raise StreamError(f"{path}: all files must be of one kind, got {', '.join(sorted(kinds))}.")
    return kept


def _is_data(inner: Path, path: Path) -> bool:
    return path.is_file() and not any(part.startswith(("_", ".")) for part in inner.parts)


def check_columns(files: list[Path], key: str | None, cost: str | None) -> str | None:
    """Return the column of the keys; every file has it, and that of the costs, in a fit type."""
    if kind_of(files[0]) == "text":
        for column in (key, cost):
            if column is not None:
                hint = "Hint: name a Parquet file .parquet and a CSV file .csv"
                raise StreamError(f"{files[0]}: a text has no column {column!r}. {hint}")
        return None
    key_type = None
    for path in files:
        parquet = kind_of(path) == "parquet"
        columns = parquet_columns(path) if parquet else csv_columns(path)
        key = _only(path, columns, cost) if key is None else key
        kind = _type_of_key(path, columns, key)
        if key_type not in (None, kind):
            raise StreamError(f"{path}: column {key!r} is {kind}, in {files[0]} it is {key_type}.")
        key_type = kind
        if cost is not None:
            _check_cost(path, columns, cost, typed=parquet)
    return key


def _only(path: Path, columns: Columns, cost: str | None) -> str:
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
        expected = "integers, text, bytes or points in time"
        raise StreamError(f"{path}: column {key!r} must hold {expected}, got {kind}.") from None
    return kind


def _check_cost(path: Path, columns: Columns, cost: str, *, typed: bool) -> None:
    kind = _type_of(path, columns, cost)
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if typed and not any(test(kind) for test in tests):
        raise StreamError(f"{path}: column {cost!r} must hold numbers, got {kind}.")


def read_columns(
    path: Path, key: str | None, cost: str | None, size: int
) -> Iterator[tuple[pa.Array, pa.Array | None]]:
    """Read keys and costs of one file, about ``size`` rows at a time."""
    if key is None:
        yield from ((words, None) for words in read_words(path))
        return
    columns = [key] if cost is None else [key, cost]
    parquet = kind_of(path) == "parquet"
    for batch in read_parquet(path, columns, size) if parquet else read_csv(path, columns):
        yield batch.column(0), None if cost is None else batch.column(1)
