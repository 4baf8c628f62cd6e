"""What a micro-batch tells the driver: exact counts of rows a worker and a slot, and hot keys."""

from typing import NamedTuple

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column

from unskew.hashing import Ids
from unskew.spark.compiled_routing import slot_column

MOST_SLOTS = 65_536
"""The most hash slots that are counted: each one is a number in the report."""

_COUNTERS_A_HOT_KEY = 32


class Counts(NamedTuple):
    """What was counted in a micro-batch."""

    loads: NDArray[np.float64]
    """Rows of each worker, exact."""
    slot_loads: NDArray[np.float64]
    """Rows of each hash slot, exact."""
    hot_ids: Ids
    """Identities of the keys with the most rows."""
    hot_loads: NDArray[np.float64]
    """Their rows: exact while all keys fit into the summary, an estimate beyond."""
    keys: int
    """Distinct keys, an estimate (off by some 5 %)."""


def place_column(worker: Column, identity: Column, n_slots: int) -> Column:
    """Return one number (bigint) for the worker and the hash slot of a row."""
    slot = slot_column(identity, n_slots).cast("bigint")
    return worker.cast("bigint") * sf.lit(n_slots).cast("bigint") + slot


def place_counts(place: str, workers: int, n_slots: int) -> Column:
    """Return an aggregate that counts the rows of every place, as text.

    A slot is on one worker, but for its hot keys: those are few, so there are few more places
    than slots. Spark's summary of frequent items counts exactly as long as all fit into it.
    """
    room = n_slots + 8 * workers + 64
    return _frequent(place, room, 2 * room)


def hot_counts(identity: str, n_hot: int) -> Column:
    """Return an aggregate that counts the rows of the ``n_hot`` most frequent keys, as text."""
    return _frequent(identity, n_hot, _COUNTERS_A_HOT_KEY * n_hot)


def read_counts(places: str, hot: str, keys: int, *, workers: int, n_slots: int) -> Counts:
    """Return what the aggregates have counted.

    >>> counts = read_counts("5:30,2:10", "-7:28", 3, workers=2, n_slots=4)
    >>> counts.loads.tolist(), counts.slot_loads.tolist(), counts.hot_loads.tolist()
    ([10.0, 30.0], [0.0, 30.0, 10.0, 0.0], [28.0])
    """
    place, rows = _numbers(places).T
    loads, slot_loads = np.zeros(workers), np.zeros(n_slots)
    np.add.at(loads, place // n_slots, rows)
    np.add.at(slot_loads, place % n_slots, rows)
    return Counts(loads, slot_loads, *read_hot(hot), keys)


def read_hot(hot: str) -> tuple[Ids, NDArray[np.float64]]:
    """Return the identities that `hot_counts` has found, most frequent first, and their rows.

    >>> [found.tolist() for found in read_hot("7:28,9:3")]
    [[7, 9], [28.0, 3.0]]
    """
    ids, rows = _numbers(hot).T
    return np.ascontiguousarray(ids).view(np.uint64), rows.astype(np.float64)


def _frequent(column: str, wanted: int, counters: int) -> Column:
    found = sf.call_function("approx_top_k", sf.col(column), sf.lit(wanted), sf.lit(counters))
    # One text is one value to hand over, where an array would be many.
    return sf.array_join(
        sf.transform(found, lambda one: sf.concat_ws(":", one["item"], one["count"])), ","
    )


def _numbers(text: str) -> NDArray[np.int64]:
    numbers = text.replace(":", ",").split(",") if text else []
    return np.array(numbers, np.int64).reshape(-1, 2)
