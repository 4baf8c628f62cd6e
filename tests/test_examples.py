"""The programs in examples/ run, and print what the documentation says they print."""

import importlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from tests.cheap_settings import PARTITIONS

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


@programs("before_and_after")
def test_the_picture_of_the_readme_shows_what_workers_get(
    spark: SparkSession, example: Any, tmp_path: Path
) -> None:
    loads = example.main(spark, tmp_path / "picture.svg")
    assert sum(loads["key"]) == sum(loads["wrap"])
    readme = (ROOT / "README.md").read_text()
    picture = (tmp_path / "picture.svg").read_text()
    for rows in loads.values():
        times = f"{max(rows) * len(rows) / sum(rows):.2f}"
        assert f"{times} × the mean" in picture
        assert f"{times} times" in readme


@programs("spark_join")
def test_the_planned_join_is_the_plain_one_and_even(
    spark: SparkSession, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    threshold = str(spark.conf.get("spark.sql.autoBroadcastJoinThreshold"))
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        joined = example.main(spark)
        printed = capsys.readouterr().out.splitlines()
        assert printed[0] in (ROOT / "docs" / "joins.md").read_text()
        counted = [rows.groupBy(*rows.columns).count() for rows in joined.values()]
        assert counted[0].exceptAll(counted[1]).count() == 0
        assert counted[1].exceptAll(counted[0]).count() == 0
        loads = example.rows_per_worker(joined["planned"])
        assert max(loads) < 1.1 * sum(loads) / example.WORKERS
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)


@programs("spark_map_rows")
def test_mapped_rows_are_those_of_a_plain_map(
    spark: SparkSession, example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example, "SECONDS", {kind: s / 10 for kind, s in example.SECONDS.items()})
    tweets = example.tweets(spark)
    expected = sorted(map(tuple, tweets.select("id", sf.upper("mention")).collect()))
    results = example.main(spark)
    asked = results.pop("map_rows, in flight").collect()
    for result in results.values():
        assert sorted(map(tuple, result.collect())) == expected
    answered = [row[:2] for row in asked if row.dead_letter is None]
    assert sorted(answered) == [row for row in expected if row[0] % 1000 != 7]
    failed = [row.dead_letter for row in asked if row.dead_letter]
    assert sorted(letter.row.id for letter in failed) == [7, 1007, 2007, 3007]
    assert {letter.error for letter in failed} == {"LookupError: the service knows nothing of it"}


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


COOKBOOK = ROOT / "docs" / "cookbook"


def documented(page: str, printed: str) -> bool:
    """Whether the page has the table that the program printed."""
    table = [line for line in printed.splitlines() if line.startswith("|")]
    return len(table) > 3 and "\n".join(table) in (COOKBOOK / page).read_text()


def test_every_page_of_the_cookbook_is_listed_and_names_a_program() -> None:
    pages = {path.name for path in COOKBOOK.glob("*.md")} - {"README.md"}
    index = (COOKBOOK / "README.md").read_text()
    for page in pages:
        assert f"({page})" in index
        (program,) = set(re.findall(r"python (examples/\w+\.py)", (COOKBOOK / page).read_text()))
        assert (ROOT / program).exists()


@pytest.fixture
def eight_partitions(spark: SparkSession) -> Iterator[None]:
    """Shuffle into eight partitions, and leave them apart."""
    wanted = {PARTITIONS: "8", "spark.sql.adaptive.coalescePartitions.enabled": "false"}
    before = {name: str(spark.conf.get(name)) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@programs("cookbook_tasks")
def test_tasks_are_even_and_users_stay_together(
    spark: SparkSession, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    hashed, spread, ours = example.main(spark).values()
    assert documented("199-of-200-tasks.md", capsys.readouterr().out)
    assert ours[0] < 1.1 < hashed[0]
    assert ours[1] < 1.1 < spread[1]


@programs("cookbook_pandas")
@pytest.mark.usefixtures("eight_partitions")
def test_no_call_holds_a_whole_hot_group(
    spark: SparkSession, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, ours = example.main(spark).values()
    assert plain[0] >= example.ROWS // 2
    assert ours[0] < plain[0] / 4
    assert ours[1] < 1.1 * example.ROWS / example.WORKERS


@programs("cookbook_files")
@pytest.mark.usefixtures("eight_partitions")
def test_a_write_has_few_files_and_even_tasks(
    spark: SparkSession, example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(spark, tmp_path)
    assert documented("thousands-of-tiny-files.md", capsys.readouterr().out)


@programs("cookbook_windows")
@pytest.mark.usefixtures("eight_partitions")
def test_the_window_is_sparks_own_and_even(
    spark: SparkSession, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, cut = example.main(spark)
    assert documented("window-never-ends.md", capsys.readouterr().out)
    assert cut.exceptAll(plain).count() == plain.exceptAll(cut).count() == 0


@programs("cookbook_distinct")
def test_spark_counts_distinct_values_evenly(
    spark: SparkSession, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(spark)
    assert documented("count-distinct-by-tenant.md", capsys.readouterr().out)


@programs("cookbook_calls")
def test_slow_calls_are_spread(spark: SparkSession, example: Any) -> None:
    found = example.main(spark)
    assert found["as read"] == pytest.approx(2.8, abs=0.01)
    assert found["us.map_rows"] < 1.5


@programs("cookbook_state")
@pytest.mark.usefixtures("eight_partitions")
def test_the_state_is_even(
    spark: SparkSession, example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    example.main(spark)
    assert documented("state-of-one-partition.md", capsys.readouterr().out)
