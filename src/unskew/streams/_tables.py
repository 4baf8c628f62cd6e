"""The key and cost columns of Parquet and CSV files, a batch at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from unskew.streams._reading import as_stream_error

BLOCK = 1 << 20
"""Bytes that are read at once; of a CSV file, which Arrow reads ahead, up to some 35 are held."""

Columns: TypeAlias = list[tuple[str, pa.DataType]]
"""Names and types."""


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
    options = {"pre_buffer": False, "buffer_size": BLOCK}
    with as_stream_error(path, "Parquet"), pa.parquet.ParquetFile(path, **options) as source:
        batches = source.iter_batches(size, columns=columns, use_threads=False)
        yield from (batch.select(columns) for batch in batches)


def csv_columns(path: Path) -> Columns:
    """Return the names of the columns; whatever they look like, keys are read as text."""
    with as_stream_error(path, "CSV"), _open_csv(path, pa.csv.ConvertOptions()) as source:
        return [(field.name, pa.string()) for field in source.schema]


def read_csv(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Read the key column as text, and the cost column, if there is one, as numbers.

    Keys are taken as they are written: ``7`` and ``007`` are two keys, and a type that is guessed
    from the first rows could not fail later. An empty field without quotes is null.
    """
    key, *cost = columns
    options = pa.csv.ConvertOptions(
        include_columns=columns,
        column_types={key: pa.string(), **dict.fromkeys(cost, pa.float64())},
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
        read_options=pa.csv.ReadOptions(use_threads=False, block_size=BLOCK),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=options,
    )
