"""Diagnose a table that Spark knows, in a session of this machine or of SPARK_REMOTE."""

from unskew.advisor.diagnosis import Diagnosis
from unskew.cli._diagnosing import Question
from unskew.errors import InvalidParameterError, MissingExtraError, StreamError

PREFIX = "table:"


def answer_table(data: str, question: Question, *, by: str | None, cost: str | None) -> Diagnosis:
    """Return the diagnosis of ``table:NAME``; NAME may also be parquet.`path`, as in SQL.

    A sample is looked at by Spark; without one, all rows are counted in one pass.
    """
    if by is None:
        raise InvalidParameterError("unskew", "--by", "given for a table", by)
    if cost is not None:
        expected = "left out for a table, of whose rows only the keys are looked at"
        raise InvalidParameterError("unskew", "--cost", expected, cost)
    try:
        from pyspark.errors import AnalysisException, ParseException

        from unskew.spark.diagnosing import diagnose
        from unskew.spark.local_session import session
    except ImportError:
        raise MissingExtraError("a Spark table", "pyspark", "spark") from None
    name = data.removeprefix(PREFIX)
    try:
        df = session(app_name="unskew diagnose").table(name)
        columns = df.columns
    except (AnalysisException, ParseException) as error:
        told = str(error).strip().splitlines()[0]
        raise StreamError(f"table {name}: Spark cannot read it: {told}") from error
    if by not in columns:
        raise InvalidParameterError("unskew", "--by", f"one of {', '.join(columns)}", by)
    return diagnose(
        df,
        by,
        question.workers,
        work=question.work,
        learn="pass" if question.sample is None else "sample",
        rows=question.sample,
        cost_per_row=question.cost_per_row,
        seed=question.seed,
        name=data,
    )
