"""What is said of a write is what the write then makes."""

import json
from collections import defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pyspark.sql.functions as sf
import pytest
from pyspark.sql import DataFrame, SparkSession

import unskew.spark as us
from unskew.cli.main import main
from unskew.errors import InvalidParameterError, StreamError

WORKERS = 6


@pytest.fixture(scope="module")
def sales(spark: SparkSession) -> DataFrame:
    """Half of all rows have one country; every source has rows of every country."""
    country = sf.when(sf.col("id") % 2 == 0, 0).otherwise(sf.col("id") % 31)
    return spark.range(6_000, numPartitions=4).select("id", country.alias("country"))


def written(df: DataFrame, folder: Path) -> tuple[int, int]:
    """Return the number of files, and the rows of the largest task."""
    df.write.partitionBy("country").parquet(str(folder))
    tasks: dict[str, int] = defaultdict(int)
    files = list(folder.rglob("*.parquet"))
    for path in files:
        tasks[path.name.split("-")[1]] += pq.ParquetFile(path).metadata.num_rows
    return len(files), max(tasks.values())


@pytest.mark.slow
def test_each_way_makes_the_files_that_are_told(sales: DataFrame, tmp_path: Path) -> None:
    found = us.diagnose_write(sales, "country", WORKERS)
    ways = {way.name: way for way in found.ways}
    placed = {
        "as read": sales,
        f'repartition({WORKERS}, "country")': sales.repartition(WORKERS, "country"),
        f"repartition({WORKERS})": sales.repartition(WORKERS),
        "us.for_write": us.for_write(sales, "country", workers=WORKERS),
    }
    assert list(ways) == list(placed)
    for number, (name, df) in enumerate(placed.items()):
        files, largest = written(df, tmp_path / str(number))
        assert files == ways[name].files
        assert largest == pytest.approx(ways[name].largest_task, rel=0.05)
    assert (found.rows, found.partitions) == (6_000, 31)
    assert found.code == 'us.for_write(df, "country", workers=6).write.partitionBy("country")'
    assert "124 files" in found.verdict


def test_where_spark_suffices_it_says_so(spark: SparkSession) -> None:
    # Countries whose hashes fall on the six tasks alike.
    even = spark.range(6_000, numPartitions=4).withColumn("country", sf.col("id") % 600)
    found = us.diagnose_write(even, "country", 2)
    assert found.code == 'df.repartition(2, "country").write.partitionBy("country")'
    one_file = even.where("country = 1").coalesce(1)
    found = us.diagnose_write(one_file, "country", 1)
    assert found.verdict.startswith("Leave it as it is")
    assert found.code == 'df.write.partitionBy("country")'


def test_one_task_for_all_rows_is_not_even(sales: DataFrame) -> None:
    found = us.diagnose_write(sales.coalesce(1), "country", WORKERS)
    assert found.ways[0].busiest == pytest.approx(WORKERS)
    assert not found.verdict.startswith("Leave it as it is")


def test_the_command_prints_it_and_refuses_what_is_not_there(
    sales: DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "sales")
    sales.write.parquet(path)
    assert main(["diagnose", path, "--write", "country", "-w", "6"]) == 0
    printed = capsys.readouterr().out
    assert "us.for_write(df, " in printed
    assert "docs/cookbook/thousands-of-tiny-files.md" in printed
    assert main(["diagnose", path, "--write", "country", "-w", "6", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [way["name"] for way in told["ways"]][-1] == "us.for_write"
    assert main(["diagnose", path, "--write", "land"]) == 2
    assert "--write must be among the columns id, country, got 'land'" in capsys.readouterr().err
    assert main(["diagnose", str(tmp_path / "none"), "--write", "country"]) == 2
    assert "there is no such file" in capsys.readouterr().err


def test_bad_input_is_refused(sales: DataFrame) -> None:
    with pytest.raises(InvalidParameterError, match="diagnose_write: partition_by"):
        us.diagnose_write(sales, "land", 4)
    with pytest.raises(InvalidParameterError, match="diagnose_write: workers"):
        us.diagnose_write(sales, "country", 0)
    with pytest.raises(StreamError, match="no rows"):
        us.diagnose_write(sales.where("id < 0"), "country", 4)
