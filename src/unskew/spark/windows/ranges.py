"""Cut the rows of hot keys, in their order, into stretches of which each goes to a worker."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyspark.sql.functions as sf
from pyspark.sql import Column, DataFrame

from unskew.groupings.plan import HASHED_MEMBER, Plan, slots_of
from unskew.groupings.planned import sample_size
from unskew.groupings.whole_first import KeyLoads, even_layout
from unskew.groupings.wrap import Wrap
from unskew.hashing import Ids, identities
from unskew.scheduling import Pieces
from unskew.spark.columns import identity, quoted
from unskew.spark.routing.expression import element, worker_column
from unskew.spark.routing.salting import steering_integers
from unskew.spark.versions import to_arrow
from unskew.spark.windows.ordering import OrderColumn, is_at_or_after

_TOLERANCE = 0.1  # what a worker may have more than the mean before a key is cut for that
_OWN_PLACE = 1 / 20  # of a worker's share: a key that is placed by itself


@dataclass(frozen=True)
class CutKey:
    """A key whose rows go to several workers: in its order, up to each cut to the next one."""

    id: int
    workers: tuple[int, ...]
    cuts: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Ranges:
    """Which worker each row goes to, so that a worker has a stretch of each key, in order."""

    by: Sequence[str]
    order: Sequence[OrderColumn]
    plan: Plan
    cut_keys: tuple[CutKey, ...]

    @property
    def workers(self) -> int:
        """Number of workers."""
        return self.plan.workers

    def is_cut(self, df: DataFrame) -> Column:
        """Return whether a row is of a key that is cut."""
        return identity(df, self.by).isin([key.id for key in self.cut_keys])

    def piece(self, df: DataFrame) -> Column:
        """Return the number (int) of a row's piece, in order for each cut key; null for others."""
        key, first = identity(df, self.by), 0
        number: Any = sf
        for cut in self.cut_keys:
            tree = _tree(self.order, cut.cuts, 0, len(cut.cuts), first)
            number = number.when(key == cut.id, tree)
            first += len(cut.workers)
        nothing = sf.lit(None).cast("int")
        return number.otherwise(nothing) if self.cut_keys else nothing

    def steering(self, df: DataFrame, piece: Column) -> Column:
        """Return the integer whose hash is the worker's partition, in ``repartition(W, it)``."""
        whole = worker_column(identity(df, self.by), _with_whole_keys(self.plan))
        integers = steering_integers(self.workers)
        if not self.cut_keys:
            return element(integers, whole)
        of_pieces = integers[[worker for cut in self.cut_keys for worker in cut.workers]]
        return sf.coalesce(element(of_pieces, piece), element(integers, whole))


def learn_ranges(
    df: DataFrame, by: Sequence[str], order: Sequence[OrderColumn], workers: int, seed: int
) -> Ranges:
    """Return ranges that a bounded sample shows to be even.

    A key is cut only if it does not fit; rows that are equal in key and order stay together.
    """
    total, wanted = df.count(), sample_size(workers)
    sampled = df if total <= wanted else df.sample(fraction=wanted / total, seed=seed)
    names = [f"order{number}" for number in range(len(order))]
    columns = [sf.col(quoted(one.name)).alias(name) for one, name in zip(order, names, strict=True)]
    rows = sampled.select(identity(df, by).alias("id"), *columns)
    rows = rows.limit(wanted + 5 * math.isqrt(wanted))
    sorts = [one._replace(name=name).sort for one, name in zip(order, names, strict=True)]
    table = to_arrow(rows.orderBy(*sorts))
    ids = identities(table["id"])
    plan = even_layout(_loads(ids, workers), workers, tolerance=_TOLERANCE)
    keys = []
    for number in np.flatnonzero(np.diff(plan.pieces.starts) > 1):
        own = slice(plan.pieces.starts[number], plan.pieces.starts[number + 1])
        places = np.flatnonzero(ids == plan.hot_ids[number])
        shares = np.cumsum(plan.pieces.loads[own])[:-1] / plan.pieces.loads[own].sum()
        at = places[np.minimum((shares * places.size).astype(np.int64), places.size - 1)]
        cuts = [tuple(table[name][int(one)].as_py() for name in names) for one in at]
        signed = int(plan.hot_ids[number : number + 1].view(np.int64)[0])
        keys.append(CutKey(signed, tuple(plan.pieces.workers[own].tolist()), tuple(cuts)))
    return Ranges(by, order, plan, tuple(keys))


def _loads(ids: Ids, workers: int) -> KeyLoads:
    """Return the keys of a sample that are large, and the others by slot."""
    keys, counts = np.unique(ids, return_counts=True)
    is_large = counts >= _OWN_PLACE * ids.size / workers
    slot_loads = np.zeros(Wrap.spark_defaults(workers)["slots"])
    np.add.at(
        slot_loads, slots_of(keys[~is_large], HASHED_MEMBER, slot_loads.size), counts[~is_large]
    )
    return KeyLoads(keys[is_large], counts[is_large].astype(float), slot_loads)


def _tree(
    order: Sequence[OrderColumn], cuts: Sequence[Sequence[Any]], low: int, high: int, first: int
) -> Column:
    """Return ``first`` plus how many of the cuts a row is at or after, by halves."""
    if low == high:
        return sf.lit(first + low)
    middle = (low + high) // 2
    upper = _tree(order, cuts, middle + 1, high, first)
    return sf.when(is_at_or_after(order, cuts[middle]), upper).otherwise(
        _tree(order, cuts, low, middle, first)
    )


def _with_whole_keys(plan: Plan) -> Plan:
    """Return the plan with one place per key: those that are cut are looked up before it."""
    firsts = plan.pieces.starts[:-1]
    starts = np.arange(firsts.size + 1, dtype=np.int64)
    pieces = Pieces(starts, plan.pieces.workers[firsts], np.ones(firsts.size))
    return replace(plan, pieces=pieces)
