import pyspark.sql.functions as sf
import pytest
from pyspark.sql import SparkSession

from unskew.spark.routing.salting import on_workers, steering_integers


@pytest.mark.matrix("every row where the simulator puts it")
@pytest.mark.parametrize("workers", [1, 2, 7, 8, 200])
def test_an_integer_steers_to_its_partition(spark: SparkSession, workers: int) -> None:
    integers = spark.createDataFrame(
        [(worker, one) for worker, one in enumerate(steering_integers(workers).tolist())],
        "worker int, steer int",
    )
    found = integers.select("worker", sf.pmod(sf.hash("steer"), sf.lit(workers)))
    assert all(worker == partition for worker, partition in found.collect())


@pytest.mark.matrix("every row where the simulator puts it")
@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("workers", [1, 3, 32])
def test_rows_are_where_their_column_says(spark: SparkSession, workers: int) -> None:
    rows = spark.range(500).withColumn("worker", sf.pmod("id", sf.lit(workers)).cast("int"))
    placed = on_workers(rows, workers, sf.col("worker"))
    found = placed.select("worker", sf.spark_partition_id()).collect()
    assert len(found) == 500
    assert all(worker == partition for worker, partition in found)
    assert placed.rdd.getNumPartitions() == workers
