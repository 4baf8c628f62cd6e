import json
from pathlib import Path
from typing import Any

import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew.cli.main import main
from unskew.errors import InvalidParameterError

pytestmark = pytest.mark.spark
WORKERS = 8


def skewed(spark: SparkSession, rows: int = 4_000) -> DataFrame:
    """Half of the rows have one key."""
    number = sf.col("id")
    return spark.range(rows).select(
        sf.when(number % 2 == 0, 0).otherwise(number % 500).alias("k"), number.alias("x")
    )


def keys(spark: SparkSession, times: int = 1) -> DataFrame:
    return spark.range(500 * times).select((sf.col("id") % 500).alias("k"), sf.col("id").alias("y"))


def ways(found: us.JoinDiagnosis) -> dict[str, float | None]:
    return {way.name: way.time for way in found.ways}


@pytest.fixture
def threshold(spark: SparkSession) -> Any:
    """Set Spark's threshold for broadcasts for a while."""
    name = "spark.sql.autoBroadcastJoinThreshold"
    before = str(spark.conf.get(name))
    yield lambda value: spark.conf.set(name, value)
    spark.conf.set(name, before)


def test_a_small_side_is_left_to_a_broadcast(spark: SparkSession, threshold: Any) -> None:
    found = us.diagnose(skewed(spark, 40_000), "k", WORKERS, join=keys(spark), learn="pass")
    assert found.text.startswith("Do nothing: the right side is so small that Spark broadcasts")
    threshold("1KB")
    found = us.diagnose(skewed(spark, 40_000), "k", WORKERS, join=keys(spark), learn="pass")
    assert found.code == 'left.join(sf.broadcast(right), "k", "inner")'


def test_a_full_join_of_hot_keys_is_worth_a_plan(spark: SparkSession) -> None:
    found = us.diagnose(skewed(spark), "k", WORKERS, join=keys(spark, 3), how="outer")
    times = ways(found)
    # Half of all rows in and out are of one key, which hashing gives to one of 8 workers.
    assert 3.0 < (times["plain"] or 0) < 5.0
    assert times["AQE"] == times["plain"]
    assert times["broadcast"] is None
    assert (times["us.join"] or 9) < 1.05
    assert found.code == 'us.join(left, right, "k", "full", workers=8)'
    assert "splits no full join" in repr(found)
    assert "us.join(left, right, &quot;k&quot;" in found._repr_html_()


def test_even_keys_need_nothing(spark: SparkSession) -> None:
    even = spark.range(20_000).withColumnRenamed("id", "k")
    found = us.diagnose(even, "k", 4, join=even, learn="pass")
    assert found.text == "Do nothing: Spark's own join is even enough."


@pytest.mark.slow
def test_adaptive_execution_splits_what_is_above_its_thresholds(
    spark: SparkSession, threshold: Any
) -> None:
    name = "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes"
    size = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    before = {each: str(spark.conf.get(each)) for each in (name, size)}
    try:
        plain = us.diagnose(skewed(spark), "k", WORKERS, join=keys(spark), how="left")
        spark.conf.set(name, "1KB")
        spark.conf.set(size, "2KB")
        tuned = us.diagnose(skewed(spark), "k", WORKERS, join=keys(spark), how="left")
    finally:
        for each, value in before.items():
            spark.conf.set(each, value)
    assert ways(plain)["AQE"] == ways(plain)["plain"]
    assert (ways(tuned)["AQE"] or 9) < 0.5 * (ways(tuned)["plain"] or 0)


@pytest.mark.slow
def test_seconds_follow_from_the_cost_of_a_row(spark: SparkSession) -> None:
    found = us.diagnose(skewed(spark), "k", 8, join=keys(spark, 3), cost_per_row=2.0)
    ours = next(way for way in found.ways if way.name == "us.join")
    out = skewed(spark).join(keys(spark, 3), "k").count()
    assert ours.seconds == pytest.approx(out * 0.002 / 8, rel=0.06)


def test_bad_questions_are_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidParameterError, match="diagnose: on must be among the columns"):
        us.diagnose(skewed(spark), "nope", 8, join=keys(spark))
    with pytest.raises(us.StreamError, match="neither side"):
        us.diagnose(skewed(spark).where("false"), "k", 8, join=keys(spark).where("false"))


@pytest.mark.slow
def test_the_command_prints_the_ways_or_json(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skewed(spark).write.parquet(str(tmp_path / "left"))
    keys(spark, 3).write.parquet(str(tmp_path / "right"))
    asked = ["diagnose", str(tmp_path / "left"), "--by", "k", "--join", str(tmp_path / "right")]
    asked += ["--how", "full", "-w", "8"]
    assert main(asked) == 0
    assert 'us.join(left, right, "k", "full", workers=8)' in capsys.readouterr().out
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [way["name"] for way in found["ways"]] == ["plain", "AQE", "broadcast", "us.join"]
    assert len(found["predicted_loads"]) == len(found["hashed_loads"]) == 8
    assert main([*asked, "--report", "r.html"]) == 2
    assert main(["diagnose", "no such file", "--by", "k", "--join", str(tmp_path / "right")]) == 2
