"""Diagnose a DataFrame: how skewed its keys are, what each grouping would do, which to use."""

import math
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, Observation, Window
from pyspark.sql.types import DateType, NumericType, TimestampNTZType, TimestampType

from unskew._validation import check_choice, check_int, check_real
from unskew.advisor.diagnosis import Diagnosis
from unskew.advisor.diagnosis import diagnose as diagnose_profile
from unskew.advisor.drift import HOT_KEYS, WINDOWS, Drift, DriftWindow, drift_between
from unskew.advisor.key_counts import KeyCounts
from unskew.advisor.predict import MERGE, check_work
from unskew.advisor.profile import KeyProfile
from unskew.errors import InvalidParameterError, StreamError
from unskew.groupings.base import Grouping
from unskew.groupings.planned import sample_size
from unskew.groupings.registry import make_all, schemes_to_compare
from unskew.hashing import identities
from unskew.reports.diagnosis import diagnosis_html, diagnosis_text
from unskew.spark.columns import By, check_by, free_names, identity, key_columns, quoted
from unskew.spark.joins.broadcasting import row_bytes
from unskew.spark.joins.diagnosing import JoinDiagnosis, Settings, diagnose_join
from unskew.spark.joins.learning import learn_join, plan_learned
from unskew.spark.joins.planning import copying_for
from unskew.spark.joins.sides import On, check_how, check_sides
from unskew.spark.routing.learning import WAYS
from unskew.spark.routing.schemes import runnable
from unskew.spark.versions import OBSERVED_ONCE, to_arrow, version_of

MOST_KEYS = 100_000
"""So many of the hottest keys of a whole pass come back one by one; the others as a sum."""
_NAMED_KEYS = 100
_LONGEST_NAME = 100
_ACCURACY = 1000  # of the borders: to a thousandth of the rows


@dataclass(frozen=True, repr=False)
class TableDiagnosis(Diagnosis):
    """A `Diagnosis` that shows itself, as text and in notebooks."""

    def __repr__(self) -> str:
        return diagnosis_text(self)

    def _repr_html_(self) -> str:
        return diagnosis_html(self)


@overload
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
) -> TableDiagnosis: ...


@overload
def diagnose(
    df: DataFrame,
    by: On,
    workers: int,
    *,
    learn: str = "sample",
    cost_per_row: float | None = None,
    seed: int = 0,
    join: DataFrame,
    how: str = "inner",
) -> JoinDiagnosis: ...


def diagnose(
    df: DataFrame,
    by: On,
    workers: int,
    *,
    work: str = MERGE,
    learn: str = "sample",
    rows: int | None = None,
    time: str | None = None,
    cost_per_row: float | None = None,
    seed: int = 0,
    name: str = "a DataFrame",
    join: DataFrame | None = None,
    how: str = "inner",
) -> TableDiagnosis | JoinDiagnosis:
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
        Size of the sample; 8,000 per worker and at least 200,000 by default.
    time
        A column of numbers, dates or timestamps that tells when rows came, to see whether the hot
        keys change. Rows of a table have no order of their own, so drift is not known without it.
    cost_per_row
        Milliseconds of work per row, to predict seconds.
    seed
        Picks the sample and the hash functions of the prediction.
    name
        What the data are called.
    join, how
        The right side of a join, of which ``df`` is the left one, and its type. Then ``by`` may be
        a list of pairs, and a `JoinDiagnosis` compares Spark's join, adaptive execution, a
        broadcast and `join`; ``cost_per_row`` is of each row that comes out, ``work``, ``rows`` and
        ``time`` do not count.

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
    workers = check_int("diagnose", "workers", workers, minimum=1)
    check_choice("diagnose", "learn", learn, WAYS)
    check_work("diagnose", "work", work)
    for parameter, one in (("df", df), ("join", join)):
        if one is not None and one.isStreaming:
            hint = "diagnose what a batch has read of it, spark.read in place of spark.readStream"
            expected = "a batch DataFrame"
            raise InvalidParameterError("diagnose", parameter, expected, "a stream", hint=hint)
    if join is not None:
        return _of_join(df, join, by, workers, how, learn, cost_per_row, seed)
    names = check_by(df, cast(By, by), owner="diagnose", nested=True)
    size = sample_size(workers) if rows is None else check_int("diagnose", "rows", rows, minimum=1)
    profile = profile_pass(df, names) if learn == "pass" else profile_sample(df, names, size, seed)
    if time is not None:
        profile = replace(profile, drift_seen=drift_over(df, names, time))
    found = diagnose_profile(
        profile,
        workers,
        stream=name,
        by=names,
        work=work,
        cost_per_row=cost_per_row,
        batch=True,
        groupings=_schemes(workers, seed),
        seed=seed,
    )
    return TableDiagnosis(**{each.name: getattr(found, each.name) for each in fields(found)})


