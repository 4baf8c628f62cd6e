"""A salt: an integer with which Spark's hash of key and salt is the number of a row's worker.

Spark shuffles by ``pmod(hash(keys), n)``. Its hash goes over the columns one after the other, each
hashed with the hash so far as seed, and the step for an integer can be undone. So for every key and
every worker w there is an integer that, put behind the key columns, makes the hash exactly w: two
multiplications find it. Without keys it is the same W integers for all rows: `on_workers`.
"""

from functools import cache

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame

from unskew.spark.routing.expression import element

_MASK = (1 << 32) - 1
_SEED = 42  # of Spark's hash

# Murmur3's constants for 32 bits, and what undoes a multiplication by them.
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_ADDED = 0xE6546B64
_UNDO_C1, _UNDO_C2, _UNDO_5 = (pow(factor, -1, 1 << 32) for factor in (_C1, _C2, 5))
_UNDO_M1, _UNDO_M2 = (pow(factor, -1, 1 << 32) for factor in (0x85EBCA6B, 0xC2B2AE35))


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


def on_workers(df: DataFrame, workers: int, worker: Column) -> DataFrame:
    """Return ``df`` with each row on the partition that ``worker`` (int) says.

    As ``repartitionById``, which only Spark 4.1 and later have; here Spark also knows that rows of
    one integer are together.
    """
    return df.repartition(workers, element(steering_integers(workers), worker))


@cache
def steering_integers(workers: int) -> NDArray[np.int32]:
    """Return for each worker the integer that ``repartition(workers, it)`` puts on its partition.

    >>> steering_integers(8).tolist()[:4] == steering_integers(4).tolist()  # the hash is the worker
    True
    """
    states = [_before_last_step(worker) ^ _SEED for worker in range(workers)]
    unsigned = [_turned(state * _UNDO_C2 & _MASK) * _UNDO_C1 & _MASK for state in states]
    return np.array(unsigned, np.uint32).view(np.int32)


def _turned(bits: int) -> int:
    return (bits >> 15 | bits << 17) & _MASK


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
