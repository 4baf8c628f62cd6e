"""How much the hot keys of a DataFrame change in the course of time: native aggregation only."""

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql.types import DateType, NumericType, TimestampNTZType, TimestampType

from unskew.advisor.drift import HOT_KEYS, WINDOWS, Drift, drift_between
from unskew.advisor.drift import DriftWindow as Stretch
from unskew.advisor.key_counts import KeyCounts
from unskew.errors import InvalidParameterError
from unskew.hashing import identities
from unskew.spark.keys import By, identity, quoted

_ACCURACY = 1000  # of the borders: to a thousandth of the rows


def drift_over(df: DataFrame, by: By, time: str) -> Drift:
    """Return how much the hot keys change from one twentieth of the rows, by ``time``, to the next.

    Three aggregations: where the twentieths end, the hottest keys of each, and the rows of all of
    these in each. Rows without a time do not count.

    Raises
    ------
    InvalidParameterError
        Where ``time`` is no column of numbers, dates or timestamps.
    """
    rows = df.select(identity(df, by).alias("id"), _instant(df, time).alias("at"))
    rows = rows.where("at is not null")
    borders = _borders(rows)
    if borders is None:
        return drift_between([])
    parts = rows.select("id", _number_of(borders).alias("part"))
    hot = _hottest(parts)
    others = sf.when(sf.col("id").isin(hot), sf.col("id"))  # null stands for all others
    table = parts.groupBy("part", others.alias("id")).agg(sf.count("*").alias("rows")).toArrow()
    return drift_between(_stretches(table))


def _instant(df: DataFrame, time: str) -> Column:
    """Return the column of time as a number."""
    kinds = {field.name: field.dataType for field in df.schema.fields}
    if time not in kinds:
        expected = f"one of {', '.join(df.columns)}"
        raise InvalidParameterError("diagnose", "time", expected, time)
    column = sf.col(quoted(time))
    if isinstance(kinds[time], NumericType):
        return column.cast("double")
    if isinstance(kinds[time], DateType | TimestampType | TimestampNTZType):
        return column.cast("timestamp").cast("double")
    expected = "a column of numbers, dates or timestamps"
    told = f"{time}, of type {kinds[time].simpleString()}"
    raise InvalidParameterError("diagnose", "time", expected, told, hint="cast it first")


def _borders(rows: DataFrame) -> list[float] | None:
    """Return where one twentieth of the rows ends and the next begins."""
    shares = [number / WINDOWS for number in range(1, WINDOWS)]
    found = rows.agg(sf.percentile_approx("at", shares, _ACCURACY)).collect()[0][0]
    return None if found is None else sorted(set(found))


def _number_of(borders: list[float]) -> Column:
    number = sf.lit(0)
    for border in borders:
        number = number + (sf.col("at") > border).cast("int")
    return number


def _hottest(parts: DataFrame) -> list[int]:
    """Return the identities of keys that are among the hottest of any part."""
    counts = parts.groupBy("part", "id").agg(sf.count("*").alias("rows"))
    rank = sf.row_number().over(Window.partitionBy("part").orderBy(sf.desc("rows"), "id"))
    found = counts.withColumn("rank", rank).where(sf.col("rank") <= HOT_KEYS)
    return [row["id"] for row in found.select("id").distinct().collect()]


def _stretches(table: pa.Table) -> list[Stretch]:
    """Return what was counted of each part, in the order of time."""
    stretches = []
    for part in sorted(table["part"].unique().to_pylist()):
        own = table.filter(pa.compute.equal(table["part"], part))
        total = float(pa.compute.sum(own["rows"]).as_py())
        known = own.filter(own["id"].is_valid())
        ids = identities(known["id"])
        order = np.argsort(ids)
        rows = known["rows"].to_numpy().astype(np.float64)[order]
        stretches.append(Stretch(KeyCounts(ids[order], rows, np.empty(0)), total))
    return stretches
