import pytest
from pyspark.sql import Column, DataFrame, SparkSession

import unskew.spark as us
from unskew.spark.check_placement import PlacementCheck


@pytest.mark.matrix("check_placement")
@pytest.mark.usefixtures("adaptive")
def test_stock_spark_puts_all_rows_where_we_say(spark: SparkSession) -> None:
    assert us.check_placement(spark) == PlacementCheck(1000, 0, 0, other_hashes=False)


def test_rows_on_other_workers_are_found(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(df: DataFrame, workers: int, worker: Column) -> DataFrame:
        return df.repartition(workers, worker + 1)  # as an engine with a hash of its own

    def unsalted(keys: list[Column], worker: Column, _: int) -> Column:
        return worker

    names = check_placement_globals()
    monkeypatch.setitem(names, "on_workers", shifted)
    monkeypatch.setitem(names, "salt_column", unsalted)
    monkeypatch.setitem(names, "_HASHES", (0, 0))
    found = us.check_placement(spark)
    assert not found.ok
    assert min(found.misplaced, found.missalted) > 500  # but one of seven by chance
    assert found.other_hashes
    assert "rows misplaced; " in str(found)


def check_placement_globals() -> dict[str, object]:
    return us.check_placement.__globals__
