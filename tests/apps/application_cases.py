"""Small data of every application, and its results."""

from collections import Counter
from collections.abc import Iterable
from functools import cache, reduce
from typing import Any

import pyarrow as pa
import pyspark.sql.functions as sf
from pyspark.sql import DataFrame, Row

from unskew.apps.base import Application
from unskew.apps.registry import make_application

WORKERS = 3
ROWS = 600

OF_WORDS = ("wordcount", "hashtags", "naive-bayes", "heavy-hitters:capacity=1000")
OF_RECORDS = (
    "vwap:window=1 hour",
    "roads:threshold=1",
    "decision-tree:bins=1000",
    "field-grid",
    "enrich",
)
SPECS = (*OF_WORDS, *OF_RECORDS)
"""Every application, with parameters at which it is exact and has much to give out."""


@cache
def application_of(spec: str) -> Application:
    return make_application(spec)


@cache
def table_of(spec: str) -> pa.Table:
    """Return the first rows of its real data."""
    return application_of(spec).table(ROWS)


def halves(table: pa.Table) -> list[pa.Table]:
    middle = table.num_rows // 2
    return [table.slice(0, middle), table.slice(middle)]


def multiset(rows: Iterable[Row]) -> Counter[str]:
    return Counter(map(repr, rows))


def labelled(results: dict[str, DataFrame]) -> DataFrame:
    """Return several results as one, so that one job computes them all."""
    named = [df.withColumn("placed_by", sf.lit(label)) for label, df in results.items()]
    return reduce(DataFrame.union, named)


def by_label(rows: list[Row]) -> dict[str, Counter[str]]:
    """Return the rows of each result, without the label."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        values = row.asDict()
        found.setdefault(values.pop("placed_by"), Counter())[repr(Row(**values))] += 1
    return found


def in_force(application: Application, rows: list[Row]) -> Counter[str]:
    """Return the last row of every result in update mode, all rows in append mode."""
    if not application.result_key:
        return multiset(rows)
    last: dict[Any, Row] = {}
    for row in rows:
        last[tuple(repr(row[name]) for name in application.result_key)] = row
    return multiset(last.values())
