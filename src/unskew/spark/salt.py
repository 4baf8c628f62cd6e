"""A salt that makes Spark's own stateful operators put a row on its planned worker.

Stateful operators shuffle by ``pmod(hash(keys), n)`` whatever came before them. Spark's hash goes
over the columns one after the other, each hashed with the hash so far as seed, and the step for an
integer can be undone. So for every key and every worker w there is an integer that, put behind the
key columns, makes the hash exactly w: two multiplications find it.
"""

import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew._validation import check_int
from unskew.errors import InvalidParameterError
from unskew.groupings.base import Grouping
from unskew.groupings.plan import Plan
from unskew.spark.columns import By, check_by, quoted
from unskew.spark.routing.choosing import AUTO
from unskew.spark.routing.placing import route

_MASK = (1 << 32) - 1

# Murmur3's constants for 32 bits, and what undoes a multiplication by them.
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_ADDED = 0xE6546B64
_UNDO_C1, _UNDO_C2, _UNDO_5 = (pow(factor, -1, 1 << 32) for factor in (_C1, _C2, 5))
_UNDO_M1, _UNDO_M2 = (pow(factor, -1, 1 << 32) for factor in (0x85EBCA6B, 0xC2B2AE35))


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
    columns = check_by(df, by, owner="salt")
    if name in df.columns:
        raise InvalidParameterError("salt", "name", "a name that no column has", name)
    workers = check_int("salt", "workers", workers, minimum=1)
    partitions = int(df.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)
    if partitions < workers:
        raise InvalidParameterError(
            "salt",
            "workers",
            f"at most spark.sql.shuffle.partitions ({partitions})",
            workers,
            hint="set spark.sql.shuffle.partitions to the number of workers",
        )
    routed = route(
        df, by, workers, owner="salt", grouping=grouping, plan=plan, learn=learn, seed=seed
    )
    keys = [sf.col(quoted(column)) for column in columns]
    salted = routed.df.withColumn(name, salt_column(keys, routed.worker, workers))
    return salted.drop(*routed.helpers)


def salt_column(keys: list[Column], worker: Column, workers: int) -> Column:
    """Return the integer that, hashed behind ``keys``, gives exactly the number of the worker.

    Parameters
    ----------
    keys
        The columns that stand before the salt, in their order.
    worker
        The wanted worker (int), 0 … workers − 1.
    workers
        Number of workers.
    """
    wanted = ",".join(str(_before_last_step(number)) for number in range(workers))
    state = sf.get(sf.split(sf.lit(wanted), ",").cast("array<bigint>"), worker)
    so_far = sf.hash(*keys).cast("bigint").bitwiseAND(sf.lit(_MASK))
    scrambled = state.bitwiseXOR(so_far)
    turned = _rotate_right(_times(scrambled, _UNDO_C2), 15)
    unsigned = _times(turned, _UNDO_C1)
    signed = unsigned.bitwiseXOR(sf.lit(1 << 31).cast("bigint")) - sf.lit(1 << 31).cast("bigint")
    return signed.cast("int")


def _before_last_step(final: int) -> int:
    """Return the state of Murmur3, mixed with the last integer, that ends in ``final``."""
    bits = final
    bits ^= bits >> 16
    bits = bits * _UNDO_M2 & _MASK
    bits ^= bits >> 13 ^ bits >> 26
    bits = bits * _UNDO_M1 & _MASK
    bits ^= bits >> 16
    bits ^= 4  # the length of an integer
    bits = (bits - _ADDED) * _UNDO_5 & _MASK
    return (bits >> 13 | bits << 19) & _MASK


def _times(value: Column, factor: int) -> Column:
    """Multiply 32 unsigned bits modulo 2³², in two halves: no product leaves a bigint."""
    low, high = factor & 0xFFFF, factor >> 16
    upper = (value * sf.lit(high).cast("bigint")).bitwiseAND(sf.lit(0xFFFF).cast("bigint"))
    whole = value * sf.lit(low).cast("bigint") + sf.shiftleft(upper, 16)
    return whole.bitwiseAND(sf.lit(_MASK))


def _rotate_right(value: Column, count: int) -> Column:
    left = sf.shiftleft(value, 32 - count).bitwiseAND(sf.lit(_MASK))
    return sf.shiftright(value, count).bitwiseOR(left)
