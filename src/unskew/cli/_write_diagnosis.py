"""``unskew diagnose --write``: what a partitioned write makes, and what it could make."""

import json as writer
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unskew.cli._options import listed_columns
from unskew.errors import InvalidParameterError, MissingExtraError, StreamError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TABLE = "table:"


def show_write(data: str | None, columns: str, *, workers: int, json: bool) -> None:
    """Print the diagnosis of a write of ``data``, partitioned by columns with commas between."""
    if data is None:
        raise typer.BadParameter("say which data: a Parquet or CSV file, a folder, or table:NAME")
    try:
        from unskew.spark.diagnose_write import diagnose_write
    except ImportError:
        raise MissingExtraError("--write", "pyspark", "spark") from None
    df = _read(data)
    names = listed_columns([columns])
    missing = [name for name in names if name not in df.columns]
    if missing:
        expected = f"among the columns {', '.join(df.columns)}"
        raise InvalidParameterError("unskew", "--write", expected, missing[0])
    found = diagnose_write(df, names, workers)
    typer.echo(writer.dumps(found.to_json()) if json else str(found))


def _read(data: str) -> "DataFrame":
    from pyspark.errors import AnalysisException, ParseException

    from unskew.spark.session import session

    spark = session(app_name="unskew diagnose")
    try:
        if data.startswith(_TABLE):
            return spark.table(data.removeprefix(_TABLE))
        if not Path(data).expanduser().exists():
            raise StreamError(f"{data}: there is no such file or folder")
        if Path(data).suffix.lower() == ".csv":
            return spark.read.option("header", "true").csv(data)
        return spark.read.parquet(data)
    except (AnalysisException, ParseException) as error:
        told = str(error).strip().splitlines()[0]
        raise StreamError(f"{data}: Spark cannot read it: {told}") from error
