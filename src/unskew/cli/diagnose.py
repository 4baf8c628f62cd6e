"""``unskew diagnose``: how skewed data are, what each grouping would do, which one to use."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unskew.cli import _options as options

if TYPE_CHECKING:
    from unskew.streams.base import Stream

_DATA, _HISTORY, _JOIN = "The data", "Jobs that ran already", "A join"


def diagnose(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            help="A Parquet, CSV or text file, a directory of them, a stream such as "
            "zipf:keys=100k (see 'unskew streams'), table:NAME for a table that Spark knows, or "
            "kafka:TOPIC@HOST:PORT for records of JSON.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            "-b",
            help="The column of the keys; several with commas between, or each with an option of "
            "its own. Default: the only column, the words of a text, or the keys of Kafka's "
            "records.",
            metavar="COLUMN[,COLUMN…]",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            "--cost",
            help="The column of what each row costs, in milliseconds. Default: all cost the same.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            help="The column that tells when the rows of a table came, to see whether its hot keys "
            "change. Files, streams and topics have an order of their own.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    workers: options.Workers = 10,
    work: Annotated[
        str,
        typer.Option(
            "--work",
            help="What is done with a key's rows: 'merge', partial results can be merged; "
            "'atomic', all must meet in one place; 'stateless', each row by itself; 'builtin', "
            "Spark's own count, sum, avg …",
            metavar="merge|atomic|stateless|builtin",
        ),
    ] = "merge",
    cost_per_row: Annotated[
        float | None,
        typer.Option(
            "--cost-per-row",
            help="Milliseconds of work per row, to predict seconds. Default: only ratios.",
            show_default=False,
        ),
    ] = None,
    sample: Annotated[
        str,
        typer.Option(
            "--sample",
            help="Look at about so many rows, picked by chance over all the data, if there are "
            "more; 'all': at every row.",
            metavar="ROWS|all",
            rich_help_panel=_DATA,
        ),
    ] = "500k",
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="The data are a table: schemes that learn see a sample of it beforehand, as in a "
            "Spark batch. Default: a stream, of which they see the first fifth.",
            show_default=False,
        ),
    ] = False,
    join: Annotated[
        str | None,
        typer.Option(
            "--join",
            help="The right side of a join, of which DATA is the left one: Parquet or CSV files, "
            "or table:NAME. Compares Spark's join, adaptive execution, a broadcast and us.join.",
            show_default=False,
            metavar="DATA",
            rich_help_panel=_JOIN,
        ),
    ] = None,
    how: Annotated[
        str,
        typer.Option(
            "--how",
            help="The type of that join.",
            metavar="inner|left|right|full|semi|anti",
            rich_help_panel=_JOIN,
        ),
    ] = "inner",
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            help="A Spark event log, or a folder of them, also as the URL of a store: list the "
            "stages that lost most time to uneven tasks, in place of all the rest.",
            show_default=False,
            metavar="PATH",
            rich_help_panel=_HISTORY,
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option("--top", help="How many stages to list.", rich_help_panel=_HISTORY),
    ] = 10,
    write: Annotated[
        str | None,
        typer.Option(
            "--write",
            help="Columns, with commas between, by which the data are to be written, as "
            "write.partitionBy does: say how many files that makes and how uneven its tasks are, "
            "in place of all the rest.",
            show_default=False,
            metavar="COLUMN",
            rich_help_panel=_DATA,
        ),
    ] = None,
    sources: options.SourceCount = 1,
    seed: options.Seed = 0,
    json: options.Json = False,
    report: options.Report = None,
    no_progress: options.NoProgress = False,
) -> None:
    r"""Find the skew in data, predict what each grouping would do, and recommend one, or none.

    [bold]Examples[/bold]

    unskew diagnose events.parquet --by user --workers 64 --batch

    unskew diagnose logs/ --by host -w 20 --work atomic --sample 1000000 --json

    unskew diagnose calls.csv --by caller --cost millis -w 16 --work stateless \
      --report out.html

    unskew diagnose sales.parquet --write country --workers 64

    unskew diagnose events.parquet --by day,user --sample all

    unskew diagnose zipf:keys=100k,exponent=1.4,rows=2M -w 20 --sources 5

    unskew diagnose orders.parquet --by customer --join customers.parquet --how left -w 64

    unskew diagnose --history spark-events/ --top 5
    """
    if history is not None:
        from unskew.cli._history import show_history

        show_history(history, top=top, json=json, data=data, progress=not no_progress)
        return
    if write is not None:
        from unskew.cli._write_diagnosis import show_write

        show_write(data, write, workers=workers, json=json)
        return
    if data is None:
        raise typer.BadParameter("say which data: a file, a directory or a stream")
    from unskew.cli._diagnosis import (
        DiagnosisQuestion,
        check_question,
        diagnose_stream,
        rows_to_look_at,
    )

    keys = options.listed_columns(by or [])
    size = rows_to_look_at(sample)
    question = DiagnosisQuestion(workers, sources, work, cost_per_row, size, batch, seed, time)
    check_question(question, report)
    if time is not None and not data.startswith("table:"):
        raise typer.BadParameter("--time is for a table: other data have an order of their own")
    if join is not None:
        from unskew.cli._diagnosis import show_join

        for option, given in (("--cost", cost), ("--time", time), ("--report", report)):
            if given is not None:
                raise typer.BadParameter(f"{option} is not for a join")
        show_join(data, join, question, by=keys, how=how, json=json)
        return
    if data.startswith(("table:", "kafka:")):
        from unskew.cli._diagnosis import diagnose_on_spark

        diagnosis = diagnose_on_spark(data, question, by=keys, cost=cost)
    else:
        stream = open_data(data, keys, cost, seed)
        diagnosis = diagnose_stream(stream, question, by=keys or ["key"], show=not no_progress)

    from unskew.cli._diagnosis import print_diagnosis

    print_diagnosis(diagnosis, json=json, report=report, arguments=context.obj or [])


def open_data(data: str, by: list[str], cost: str | None, seed: int) -> "Stream":
    """Return the rows of a path or of a stream's spec; a file of that name comes first."""
    from unskew.errors import InvalidParameterError
    from unskew.streams import STREAMS, file, parse_stream
    from unskew.streams.registry import ALIASES

    name = data.partition(":")[0].strip()
    if Path(data).expanduser().exists() or name not in {*STREAMS, *ALIASES}:
        return file(data, by, cost, with_nulls=True)
    for option, column in (("--by", ", ".join(by)), ("--cost", cost)):
        if column:
            expected = "left out for a stream, whose spec says it"
            raise InvalidParameterError("unskew", option, expected, column)
    return parse_stream(data, seed=seed)
