"""Diagnose a DataFrame: how skewed its keys are, what each grouping would do, which one to use."""

from dataclasses import dataclass, fields, replace

from pyspark.sql import DataFrame

from unskew._validation import check_choice, check_int
from unskew.advisor.diagnosis import Diagnosis
from unskew.advisor.diagnosis import diagnose as diagnose_profile
from unskew.advisor.predict import MERGE, WHOLE_WRAP, check_work
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.registry import make_grouping
from unskew.reports.diagnosis import diagnosis_html, diagnosis_text
from unskew.spark.key_counting import profile_pass, profile_sample
from unskew.spark.key_drift import drift_over
from unskew.spark.keys import By, check_by
from unskew.spark.learning import WAYS, sample_size
from unskew.spark.schemes import RUNNABLE


@dataclass(frozen=True, repr=False)
class TableDiagnosis(Diagnosis):
    """A `Diagnosis` that shows itself, as text and in notebooks."""

    def __repr__(self) -> str:
        return diagnosis_text(self)

    def _repr_html_(self) -> str:
        return diagnosis_html(self)


def diagnose(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    work: str = MERGE,
    learn: str = "sample",
    rows: int | None = None,
    time: str | None = None,
    cost_per_row: float | None = None,
    seed: int = 0,
    name: str = "a DataFrame",
) -> TableDiagnosis:
    """Find the skew in ``df``, predict what each grouping would do, and recommend one, or none.

    Only Spark's own aggregation runs, and at most some hundred thousand counts come back.

    Parameters
    ----------
    df
        A batch DataFrame.
    by
        The key column, or a list of several. Null is a key like any other.
    workers
        How many partitions would share the work, at least 1.
    work
        What is done with the rows of a key: ``merge``, partial results can be merged; ``atomic``,
        all must meet in one place; ``stateless``, every row by itself; ``builtin``, Spark's own
        aggregates.
    learn
        ``sample``: count rows and, roughly, keys, then look at a bounded sample. ``pass``: count
        every key exactly, which shuffles the distinct keys.
    rows
        Size of the sample; 8,000 a worker and at least 200,000 by default.
    time
        A column of numbers, dates or timestamps that tells when rows came, to see whether the hot
        keys change. Rows of a table have no order of their own, so drift is not known without it.
    cost_per_row
        Milliseconds of work a row, to predict seconds.
    seed
        Picks the sample and the hash functions of the prediction.
    name
        What the data are called.

    Raises
    ------
    InvalidParameterError
        For a stream, an unknown column, or a parameter that is none of these.
    StreamError
        Where ``df`` has no rows.

    Examples
    --------
    ``us.diagnose(df, "user", workers=64)`` shows all; ``.recommendation.code`` is the line to use.
    """
    names = check_by(df, by)
    workers = check_int("diagnose", "workers", workers, minimum=1)
    check_choice("diagnose", "learn", learn, WAYS)
    check_work("diagnose", "work", work)
    if df.isStreaming:
        hint = "diagnose what a batch has read of it, spark.read in place of spark.readStream"
        raise InvalidParameterError("diagnose", "df", "a batch DataFrame", "a stream", hint=hint)
    size = sample_size(workers) if rows is None else check_int("diagnose", "rows", rows, minimum=1)
    profile = profile_pass(df, names) if learn == "pass" else profile_sample(df, names, size, seed)
    if time is not None:
        profile = replace(profile, drift_seen=drift_over(df, names, time))
    found = diagnose_profile(
        profile,
        workers,
        stream=name,
        by=", ".join(names),
        work=work,
        cost_per_row=cost_per_row,
        batch=True,
        groupings=_schemes(workers, seed),
        seed=seed,
    )
    return _with_list_of_columns(found, names)


def _schemes(workers: int, seed: int) -> dict[str, Grouping]:
    """Return the schemes that run on Spark, as far as they can be made for so many workers."""
    made: dict[str, Grouping] = {}
    for name in (*RUNNABLE, WHOLE_WRAP):
        try:
            made[name] = make_grouping(name, workers, seed=seed)
        except InvalidParameterError:  # it needs more workers than there are
            continue
    return made


def _with_list_of_columns(found: Diagnosis, names: list[str]) -> TableDiagnosis:
    """Return it as one that shows itself; several key columns as a list in its line of code."""
    advice = found.recommendation
    if len(names) > 1:
        listed = "[" + ", ".join(f'"{name}"' for name in names) + "]"
        advice = replace(advice, code=advice.code.replace(f'"{", ".join(names)}"', listed))
    known = {field.name: getattr(found, field.name) for field in fields(found)}
    return TableDiagnosis(**{**known, "recommendation": advice})
