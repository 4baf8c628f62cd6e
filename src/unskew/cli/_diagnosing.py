"""Profile and predict, with a progress bar."""

from dataclasses import dataclass
from pathlib import Path

from unskew._validation import check_int, check_real
from unskew.advisor.diagnosis import Diagnosis, diagnose
from unskew.advisor.drawing import MOST_ROWS
from unskew.advisor.predict import check_work
from unskew.advisor.profiling import profile_stream
from unskew.cli._interrupts import stopping_between_batches
from unskew.cli._progress import Display
from unskew.cli._settings import MOST_WORKERS
from unskew.errors import InvalidParameterError
from unskew.streams.base import Stream


@dataclass(frozen=True)
class Question:
    """What the user wants to know."""

    workers: int
    sources: int
    work: str
    cost_per_row: float | None
    sample: int | None
    batch: bool
    seed: int
    time: str | None = None


def check(question: Question, report: Path | None, *, both: bool) -> None:
    """Refuse what cannot be answered, and a report nobody could write, before anything is read."""
    check_int("unskew", "--workers", question.workers, minimum=1, maximum=MOST_WORKERS)
    check_int("unskew", "--sources", question.sources, minimum=1)
    check_work("unskew", "--work", question.work)
    if question.cost_per_row is not None:
        check_real("unskew", "--cost-per-row", question.cost_per_row, above=0)
    if both:
        raise InvalidParameterError("unskew", "--whole", "left out where there is --sample", True)
    if question.sample is not None:
        check_int("unskew", "--sample", question.sample, minimum=1)
    if report is not None:
        from unskew.reports.page import check_report

        check_report(report)


def answer(stream: Stream, question: Question, *, by: str, show: bool) -> Diagnosis:
    """Read the stream once and return the diagnosis."""
    with Display(stream.rows, wanted=show) as display:
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
    with Display(None, wanted=show) as display:

        def progress(label: str, rows: int) -> None:
            display.say(f"predicting {label}, {min(profile.rows, MOST_ROWS):,} rows")
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
            seed=question.seed,
            on_progress=progress,
        )
