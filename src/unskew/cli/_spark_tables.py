"""Diagnose what Spark reads: a table, in a session of this machine or of SPARK_REMOTE; a topic."""

from typing import TYPE_CHECKING

from unskew.advisor.diagnosis import Diagnosis
from unskew.cli._diagnosing import Question
from unskew.errors import InvalidParameterError, MissingExtraError, StreamError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TABLE, TOPIC = "table:", "kafka:"
_RECORD_TIME = "record_time"


def answer_spark(data: str, question: Question, *, by: str | None, cost: str | None) -> Diagnosis:
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


def _table(data: str, by: str | None) -> "tuple[DataFrame, str]":
    """Return a table, whose name may also be parquet.`path`, as in SQL, and its key."""
    from pyspark.errors import AnalysisException, ParseException

    from unskew.spark.session import session

    if by is None:
        raise InvalidParameterError("unskew", "--by", "given for a table", by)
    name = data.removeprefix(TABLE)
    try:
        df = session(app_name="unskew diagnose").table(name)
        columns = df.columns
    except (AnalysisException, ParseException) as error:
        told = str(error).strip().splitlines()[0]
        raise StreamError(f"table {name}: Spark cannot read it: {told}") from error
    if by not in columns:
        raise InvalidParameterError("unskew", "--by", f"one of {', '.join(columns)}", by)
    return df, by


def _topic(data: str, by: str | None) -> "tuple[DataFrame, str]":
    """Return all records of a topic by a field of their JSON, or by their own key."""
    import pyspark.sql.functions as sf
    from pyspark.sql.types import StringType, StructType

    from unskew.apps.running.kafka import Topic, connector
    from unskew.apps.running.run_session import run_session

    topic = Topic.parse("DATA", data.removeprefix(TOPIC))
    topic.check()
    spark = run_session(None, workers=1, waits=False, packages=(connector(),))
    topic.check_on(spark)
    key = sf.col("key").cast("string")
    if by is not None:
        value = sf.from_json(sf.col("value").cast("string"), StructType().add(by, StringType()))
        key = value.getField(by)
    came = sf.col("timestamp").alias(_RECORD_TIME)
    return topic.records(spark.read).select(key.alias(by or "key"), came), by or "key"
