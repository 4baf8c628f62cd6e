from dataclasses import replace

import numpy as np
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession
from tests.groupings.spreading import spread_planned

from unskew.groupings.plan import HASHED_MEMBER, Plan, hashing_plan
from unskew.groupings.split_tables import POSITION_MASK
from unskew.hashing import identities
from unskew.scheduling import Pieces
from unskew.spark.routing.contents import (
    MOST_DEVIATION,
    content_deviation,
    content_position,
    likely_columns,
)

HOT, WARM = np.uint64(1 << 40), np.uint64(9)


def plan_of(*shares: list[float]) -> Plan:
    """Two hot keys, each cut over the first workers of four in these shares."""
    counts = [len(each) for each in shares]
    return replace(
        hashing_plan(4, HASHED_MEMBER, 4),
        hot_ids=np.array([HOT, WARM][: len(shares)], np.uint64),
        pieces=Pieces(
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([np.arange(count) for count in counts]).astype(np.int32),
            np.concatenate([np.array(each) for each in shares]),
        ),
    )


def loads_by_chance(contents: np.ndarray, plan: Plan, seed: int) -> np.ndarray:
    """Spread rows of the hot key by a random position for each content."""
    kinds, at = np.unique(contents, return_inverse=True)
    positions = np.random.default_rng(seed).integers(0, 1 << 32, kinds.size)[at]
    ids = np.full(contents.size, HOT, np.uint64)
    return np.bincount(spread_planned(ids, positions, plan), minlength=plan.workers)


@pytest.mark.parametrize("times", [1, 10, 100])
def test_the_deviation_is_what_many_placings_show(times: int) -> None:
    plan = plan_of([3.0, 1.0])
    contents = np.arange(20_000, dtype=np.uint64) // np.uint64(times)
    draws = np.array([loads_by_chance(contents, plan, seed)[0] for seed in range(400)])
    ids = np.full(contents.size, HOT, np.uint64)
    said = content_deviation(ids, contents, plan, rows=contents.size)
    # The spread of 400 draws is itself off by some 4 %.
    assert said == pytest.approx(draws.std() / (contents.size / 4), rel=0.15)


@pytest.mark.parametrize("times", [1, 1000])
def test_a_sample_says_what_all_rows_would_say(times: int) -> None:
    plan = plan_of([3.0, 1.0])
    rng = np.random.default_rng(1)
    contents = rng.permutation(np.arange(400_000, dtype=np.uint64) // np.uint64(times))
    ids = np.full(contents.size, HOT, np.uint64)
    whole = content_deviation(ids, contents, plan, rows=contents.size)
    part = content_deviation(ids[:20_000], contents[:20_000], plan, rows=contents.size)
    assert part == pytest.approx(whole, rel=0.1)


def test_rows_of_keys_that_are_whole_do_not_count() -> None:
    ids = np.concatenate([np.full(1000, HOT), np.full(1000, WARM), np.full(1000, 5)])
    plan = plan_of([1.0, 1.0], [1.0])
    contents = np.concatenate([np.arange(1000), np.full(1000, 5000), np.full(1000, 6000)])
    ids, contents = ids.astype(np.uint64), contents.astype(np.uint64)
    assert content_deviation(ids, contents, plan, rows=1 << 40) < 1e-4
    swapped = plan_of([1.0], [1.0, 1.0])
    assert content_deviation(ids, contents, swapped, rows=1 << 40) > 0.5


def test_one_content_of_many_rows_is_too_much() -> None:
    ids = np.full(10_000, HOT, np.uint64)
    contents = np.arange(10_000, dtype=np.uint64)
    contents[:500] = 0
    assert content_deviation(ids, contents, plan_of([1.0, 1.0]), rows=1 << 40) > MOST_DEVIATION


def test_few_rows_are_too_uneven_by_chance_alone() -> None:
    ids, contents = np.full(1000, HOT, np.uint64), np.arange(1000, dtype=np.uint64)
    plan = plan_of([1.0, 1.0])
    assert content_deviation(ids, contents, plan, rows=1000) > MOST_DEVIATION
    assert content_deviation(ids, contents, plan, rows=1_000_000) <= MOST_DEVIATION


def test_likely_columns_are_few_narrow_ones_beside_the_key(spark: SparkSession) -> None:
    df = spark.sql(
        "select 1L key, 'a' text, 'a' collate UNICODE_CI loose, true flag, map('a', 1) pairs, "
        "array(1) list, 1.0D ratio, 7 number, timestamp'2020-01-01' time, x'00' bytes"
    )
    assert likely_columns(df, ["key"]) == ["time", "ratio", "number"]
    assert likely_columns(df.select("key", "text", "flag", "loose", "pairs"), ["key"]) == ["text"]
    assert likely_columns(df.select("key", "flag", "list"), ["key"]) == []


def test_likely_columns_have_a_name_of_their_own(spark: SparkSession) -> None:
    df = spark.sql("select 1L key, 1L a, 2L A, 3L `b.c`")
    assert likely_columns(df, ["key"]) == ["b.c"]


def test_positions_of_contents_are_even_and_differ_between_keys(spark: SparkSession) -> None:
    df = spark.range(20_000).select("id", sf.expr("id % 2").alias("key"), sf.expr("id div 2 v"))
    table = df.select(
        sf.xxhash64("key").alias("h"), "v", content_position(sf.xxhash64("key"), ["v"]).alias("p")
    ).toArrow()
    positions = table["p"].to_numpy()
    assert positions.min() >= 0
    assert positions.max() <= POSITION_MASK
    quarters = np.bincount(positions >> 30, minlength=4)
    assert np.abs(quarters - 5000).max() < 5 * np.sqrt(5000)
    first = identities(table["h"]) == identities(table["h"])[0]
    one, other = positions[first] >> 31, positions[~first] >> 31
    assert abs((one == other).mean() - 0.5) < 5 * 0.5 / np.sqrt(10_000)
