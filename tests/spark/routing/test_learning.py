import numpy as np
import pyarrow as pa
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

from unskew.errors import InvalidParameterError, NotLearnedError
from unskew.groupings.registry import make_grouping
from unskew.groupings.wrap import Wrap
from unskew.hashing import identities
from unskew.spark.balance import balance
from unskew.spark.columns import identity
from unskew.spark.routing.learning import learn, learn_placing
from unskew.spark.routing.schemes import grouping_for

WORKERS = 6


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Key 0 has 6,000 of 24,000 rows, keys 1 … 9 have 600 each, 12,600 keys have one each."""
    keys = np.concatenate([np.zeros(6000), np.repeat(np.arange(1, 10), 600), np.arange(10, 12_610)])
    shuffled = np.random.default_rng(1).permutation(keys.astype(np.int64))
    return spark.createDataFrame(pa.table({"key": shuffled}))


def made(spec: str, workers: int = WORKERS) -> Wrap:
    grouping = grouping_for(spec, workers)
    assert isinstance(grouping, Wrap)
    return grouping


def id_of(rows: DataFrame, key: int) -> np.uint64:
    found = rows.where(f"key = {key}").select(identity(rows, "key").alias("id")).limit(1).toArrow()
    return np.uint64(identities(found["id"])[0])


@pytest.mark.parametrize("how", ["sample", "pass"])
def test_wrap_splits_the_hottest_key_and_makes_few_pieces(rows: DataFrame, how: str) -> None:
    plan = learn(rows, identity(rows, "key"), made("wrap"), how=how).plan
    assert plan.hot_ids[0] == id_of(rows, 0)
    assert plan.pieces.starts[1] > 1
    assert plan.extra_pieces <= WORKERS - 1


def test_a_pass_counts_every_slot_exactly(rows: DataFrame) -> None:
    key = identity(rows, "key")
    spec = "wrap:decay=1"
    by_pass = learn(rows, key, made(spec), how="pass")
    ids = identities(rows.select(key.alias("id")).toArrow()["id"])
    by_hand = made(spec).learn(ids)
    np.testing.assert_array_equal(by_pass._slot_loads, by_hand._slot_loads)
    assert by_pass._summary.total == by_hand._summary.total == 24_000
    mine, others = by_pass._summary.items(), by_hand._summary.items()
    np.testing.assert_array_equal(mine[0][:10], others[0][:10])
    assert mine[1][:10].tolist() == [6000.0] + [600.0] * 9
    assert not mine[2].any()


def test_a_pass_works_where_slots_are_no_power_of_two(rows: DataFrame) -> None:
    plan = learn_placing(
        rows, identity(rows, "key"), grouping_for("distribution-aware", 7), how="pass"
    ).plan
    assert plan.slot_workers.size == 14
    assert plan.predicted_loads.sum() == 24_000
    assert plan.hot_ids.size == 1


def test_a_sample_is_bounded_and_whole_where_rows_are_few(rows: DataFrame) -> None:
    key = identity(rows, "key")
    few = learn(rows, key, made("wrap:decay=1"), rows=1000)
    whole = learn(rows, key, made("wrap:decay=1"), rows=24_000)
    assert 800 <= few._summary.total <= 1000 + 5 * 32
    assert whole._summary.total == 24_000


def test_equal_seeds_give_equal_plans(rows: DataFrame) -> None:
    key = identity(rows, "key")
    one, other = (learn(rows, key, made("wrap"), rows=2000, seed=5).plan for _ in range(2))
    np.testing.assert_array_equal(one.slot_workers, other.slot_workers)
    np.testing.assert_array_equal(one.hot_ids, other.hot_ids)


@pytest.mark.parametrize("how", ["sample", "pass"])
@pytest.mark.parametrize(("frequency", "popular"), [(0.1, 1), (0.02, 10), (0.5, 0)])
def test_counted_popularity_shuffles_exactly_the_keys_that_reach_its_frequency(
    rows: DataFrame, how: str, frequency: float, popular: int
) -> None:
    grouping = grouping_for(f"popularity-counted:frequency={frequency}", WORKERS)
    plan = learn_placing(rows, identity(rows, "key"), grouping, how=how).plan
    assert sorted(plan.hot_ids) == sorted(id_of(rows, key) for key in range(popular))
    assert plan.pieces.workers.tolist() == list(range(WORKERS)) * popular


@pytest.mark.parametrize(
    ("values", "spread_by"),
    [
        ("id", ("a",)),  # each row has its own
        ("id % 3", ("a", "b")),  # three values say too little, with another column they do
        ("cast(null as bigint)", ("a", "b")),
    ],
)
def test_a_sample_shows_the_fewest_columns_that_tell_rows_apart(
    rows: DataFrame, values: str, spread_by: tuple[str, ...]
) -> None:
    numbered = rows.withColumn("id", sf.monotonically_increasing_id())
    df = numbered.selectExpr("key", f"{values} a", "cast(id as double) b", "id % 2 c")
    learned = learn_placing(
        df, identity(df, "key"), made("wrap"), how="sample", likely=["a", "b", "c"]
    )
    assert learned.plan.n_split_keys
    assert learned.spread_by == spread_by


@pytest.mark.parametrize(
    ("name", "how", "likely"),
    [
        ("wrap", "sample", ["alike"]),
        ("popularity-counted", "sample", ["alike"]),
        ("wrap", "sample", []),
        ("wrap", "pass", ["id"]),  # counts say nothing about other columns
        ("distribution-aware", "sample", ["id"]),  # splits no key
        ("key", "sample", ["id"]),
    ],
)
def test_without_evidence_rows_are_not_spread_by_columns(
    rows: DataFrame, name: str, how: str, likely: list[str]
) -> None:
    df = rows.withColumn("alike", sf.lit("x")).withColumn("id", sf.monotonically_increasing_id())
    grouping = grouping_for(name, WORKERS)
    learned = learn_placing(df, identity(df, "key"), grouping, how=how, likely=likely)
    assert learned.spread_by == ()


def test_what_is_built_is_not_learned_again(rows: DataFrame) -> None:
    key = identity(rows, "key")
    grouping = learn(rows, key, made("wrap"), how="pass")
    assert learn_placing(rows, key, grouping, how="sample").plan is grouping.plan


def test_the_object_of_the_user_is_left_as_it_is(rows: DataFrame) -> None:
    grouping = Wrap(WORKERS)
    balance(rows, "key", WORKERS, grouping=grouping)
    assert not grouping.is_built
    assert grouping._summary.total == 0


def test_a_stream_cannot_be_learned_from(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(InvalidParameterError, match="a stream"):
        balance(stream, "value", 4)


@pytest.mark.parametrize("name", ["key", "shuffle", "partial-key"])
def test_schemes_that_learn_nothing_place_a_stream(spark: SparkSession, name: str) -> None:
    stream = spark.readStream.format("rate").load()
    assert balance(stream, "value", 4, grouping=name).isStreaming


def test_bad_ways_to_learn_are_refused(rows: DataFrame) -> None:
    key = identity(rows, "key")
    with pytest.raises(InvalidParameterError, match="how"):
        learn(rows, key, made("wrap"), how="guess")
    with pytest.raises(InvalidParameterError, match="rows"):
        learn(rows, key, made("wrap"), rows=0)
    with pytest.raises(NotLearnedError, match="row by row"):
        learn_placing(rows, key, make_grouping("partial-key", WORKERS), how="sample")
