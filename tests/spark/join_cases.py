"""What the tests of joins share: tables, plans that were learned from nothing, comparisons."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from unskew.groupings.plan import HASHED_MEMBER
from unskew.scheduling import Pieces
from unskew.spark.plans.join_plan import JoinPlan

WORKERS = 4
HOWS = ("inner", "left", "right", "full", "semi", "anti")
KEYS = tuple(range(5))

small_keys = st.lists(st.sampled_from([*KEYS, None]), max_size=12)


def table(spark: SparkSession, keys: list[int | None], name: str) -> DataFrame:
    """Rows with these keys and a number each; a side may be empty."""
    columns = {"k": pa.array(keys, pa.int64()), name: pa.array(range(len(keys)), pa.int64())}
    return spark.createDataFrame(pa.table(columns))


def rows_of(df: DataFrame) -> Counter[Any]:
    return Counter(map(tuple, df.collect()))


def key_ids(spark: SparkSession) -> np.ndarray[Any, Any]:
    """The identities of `KEYS`, as Spark hashes them."""
    numbers = spark.range(len(KEYS)).select(sf.xxhash64("id")).orderBy("id").collect()
    return np.array([row[0] for row in numbers], np.int64).view(np.uint64)


@st.composite
def grids(draw: st.DrawFn) -> list[tuple[int, int, list[int]]]:
    """Rows, columns and workers of a grid for each of `KEYS`: any at all."""
    found = []
    for _ in KEYS:
        high = draw(st.integers(1, WORKERS))
        wide = draw(st.integers(1, WORKERS // high))
        places = draw(st.permutations(range(WORKERS)))
        found.append((high, wide, list(places[: high * wide])))
    return found


def plan_of(
    ids: np.ndarray[Any, Any], grids: list[tuple[int, int, list[int]]], how: str, **about: Any
) -> JoinPlan:
    """A plan that cuts `KEYS` so, whatever the rows are."""
    cells = [len(places) for _, _, places in grids]
    workers = np.concatenate([places for _, _, places in grids]).astype(np.int32)
    return JoinPlan(
        **{
            "workers": WORKERS,
            "slot_member": HASHED_MEMBER,
            "slot_workers": np.arange(8, dtype=np.int32) % WORKERS,
            "hot_ids": ids,
            "pieces": Pieces(np.cumsum([0, *cells]), workers, np.ones(workers.size)),
            "predicted_loads": np.ones(WORKERS),
            "by": ("k",),
            "types": ("bigint",),
            "other_by": ("k",),
            "how": how,
            "grid_columns": np.array([wide for _, wide, _ in grids]),
            "left_shares": np.concatenate([np.full(high, 1 / high) for high, _, _ in grids]),
            "right_shares": np.concatenate([np.full(wide, 1 / wide) for _, wide, _ in grids]),
            "null_shares": np.full(WORKERS, 1 / WORKERS),
            "hashed_loads": np.ones(WORKERS),
            **about,
        }
    )
