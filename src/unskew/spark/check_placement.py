"""Check that a cluster puts rows where we say, also where another engine computes its hashes."""

from dataclasses import dataclass

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import SparkSession

from unskew.spark.routing.expression import element
from unskew.spark.routing.salting import on_workers, salt_column

_ROWS, _WORKERS = 1000, 7
# What Spark's own documentation says of hash(…) and xxhash64(…) of 'Spark', array(123), 2.
_HASHES = (-1321691492, 5602566077635097486)


@dataclass(frozen=True)
class PlacementCheck:
    """What came out of `check_placement`."""

    rows: int
    misplaced: int
    """Rows that `balance` would not have put on their worker."""
    missalted: int
    """Rows that a salt would not have put there: joins and Spark's own aggregations."""
    other_hashes: bool
    """Whether ``hash`` or ``xxhash64`` of a known row is not what Spark documents: plans that were
    learned on this engine fit no other, and the other way round."""

    @property
    def ok(self) -> bool:
        """Whether all rows are where we say."""
        return not (self.misplaced or self.missalted or self.other_hashes)

    def __str__(self) -> str:
        if self.ok:
            return f"all of {self.rows:,} rows are where unskew puts them"
        found = [
            f"{count:,} of {self.rows:,} rows {what}"
            for count, what in ((self.misplaced, "misplaced"), (self.missalted, "missalted"))
            if count
        ]
        return "; ".join([*found, *["hash or xxhash64 is not Spark's"] * self.other_hashes])


def check_placement(spark: SparkSession) -> PlacementCheck:
    """Return whether this cluster puts rows where we say: two small shuffles, about a second.

    Engines that stand in for Spark's own (Photon, Gluten with Velox, RAPIDS) compute hashes
    themselves. Results are exact whatever they compute; what is even rests on ``xxhash64`` of keys,
    on ``hash`` of integers and of keys with an integer behind them, and on ``repartition(n, …)``
    going by ``pmod(hash(…), n)``.

    Examples
    --------
    ``assert us.check_placement(spark).ok``
    """
    number = sf.col("id")
    rows = spark.range(_ROWS).select(
        sf.concat(sf.lit("key "), number % 101).alias("key"),
        element(np.arange(_WORKERS), number % _WORKERS).alias("worker"),
    )
    salted = rows.withColumn("salt", salt_column([sf.col("key")], sf.col("worker"), _WORKERS))
    placed = {
        "misplaced": on_workers(rows, _WORKERS, sf.col("worker")),
        "missalted": salted.repartition(_WORKERS, "key", "salt"),
    }
    is_off = (sf.spark_partition_id() != sf.col("worker")).cast("int")
    off = {
        name: df.select(is_off.alias("off")).agg(sf.sum("off")).collect()[0][0]
        for name, df in placed.items()
    }
    # Of columns: of constants, Spark's optimiser would compute them on the driver.
    known = spark.range(1).select(
        sf.when(number >= 0, "Spark").alias("a"),
        sf.array((number + 123).cast("int")).alias("b"),
        (number + 2).cast("int").alias("c"),
    )
    hashes = known.select(sf.hash("a", "b", "c"), sf.xxhash64("a", "b", "c")).collect()[0]
    return PlacementCheck(_ROWS, **off, other_hashes=tuple(hashes) != _HASHES)
