"""Recommended lines run as they are printed, on the data they were made for."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, GroupedData, Row, SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us
from unskew.advisor.diagnosis import Diagnosis, diagnose
from unskew.advisor.history.advice import Finding, advise
from unskew.advisor.history.plans import StageWork
from unskew.advisor.profiling import profile_stream
from unskew.metrics import imbalance_percent
from unskew.streams import file

WORKERS = 4
RNG = np.random.default_rng(5)
ROWS = pa.table(
    {
        "user": [None if n % 11 == 0 else f"u{k}" for n, k in enumerate(RNG.zipf(1.5, 6000) % 200)],
        "day": RNG.integers(0, 5, 6000),
        "millis": RNG.choice([1.0, 1.0, 40.0], 6000),
    }
)
WORKS = ("merge", "atomic", "stateless", "builtin")


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS).cache()


def ran(code: str, df: DataFrame) -> Any:
    """Run a line as a person would who has a DataFrame and the two imports of the README."""
    return eval(code, {"us": us, "sf": sf, "df": df, "left": df, "right": df.limit(50)})  # noqa: S307 (our own)


def rows_of(df: DataFrame) -> list[Row]:
    return sorted(df.collect(), key=str)


def check(code: str, df: DataFrame, by: Sequence[str]) -> None:
    """Run it, and compare what comes out with plain Spark."""
    result = ran(code, df)
    if isinstance(result, GroupedData):
        assert "as it is" in code
        return
    if ".apply(us.Count()" in code:
        expected = df.groupBy(*by).agg(sf.count("*").alias("rows"))
    elif ".count()" in code:
        expected = df.groupBy(*by).count()
    else:
        expected = df
    assert rows_of(result.select(*expected.columns)) == rows_of(expected)


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("by", [["user"], ["day", "user"]], ids=",".join)
def test_the_line_for_a_table_runs_and_gives_what_spark_gives(
    df: DataFrame, work: str, by: list[str]
) -> None:
    check(us.diagnose(df, by, WORKERS, work=work).recommendation.code, df, by)


@pytest.mark.parametrize(
    ("work", "by", "cost"),
    [
        ("merge", ["user"], None),
        ("atomic", ["day", "user"], None),
        ("stateless", ["user"], "millis"),
        ("stateless", ["day", "user"], "millis"),
    ],
)
def test_the_line_for_a_file_runs_and_gives_what_spark_gives(
    df: DataFrame, work: str, by: list[str], cost: str | None, tmp_path: Path
) -> None:
    check(file_diagnosis(tmp_path, work, by, cost).recommendation.code, df, by)


def file_diagnosis(folder: Path, work: str, by: list[str], cost: str | None) -> Diagnosis:
    pq.write_table(ROWS, folder / "rows.parquet")
    profile = profile_stream(file(folder / "rows.parquet", by, cost, with_nulls=True))
    return diagnose(profile, WORKERS, by=by, work=work, batch=True)


@pytest.mark.parametrize("work", ["merge", "atomic"])
def test_rows_per_worker_are_those_that_were_predicted(df: DataFrame, work: str) -> None:
    found = us.diagnose(df, "user", WORKERS, work=work)
    spec = found.recommendation.grouping or "key"
    (predicted,) = (each for each in found.predictions if each.grouping == spec)
    placed = us.balance(df, "user", WORKERS, grouping=spec)
    counts = placed.groupBy(sf.spark_partition_id()).count().collect()
    loads = np.zeros(WORKERS)
    loads[: len(counts)] = [row["count"] for row in counts]
    assert 1 + imbalance_percent(loads) / 100 == pytest.approx(predicted.job_time_ratio, rel=0.2)


OPERATORS: tuple[list[str], ...] = (
    [], ["Project"], ["FlatMapGroupsInArrow"], ["FlatMapGroupsInPandas"], ["MapInArrow"],
    ["SortMergeJoin"], ["ShuffledHashJoin"], ["FlatMapCoGroupsInArrow"], ["Window"],
    ["ObjectHashAggregate"], ["SortAggregate"], ["HashAggregate"], ["AggregateInPandas"],
    ["Scan parquet "],
)  # fmt: skip


KEYS = ((), ("user",), ("day", "user"), ("coalesce(day, 0)",))


def lines_for_stages() -> list[tuple[str, tuple[str, ...]]]:
    """Return every line that any uneven stage gets, with the keys it was made for."""
    found = {}
    for operators, keys in product(OPERATORS, KEYS):
        uneven = Finding(0.5, 4.0, 4.0, 4.0, StageWork(operators, keys), WORKERS)
        for records in (4.0, 1.0, None):
            code = advise(uneven._replace(its_records=records), 0.5).code
            if code is not None:
                found[code] = keys
    return list(found.items())


@pytest.mark.parametrize(("code", "keys"), lines_for_stages())
def test_the_line_for_a_stage_runs_and_gives_what_spark_gives(
    df: DataFrame, code: str, keys: tuple[str, ...]
) -> None:
    if "us.join(" in code:
        assert ran(code, df).count() == df.join(df.limit(50), list(keys)).count()
    else:
        check(code, df, keys)
