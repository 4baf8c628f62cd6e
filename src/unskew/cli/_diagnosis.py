"""Diagnose files, streams, tables and topics, and print or write the diagnosis."""

import json as writer
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unskew._validation import check_int, check_real
from unskew.advisor.diagnosis import Diagnosis, diagnose
from unskew.advisor.drawing import MOST_ROWS
from unskew.advisor.predict import check_work
from unskew.advisor.profile import KeyProfile
from unskew.advisor.profiling import profile_stream
from unskew.cli._interrupts import stopping_between_batches
from unskew.cli._simulation import MOST_WORKERS
from unskew.cli._terminal import FittingTable, ProgressDisplay, console
from unskew.errors import InvalidParameterError, MissingExtraError, StreamError
from unskew.reports.diagnosis import PREDICTION_COLUMNS, diagnosis_facts, shown_predictions
from unskew.reports.measurement import to_plain
from unskew.reports.tables import count_text, share_text
from unskew.specs import parse_whole
from unskew.streams.base import Stream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE, TOPIC = "table:", "kafka:"
_RECORD_TIME = "record_time"
_TOP_KEYS = 5
_LEAST_DRAWN = 500_000


@dataclass(frozen=True)
class DiagnosisQuestion:
    """What the user wants to know."""

    workers: int
    sources: int
    work: str
    cost_per_row: float | None
    sample: int | None
    """None: every row."""
    batch: bool
    seed: int
    time: str | None = None


def rows_to_look_at(sample: str) -> int | None:
    """Return the size of the sample that was asked for, or None for all rows.

    >>> rows_to_look_at("500k"), rows_to_look_at("all")
    (500000, None)
    """
    return None if sample == "all" else parse_whole("unskew", "--sample", sample)


def check_question(question: DiagnosisQuestion, report: Path | None) -> None:
    """Refuse what cannot be answered, and a report nobody could write, before anything is read."""
    check_int("unskew", "--workers", question.workers, minimum=1, maximum=MOST_WORKERS)
    check_int("unskew", "--sources", question.sources, minimum=1)
    check_work("unskew", "--work", question.work)
    if question.cost_per_row is not None:
        check_real("unskew", "--cost-per-row", question.cost_per_row, above=0)
    if question.sample is not None:
        check_int("unskew", "--sample", question.sample, minimum=1)
    if report is not None:
        from unskew.reports.page import check_report

        check_report(report)


def diagnose_stream(
    stream: Stream, question: DiagnosisQuestion, *, by: Sequence[str], show: bool
) -> Diagnosis:
    """Read the stream once and return the diagnosis."""
    with ProgressDisplay(stream.rows, wanted=show) as display:
        display.say("reading keys")
        with stopping_between_batches(stream) as watched:
            profile = profile_stream(
                watched,
                sample=question.sample,
                seed=question.seed,
                on_progress=display.advance,
            )
    if stream.has_costs and question.cost_per_row is not None:
        expected = "left out where rows have costs of their own"
        raise InvalidParameterError("unskew", "--cost-per-row", expected, question.cost_per_row)
    # What is drawn beyond the rows that were looked at would say no more of them.
    drawn = MOST_ROWS if profile.sampled_share == 1.0 else max(profile.counted, _LEAST_DRAWN)
    with ProgressDisplay(None, wanted=show) as display:

        def progress(label: str, rows: int) -> None:
            display.say(f"predicting {label}, {min(profile.rows, drawn):,} rows")
            display.advance(rows)

        return diagnose(
            profile,
            question.workers,
            stream=stream.spec,
            by=by,
            sources=question.sources,
            work=question.work,
            cost_per_row=question.cost_per_row,
            batch=question.batch,
            most_rows=drawn,
            seed=question.seed,
            on_progress=progress,
        )


def diagnose_on_spark(
    data: str, question: DiagnosisQuestion, *, by: Sequence[str], cost: str | None
) -> Diagnosis:
    """Return the diagnosis of ``table:NAME`` or of ``kafka:TOPIC@HOST:PORT``.

    A sample is looked at by Spark; without one, all rows are counted in one pass.
    """
    if cost is not None:
        expected = "left out here, where only the keys of rows are looked at"
        raise InvalidParameterError("unskew", "--cost", expected, cost)
    try:
        from unskew.spark.diagnose import diagnose
    except ImportError:
        raise MissingExtraError(
            f"what begins with {data.partition(':')[0]}:", "pyspark", "spark"
        ) from None
    rows, key = _table(data, by) if data.startswith(TABLE) else _topic(data, by)
    return diagnose(
        rows,
        key,
        question.workers,
        work=question.work,
        learn="pass" if question.sample is None else "sample",
        rows=question.sample,
        time=question.time if data.startswith(TABLE) else _RECORD_TIME,
        cost_per_row=question.cost_per_row,
        seed=question.seed,
        name=data,
    )


def show_join(
    data: str, join: str, question: DiagnosisQuestion, *, by: Sequence[str], how: str, json: bool
) -> None:
    """Print what each way to join two tables would take.

    A sample of both sides is looked at if one is asked for; without, all rows are counted.
    """
    if not by:
        raise InvalidParameterError("unskew", "--by", "given for a join", None)
    try:
        from unskew.spark.diagnose import diagnose as diagnose_tables
    except ImportError as error:
        raise MissingExtraError("a join", "pyspark", "spark") from error
    found = diagnose_tables(
        _joined_table(data, "DATA"),
        by,
        question.workers,
        join=_joined_table(join, "--join"),
        how=how,
        learn="pass" if question.sample is None else "sample",
        cost_per_row=question.cost_per_row,
        seed=question.seed,
    )
    if json:
        typer.echo(writer.dumps(to_plain(found.to_json()), allow_nan=False))
    else:
        console().print(escape(repr(found)), soft_wrap=True, highlight=False)


