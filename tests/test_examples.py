"""The programs in examples/ run, and print what the documentation says they print."""

import importlib
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import unskew.spark as us

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]


@pytest.fixture
def example(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program of the name that a test asks for."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    module = importlib.import_module(request.param)
    cloudpickle.register_pickle_by_value(module)  # Spark's Python workers cannot import it
    return module


def programs(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("example", names, indirect=True)


@programs("spark_plan")
def test_the_plan_is_the_one_in_the_documentation(
    spark: SparkSession, example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    epochs = example.main(spark, tmp_path)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2
    assert "\n".join(printed) in (ROOT / "docs" / "spark.md").read_text()
    for day in (0, 1):
        by_key, by_plan = (epochs[f"day {day} by {how}"] for how in ("key", "plan"))
        assert by_key.rows == by_plan.rows == 100_000
        assert by_plan.imbalance < 10 < 200 < by_key.imbalance


@programs("spark_map_rows")
def test_mapped_rows_are_those_of_a_plain_map(
    spark: SparkSession, example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "SECONDS", {kind: s / 10 for kind, s in example.SECONDS.items()})
    tweets = example.tweets(spark)
    expected = sorted(map(tuple, tweets.select("id", sf.upper("mention")).collect()))
    for result in example.main(spark).values():
        assert sorted(map(tuple, result.collect())) == expected


@programs("spark_streaming")
@pytest.mark.usefixtures("cheap_streams")
def test_the_plan_follows_the_hot_user_and_the_counts_are_exact(
    spark: SparkSession, example: Any, tmp_path: Path
) -> None:
    counts = example.main(spark, tmp_path)
    events = spark.read.parquet(str(tmp_path / "events"))
    expected = events.groupBy("user").agg(sf.count("*").alias("n"))
    assert sorted(map(tuple, counts.collect())) == sorted(map(tuple, expected.collect()))
    batches = events.count() // example.ROWS
    while len(us.read_epochs(tmp_path / "plans")) < batches:  # the driver hears of the last one
        time.sleep(0.1)
    epochs = us.read_epochs(tmp_path / "plans")
    assert epochs[0].imbalance > 100
    assert epochs[-1].version is not None
    assert epochs[-1].version > (epochs[0].version or 0)
    assert min(epoch.imbalance for epoch in epochs) < 10
