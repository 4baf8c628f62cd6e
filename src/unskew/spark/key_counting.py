"""Profile the keys of a DataFrame: native aggregation, and a bounded table comes back."""

import math
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame, Observation

from unskew.advisor.profile import KeyProfile
from unskew.hashing import identities
from unskew.spark.keys import By, check_by, identity, quoted
from unskew.spark.placement import free_names

MOST_KEYS = 100_000
"""So many of the hottest keys of a whole pass come back one by one; the others as a sum."""

_NAMED_KEYS = 100
_LONGEST_NAME = 100


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
    names = check_by(df, by)
    (rows,) = free_names(df, 1)
    keys = df.groupBy(*(sf.col(quoted(name)) for name in names)).agg(sf.count("*").alias(rows))
    seen = Observation()
    totals = (sf.sum(rows).alias("rows"), sf.count("*").alias("keys"))
    table = (
        keys.observe(seen, *totals)
        .select(
            identity(keys, names).alias("id"),
            sf.col(rows).alias("rows"),
            sf.left(_text(names), sf.lit(_LONGEST_NAME)).alias("name"),
            _is_null(names).alias("null"),
        )
        .orderBy(sf.desc("rows"), "id")
        .limit(most)
        .toArrow()
    )
    total = seen.get
    return _Counted(table, int(total["rows"] or 0), int(total["keys"] or 0))


def _text(names: list[str]) -> Column:
    texts = [sf.coalesce(sf.col(quoted(name)).cast("string"), sf.lit("null")) for name in names]
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
