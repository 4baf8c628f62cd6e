"""A salt that makes Spark's own stateful operators put a row on its planned worker.

They shuffle by the hash of their keys, whatever came before them; see `routing.salting`.
"""

from pyspark.sql import DataFrame

from unskew._validation import check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan
from unskew.spark.columns import By, check_by, key_columns
from unskew.spark.routing.choosing import AUTO
from unskew.spark.routing.placing import route
from unskew.spark.routing.salting import salt_column
from unskew.spark.session import PARTITIONS, shuffle_partitions


def salt(
    df: DataFrame,
    by: By,
    workers: int,
    *,
    grouping: str | Grouping = AUTO,
    plan: Plan | None = None,
    learn: str = "sample",
    seed: int = 0,
    name: str = "salt",
) -> DataFrame:
    """Return ``df`` with one more column, with which Spark's stateful operators follow the plan.

    ``groupBy(*by, "salt")``, ``dropDuplicates([*by, "salt"])`` and ``transformWithState`` grouped
    by them put each row on the partition of its planned worker, so that Spark's state store holds
    a skewed state evenly. A key that the plan does not split has one salt; the results of one that
    it does split have to be merged over its salts.

    Never join on a salt: a row of a split key has one salt and its partner rows may have another,
    so that the join would lose rows.

    Parameters
    ----------
    df, by, workers, grouping, plan, learn, seed
        As for `balance`. The salt goes behind the key columns, in the order of ``by``.
    name
        The new column, of type int.

    Notes
    -----
    The operator must have at least ``workers`` partitions (``spark.sql.shuffle.partitions``);
    those beyond stay empty.
    """
    columns = check_by(df, by, owner="salt", nested=True)
    if name in df.columns:
        raise InvalidParameterError("salt", "name", "a name that no column has", name)
    workers = check_int("salt", "workers", workers, minimum=1)
    partitions = shuffle_partitions(df.sparkSession)
    if partitions is None or partitions < workers:
        raise InvalidParameterError(
            "salt",
            "workers",
            f"at most {PARTITIONS} ({partitions or 'auto'})",
            workers,
            hint=f"set {PARTITIONS} to the number of workers",
        )
    routed = route(
        df, by, workers, owner="salt", grouping=grouping, plan=plan, learn=learn, seed=seed
    )
    keys = key_columns(df, columns)
    salted = routed.df.withColumn(name, salt_column(keys, routed.worker, workers))
    return salted.drop(*routed.helpers)
