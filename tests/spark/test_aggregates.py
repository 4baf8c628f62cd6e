"""Shipped aggregates give what plain Spark, NumPy or a definition written out gives."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from unskew.errors import InvalidParameterError
from unskew.spark import aggregates as us
from unskew.spark.group_by import group_by

_WORKERS = 5
_GROUPINGS = [
    "key",
    "shuffle",
    "single",
    "distribution-aware",
    "popularity",
    "popularity-counted",
    "wrap",
    "partial-key",
    "d-choices",
    "w-choices",
    "dynamic-key",
]
_EDGES = [-10.0, 0.0, 2.5, 7.0, 10.0]
_RANKS = [0.0, 0.25, 0.5, 1.0]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Iterator[DataFrame]:
    """Zipf keys (some null), numbers of every kind with nulls, whole or exact in doubles."""
    keys = np.random.default_rng(3).zipf(1.6, 6_000).clip(max=60).tolist()
    values = [
        (
            None if key % 7 == 3 else f"k{key}",
            None if i % 11 == 0 else (i * 7919) % 2_003 - 1_000,
            None if i % 13 == 0 else Decimal((i * 104_729) % 100_003).scaleb(-2),
            None if i % 17 == 0 else ((i * 31) % 641 - 320) / 32,
            math.nan if i % 501 == 0 else ((i * 17) % 977) * 0.1,
            f"w{(i * i) % 23}",
        )
        for i, key in enumerate(keys)
    ]
    schema = "k string, i bigint, d decimal(12,2), x double, y double, w string"
    df = spark.createDataFrame(values, schema).repartition(3).cache()
    df.count()
    yield df
    df.unpersist()


def _ours() -> list[Column]:
    return [
        sf.count("*").alias("n"),
        sf.count("i").alias("n_i"),
        sf.sum("i").alias("sum_i"),
        sf.sum("d").alias("sum_d"),
        sf.sum("x").alias("sum_x"),
        sf.min("w").alias("min_w"),
        sf.max("y").alias("max_y"),
        sf.avg("i").alias("avg_i"),
        sf.avg("d").alias("avg_d"),
        sf.approx_count_distinct("i").alias("about_i"),
        us.collect_sorted_set("w").alias("set_w"),
        us.histogram("x", _EDGES).alias("hist_x"),
        us.top_k("w", 3).alias("top_w"),
    ]


def _sparks() -> list[Column]:
    x = sf.col("x")
    return [
        sf.count("*").alias("n"),
        sf.count("i").alias("n_i"),
        sf.sum("i").alias("sum_i"),
        sf.sum("d").alias("sum_d"),
        sf.sum("x").alias("sum_x"),
        sf.min("w").alias("min_w"),
        sf.max("y").alias("max_y"),
        sf.avg("i").alias("avg_i"),
        sf.avg("d").alias("avg_d"),
        sf.approx_count_distinct("i").alias("about_i"),
        sf.array_sort(sf.collect_set("w")).alias("set_w"),
        sf.array(
            sf.sum(((x >= -10) & (x < 0)).cast("int")).cast("bigint"),
            sf.count(sf.when((x >= 0) & (x < 2.5), 1)),
            sf.count(sf.when((x >= 2.5) & (x < 7), 1)),
            sf.count(sf.when((x >= 7) & (x <= 10), 1)),
        ).alias("hist_x"),
    ]


@pytest.fixture(scope="module")
def plain(rows: DataFrame) -> dict[Any, dict[str, Any]]:
    return _by_key(rows.groupBy("k").agg(*_sparks()))


def _by_key(df: DataFrame) -> dict[Any, dict[str, Any]]:
    found = {row["k"]: row.asDict(recursive=True) for row in df.collect()}
    return {
        key: {name: str(v) if v != v else v for name, v in row.items()}
        for key, row in found.items()
    }


@pytest.mark.parametrize("grouping", _GROUPINGS)
def test_exact_aggregates_are_those_of_plain_spark_under_every_grouping(
    rows: DataFrame, plain: dict[Any, dict[str, Any]], grouping: str
) -> None:
    # Doubles are multiples of 1/32 here, so that even their sums are exact in any order.
    got = _by_key(group_by(rows, "k", workers=_WORKERS, grouping=grouping).agg(*_ours()))
    top = {key: row.pop("top_w") for key, row in got.items()}
    assert got == plain
    counts: defaultdict[Any, Counter[str]] = defaultdict(Counter)
    for row in rows.select("k", "w").collect():
        counts[row["k"]][row["w"]] += 1
    assert top == {
        key: [
            {"item": word, "count": n}
            for word, n in sorted(of_key.items(), key=lambda pair: (-pair[1], pair[0]))[:3]
        ]
        for key, of_key in counts.items()
    }


@pytest.mark.parametrize("grouping", ["shuffle", "wrap"])
def test_count_distinct_is_exact_also_where_keys_are_split(rows: DataFrame, grouping: str) -> None:
    expected = _by_key(rows.groupBy("k").agg(sf.count_distinct("i", "w").alias("n")))
    placed = group_by(rows, "k", workers=_WORKERS, grouping=grouping)
    assert _by_key(placed.agg(sf.count_distinct("i", "w").alias("n"))) == expected


def test_rounding_is_all_that_placement_changes_in_sums_of_doubles(rows: DataFrame) -> None:
    # Tolerance: a sum of n doubles in any order is off by less than n · 2⁻⁵³ of Σ|y|.
    placed = group_by(rows.where("not isnan(y)"), "k", workers=_WORKERS, grouping="shuffle")
    got = placed.agg(
        sf.sum("y").alias("sum"),
        us.weighted_mean("y", "i").alias("mean"),
        sf.var_samp("y").alias("sample"),
        sf.var_pop("y").alias("population"),
        sf.collect_list(sf.struct("y", "i")).alias("rows"),
    ).collect()
    assert len(got) > 10
    for row in got:
        values = [one["y"] for one in row["rows"]]
        n = len(values)
        assert row["sum"] == pytest.approx(math.fsum(values), rel=n * 2**-53, abs=0)
        exact = [Fraction(value) for value in values]
        mean = sum(exact) / n
        moment = float(sum((value - mean) ** 2 for value in exact))
        assert row["population"] == pytest.approx(moment / n, rel=1e-12)
        if n > 1:
            assert row["sample"] == pytest.approx(moment / (n - 1), rel=1e-12)
        pairs = [(one["y"], one["i"]) for one in row["rows"] if one["i"] is not None]
        total = sum(i for _, i in pairs)
        if total:
            vwap = math.fsum(y * i for y, i in pairs) / total
            size = math.fsum(abs(y * i) for y, i in pairs) / abs(total)
            assert row["mean"] == pytest.approx(vwap, abs=size * n * 2**-52)


def test_quantiles_are_exact_for_small_groups_and_near_for_large_ones(rows: DataFrame) -> None:
    got = group_by(rows, "k", workers=_WORKERS, grouping="shuffle").agg(
        us.quantiles("y", _RANKS).alias("q"), sf.collect_list("y").alias("all")
    )
    sizes = []
    for row in got.collect():
        values = sorted(value for value in row["all"] if value == value)
        n = len(values)
        sizes.append(n)
        for rank, value in zip(_RANKS, row["q"], strict=True):
            if n < 800:
                assert value == values[max(math.ceil(rank * n) - 1, 0)]
            # The allowed error is four times that of 99 % confidence.
            low = np.searchsorted(values, value, "left") / n
            high = np.searchsorted(values, value, "right") / n
            assert low - 0.016 <= rank <= high + 0.016
    assert min(sizes) < 800 < max(sizes)


def test_aggregates_of_nothing_but_nulls_say_so(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", None, 1.0), ("a", None, 1.0)], "k string, x double, o double")
    row = (
        group_by(df, "k", workers=3, grouping="shuffle")
        .agg(
            sf.count("x").alias("count"),
            sf.sum("x").alias("sum"),
            sf.min("x").alias("min"),
            sf.max("x").alias("max"),
            sf.avg("x").alias("avg"),
            us.weighted_mean("x", "o").alias("weighted"),
            us.weighted_mean("o", sf.lit(0)).alias("weightless"),
            sf.var_samp("x").alias("variance"),
            us.collect_sorted_set("x").alias("set"),
            us.histogram("x", [0, 1]).alias("histogram"),
            us.quantiles("x", [0.5]).alias("quantiles"),
            us.top_k("x", 1).alias("top"),
        )
        .collect()[0]
        .asDict(recursive=True)
    )
    assert row == {
        "k": "a",
        "count": 0,
        "set": [],
        "histogram": [0],
        "top": [{"item": None, "count": 2}],
        **dict.fromkeys(
            ["sum", "min", "max", "avg", "weighted", "weightless", "variance", "quantiles"]
        ),
    }


def test_histogram_is_that_of_numpy(spark: SparkSession) -> None:
    values = [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 3.5, float("inf")]
    edges = [0.0, 0.5, 2.0, 3.0]
    df = spark.createDataFrame([(1, value) for value in [*values, math.nan]], "k int, x double")
    row = (
        group_by(df, "k", workers=2, grouping="key")
        .agg(us.histogram("x", edges).alias("h"))
        .collect()
    )
    assert row[0]["h"] == np.histogram(values, edges)[0].tolist()


@pytest.mark.parametrize(
    ("make", "parameter"),
    [
        (lambda: us.top_k("x", 0), "k"),
        (lambda: us.top_k("x", 11, capacity=10), "k"),
        (lambda: us.histogram("x", [1.0]), "edges"),
        (lambda: us.histogram("x", [1.0, 1.0]), "edges"),
        (lambda: us.histogram("x", [1.0, math.nan]), "edges"),
        (lambda: us.quantiles("x", []), "ranks"),
        (lambda: us.quantiles("x", [1.1]), "ranks"),
        (lambda: us.quantiles("x", [0.5], k=7), "k"),
    ],
)
def test_a_bad_parameter_is_refused_when_the_query_is_built(
    spark: SparkSession, make: Any, parameter: str
) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        make()
    assert refused.value.parameter == parameter