def _of_join(
    left: DataFrame,
    right: DataFrame,
    on: On,
    workers: int,
    how: str,
    learn: str,
    cost_per_row: float | None,
    seed: int,
) -> JoinDiagnosis:
    """Learn both sides of a join and compare the ways to run it."""
    kind = check_how("diagnose", how)
    question = check_sides("diagnose", left, right, on, kind, merged=True).question(kind)
    if cost_per_row is not None:
        check_real("diagnose", "cost_per_row", cost_per_row, above=0)
    learned = learn_join(question, workers, learn=learn, seed=seed)
    if not any(learned.rows):
        raise StreamError("diagnose: neither side of the join has any rows.")
    copying = copying_for(kind, free=True)
    plan = plan_learned(question, learned, workers, copying, worthwhile=None)
    sizes = row_bytes(left.schema), row_bytes(right.schema)
    settings = Settings.of(left.sparkSession)
    return diagnose_join(learned.counts, plan, sizes, settings, cost_per_row)


def _schemes(workers: int, seed: int) -> dict[str, Grouping]:
    """Return the schemes that place rows on Spark, as far as they can be made."""
    on_spark = runnable()
    schemes = {spec: one for spec, one in schemes_to_compare().items() if one.name in on_spark}
    return make_all(schemes, workers, costs=False, seed=seed)[0]


class _Counted(NamedTuple):
    """The hottest keys (``id``, ``rows``, ``name``, ``null``), and how many there are of all."""

    table: pa.Table
    rows: int
    keys: int


def profile_pass(df: DataFrame, by: By) -> KeyProfile:
    """Return the profile of all rows, from one aggregation over them; counts are exact."""
    counted = _count(df, by, MOST_KEYS)
    shown = int(pc.sum(counted.table["rows"]).as_py() or 0)
    return _profile(
        counted.table,
        tail_keys=counted.keys - counted.table.num_rows,
        tail_rows=counted.rows - shown,
    )


def profile_sample(df: DataFrame, by: By, rows: int, seed: int = 0) -> KeyProfile:
    """Return the profile of about ``rows`` rows that chance picks, of all if there are no more.

    Of the others only the number is known, and roughly that of their keys.
    """
    whole = df.agg(
        sf.count("*").alias("rows"), sf.approx_count_distinct(identity(df, by)).alias("keys")
    ).collect()[0]
    if whole["rows"] <= rows:
        return profile_pass(df, by)
    room = rows + 5 * math.isqrt(rows)  # a sample is this large at most, but for bad luck
    sampled = df.sample(fraction=rows / whole["rows"], seed=seed).limit(room)
    table = _count(sampled, by, room).table
    return _profile(table, rows=whole["rows"], distinct=whole["keys"])


def _count(df: DataFrame, by: By, most: int) -> _Counted:
    """Count the rows of each key in one job, and bring back the ``most`` frequent."""
    names = check_by(df, by, nested=True)
    (rows,) = free_names(df, 1)
    keys = df.groupBy(*key_columns(df, names)).agg(sf.count("*").alias(rows))
    seen = Observation()
    totals = (sf.sum(rows).alias("rows"), sf.count("*").alias("keys"))
    table = to_arrow(
        keys.observe(seen, *totals)
        .select(
            identity(keys, names).alias("id"),
            sf.col(rows).alias("rows"),
            sf.left(_text(names), sf.lit(_LONGEST_NAME)).alias("name"),
            _is_null(names).alias("null"),
        )
        .orderBy(sf.desc("rows"), "id")
        .limit(most)
    )
    again = version_of(df.sparkSession) < OBSERVED_ONCE
    total = keys.agg(*totals).collect()[0] if again else seen.get
    return _Counted(table, int(total["rows"] or 0), int(total["keys"] or 0))


def _text(names: list[str]) -> Column:
    texts = [sf.col(quoted(name)).cast("string") for name in names]
    if len(texts) > 1:  # of several columns a null is written without quotes, the text with them
        texts = [
            sf.coalesce(sf.when(text == "null", '"null"').otherwise(text), sf.lit("null"))
            for text in texts
        ]
    return sf.concat_ws(", ", *texts)


def _is_null(names: list[str]) -> Column:
    """Return whether the key is null; of several columns none makes it so."""
    return sf.col(quoted(names[0])).isNull() if len(names) == 1 else sf.lit(False)


def _profile(table: pa.Table, **known: float) -> KeyProfile:
    null_rows = pc.sum(pc.filter(table["rows"], table["null"])).as_py() or 0
    table = table.filter(pc.invert(table["null"]))
    ids = identities(table["id"])
    names = table["name"][:_NAMED_KEYS].to_pylist()
    return KeyProfile.from_counts(
        ids,
        table["rows"].to_numpy().astype(np.float64),
        null_rows=null_rows,
        names=dict(zip(ids[:_NAMED_KEYS].tolist(), names, strict=True)),
        **known,
    )


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
    table = to_arrow(parts.groupBy("part", others.alias("id")).agg(sf.count("*").alias("rows")))
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
    got = f"{time}, of type {kinds[time].simpleString()}"
    raise InvalidParameterError("diagnose", "time", expected, got, hint="cast it first")


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


def _stretches(table: pa.Table) -> list[DriftWindow]:
    """Return what was counted of each part, in the order of time."""
    stretches = []
    for part in sorted(table["part"].unique().to_pylist()):
        own = table.filter(pa.compute.equal(table["part"], part))
        total = float(pa.compute.sum(own["rows"]).as_py())
        known = own.filter(own["id"].is_valid())
        ids = identities(known["id"])
        order = np.argsort(ids)
        rows = known["rows"].to_numpy().astype(np.float64)[order]
        stretches.append(DriftWindow(KeyCounts(ids[order], rows, np.empty(0)), total))
    return stretches