def _joined_table(data: str, parameter: str) -> "DataFrame":
    """Return a side of a join: Parquet or CSV files, or a table that Spark knows."""
    from pyspark.errors import AnalysisException, ParseException

    from unskew.spark.session import session

    spark = session(app_name="unskew diagnose")
    try:
        if data.startswith(TABLE):
            return spark.table(data.removeprefix(TABLE))
        if not Path(data).expanduser().exists():
            raise InvalidParameterError(
                "unskew", parameter, "a file, a directory or table:NAME", data
            )
        path = str(Path(data).expanduser())
        if path.endswith(".csv"):
            return spark.read.option("header", True).option("inferSchema", True).csv(path)
        return spark.read.parquet(path)
    except (AnalysisException, ParseException) as error:
        told = str(error).strip().splitlines()[0]
        raise StreamError(f"{data}: Spark cannot read it: {told}") from error


def _table(data: str, by: Sequence[str]) -> "tuple[DataFrame, Sequence[str]]":
    """Return a table, whose name may also be parquet.`path`, as in SQL, and its key."""
    from pyspark.errors import AnalysisException, ParseException

    from unskew.spark.session import session

    if not by:
        raise InvalidParameterError("unskew", "--by", "given for a table", None)
    name = data.removeprefix(TABLE)
    try:
        df = session(app_name="unskew diagnose").table(name)
        columns = df.columns
    except (AnalysisException, ParseException) as error:
        told = str(error).strip().splitlines()[0]
        raise StreamError(f"table {name}: Spark cannot read it: {told}") from error
    for name in by:
        if name not in columns:
            raise InvalidParameterError("unskew", "--by", f"one of {', '.join(columns)}", name)
    return df, by


def _topic(data: str, by: Sequence[str]) -> "tuple[DataFrame, Sequence[str]]":
    """Return all records of a topic by fields of their JSON, or by their own key."""
    import pyspark.sql.functions as sf
    from pyspark.sql.types import StringType, StructField, StructType

    from unskew.apps.running.kafka import Topic, connector
    from unskew.apps.running.run_session import run_session

    topic = Topic.parse("DATA", data.removeprefix(TOPIC))
    topic.check()
    spark = run_session(None, workers=1, waits=False, packages=(connector(),))
    topic.check_on(spark)
    keys = [sf.col("key").cast("string").alias("key")]
    if by:
        kind = StructType([StructField(name, StringType()) for name in by])
        value = sf.from_json(sf.col("value").cast("string"), kind)
        keys = [value.getField(name).alias(name) for name in by]
    came = sf.col("timestamp").alias(_RECORD_TIME)
    return topic.records(spark.read).select(*keys, came), by or ["key"]


def print_diagnosis(
    diagnosis: Diagnosis, *, json: bool, report: Path | None, arguments: Sequence[str]
) -> None:
    """Write the report, then print the diagnosis as JSON or as tables."""
    if report is not None:
        from unskew.reports.diagnosis import render_diagnosis
        from unskew.reports.page import write_page

        command = shlex.join(["unskew", *arguments])
        write_page(report, render_diagnosis(diagnosis, command=command))
    if json:
        typer.echo(writer.dumps(to_plain(diagnosis.to_json()), allow_nan=False))
        return
    out = console()
    for name, text in diagnosis_facts(diagnosis):
        out.print(f"[dim]{name:8}[/dim]{escape(text)}")
    out.print(_top_keys_table(diagnosis.profile))
    out.print(_prediction_table(diagnosis))
    for column in [each for each in PREDICTION_COLUMNS if each.shown(diagnosis)]:
        out.print(f"[dim]{escape(column.title)}: {escape(column.meaning)}[/dim]")
    _print_advice(out, diagnosis)
    if report is not None:
        out.print(escape(f"report: {report}"))


def _top_keys_table(profile: KeyProfile) -> Table:
    table = FittingTable()
    table.add_column("hottest keys")
    for title in ("share", "rows"):
        table.add_number(title)
    for each in profile.top(_TOP_KEYS):
        table.add_row(escape(each.label), share_text(each.share), count_text(each.rows))
    return table


def _prediction_table(diagnosis: Diagnosis) -> Table:
    table = FittingTable()
    table.add_column("grouping", no_wrap=True)
    columns = [each for each in PREDICTION_COLUMNS if each.shown(diagnosis)]
    for column in columns:
        table.add_number(column.title)
    table.add_column("not for this work because it")
    chosen = diagnosis.recommendation.grouping
    for each in shown_predictions(diagnosis):
        cells = [column.text(each) for column in columns]
        style = "dim" if each.drawback else "bold green" if each.grouping == chosen else None
        table.add_row(escape(each.grouping), *cells, escape(each.drawback), style=style)
    return table


def _print_advice(out: Console, diagnosis: Diagnosis) -> None:
    advice = diagnosis.recommendation
    out.print()
    out.print(f"[bold]{escape(advice.text)}[/bold]")
    for reason in advice.why:
        out.print(escape(reason))
    for unknown in advice.not_known:
        out.print(f"[dim]Not known: {escape(unknown)}.[/dim]")
    out.print(f"\n    [cyan]{escape(advice.code)}[/cyan]\n", soft_wrap=True)  # to be copied
