"""Counters of a micro-batch, and what a plan does with the keys that they have seen."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyspark.sql.functions as sf
from numpy.typing import NDArray
from pyspark.sql import Column

from unskew.groupings.plan import Plan, slots_of
from unskew.hashing import Ids
from unskew.scheduling import LoadArray
from unskew.spark.routing.expression import slot_column
from unskew.spark.steps.running import WorkerStats
from unskew.spark.worker.key_times import WorkTimes

MOST_SLOTS = 65_536
"""The most hash slots that are counted: each one is a number in the report."""

_COUNTERS_PER_HOT_KEY = 32

_DEVIATIONS, _SHARE = 6.0, 0.05


class EpochCounts(NamedTuple):
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
    than slots, and all are counted exactly.
    """
    room = n_slots + 8 * workers + 64
    return _joined(frequent(sf.col(place), room, 2 * room))


def hot_counts(identity: str, n_hot: int) -> Column:
    """Return an aggregate that counts the rows of the ``n_hot`` most frequent keys, as text."""
    return _joined(frequent(sf.col(identity), n_hot, _COUNTERS_PER_HOT_KEY * n_hot))


def read_counts(places: str, hot: str, keys: int, *, workers: int, n_slots: int) -> EpochCounts:
    """Return what the aggregates have counted.

    >>> counts = read_counts("5:30,2:10", "-7:28", 3, workers=2, n_slots=4)
    >>> counts.loads.tolist(), counts.slot_loads.tolist(), counts.hot_loads.tolist()
    ([10.0, 30.0], [0.0, 30.0, 10.0, 0.0], [28.0])
    """
    place, rows = _numbers(places).T
    loads, slot_loads = np.zeros(workers), np.zeros(n_slots)
    np.add.at(loads, place // n_slots, rows)
    np.add.at(slot_loads, place % n_slots, rows)
    return EpochCounts(loads, slot_loads, *read_hot(hot), keys)


def read_hot(hot: str) -> tuple[Ids, NDArray[np.float64]]:
    """Return the identities that `hot_counts` has found, most frequent first, and their rows.

    >>> [found.tolist() for found in read_hot("7:28,9:3")]
    [[7, 9], [28.0, 3.0]]
    """
    ids, rows = _numbers(hot).T
    return np.ascontiguousarray(ids).view(np.uint64), rows.astype(np.float64)


def row_counts(worker: Column, workers: int) -> Column:
    """Return an aggregate that counts the rows of each worker, as text."""
    return _joined(frequent(worker, workers, 2 * workers + 64))


def read_loads(text: str, workers: int) -> NDArray[np.float64]:
    """Return the rows of each worker that `row_counts` has counted.

    >>> read_loads("2:10,0:4", 3).tolist()
    [4.0, 0.0, 10.0]
    """
    worker, rows = _numbers(text).T
    return np.bincount(worker, rows, minlength=workers).astype(np.float64)


def moved_keys(has_moved: Column, identity: Column, worker: Column, most: int) -> Column:
    """Return an aggregate of the keys that were given another worker, and which, as text."""
    pair = sf.when(has_moved, sf.concat_ws(":", identity, worker))
    found = sf.transform(frequent(pair, most, 2 * most), lambda one: one["item"])
    return sf.array_join(sf.filter(found, lambda item: item.isNotNull()), ",")


def read_moved(text: str) -> tuple[Ids, NDArray[np.int64]]:
    """Return the identities that `moved_keys` has found, and to which workers they went.

    >>> [found.tolist() for found in read_moved("7:2,7:5")]
    [[7, 7], [2, 5]]
    """
    ids, workers = _numbers(text).T
    return np.ascontiguousarray(ids).view(np.uint64), np.ascontiguousarray(workers)


def frequent(column: Column, wanted: int, counters: int) -> Column:
    """Return an aggregate that counts the ``wanted`` most frequent values of a column.

    Spark's summary of frequent items counts exactly as long as all fit into its ``counters``.
    """
    return sf.call_function("approx_top_k", column, sf.lit(wanted), sf.lit(counters))


def worker_counts(worker: Column, workers: int) -> Column:
    """Return an aggregate that counts the rows of each worker, as JSON."""
    return sf.to_json(frequent(worker, workers, 2 * workers + 64))


def distinct(column: Column, precision: int) -> Column:
    """Return an aggregate that estimates how many values a column has: 2^precision registers.

    ``approx_count_distinct`` would be a row of hundreds of columns, for which Spark makes code.
    """
    return sf.hll_sketch_estimate(sf.hll_sketch_agg(column, sf.lit(precision)))


def _joined(found: Column) -> Column:
    """Return counts as one text: one value to hand over, where an array would be many."""
    return sf.array_join(
        sf.transform(found, lambda one: sf.concat_ws(":", one["item"], one["count"])), ","
    )


def _numbers(text: str) -> NDArray[np.int64]:
    numbers = text.replace(":", ",").split(",") if text else []
    return np.array(numbers, np.int64).reshape(-1, 2)


def busy_counts(counts: EpochCounts, stats: Sequence[WorkerStats]) -> EpochCounts | None:
    """Return loads of workers, slots and keys by the time that the calls for them took.

    The unit is a row of mean cost: loads add up to the rows of the micro-batch, so that one in
    which the machine is slow counts no more than another. None where nothing was measured.

    Parameters
    ----------
    counts
        Rows of the micro-batch.
    stats
        What the work steps said; their payloads are `WorkTimes`.

    Examples
    --------
    The key 7 has few rows and most of the work:

    >>> rows = np.array([90.0, 10.0])
    >>> counts = EpochCounts(rows, rows, np.array([3], np.uint64), np.array([90.0]), keys=2)
    >>> seconds, work = np.array([1, 3], "f4"), np.array([90, 10], "u4")
    >>> times = WorkTimes(np.array([7], "u8"), seconds[1:], seconds, work[1:], work)
    >>> busy = busy_counts(counts, [WorkerStats(1, 10, 3.5, times.packed())])
    >>> busy.loads.tolist(), busy.slot_loads.tolist(), busy.hot_loads.tolist()
    ([0.0, 100.0], [25.0, 75.0], [75.0])
    """
    reported = [(one.worker, WorkTimes.unpacked(one.payload)) for one in stats if one.payload]
    loads = np.zeros(counts.loads.size)
    slots = np.zeros(counts.slot_loads.size)
    for worker, times in reported:
        loads[worker] += times.slot_seconds.sum(dtype=np.float64)
        slots += times.slot_seconds
    if not loads.any():
        return None
    ids, places = np.unique(
        np.concatenate([times.ids for _, times in reported]), return_inverse=True
    )
    seconds = np.concatenate([times.key_seconds for _, times in reported]).astype(np.float64)
    unit = loads.sum() / counts.loads.sum()
    keys = np.bincount(places, weights=seconds, minlength=ids.size)
    return EpochCounts(loads / unit, slots / unit, ids, keys / unit, counts.keys)


def expected_loads(plan: Plan, counts: EpochCounts) -> LoadArray:
    """Return the rows of each worker if the rows of split keys are spread as planned.

    A key of 60 rows is cut in two equal pieces; the other 40 rows are where their slots are:

    >>> from unskew.groupings.plan import shuffling_plan
    >>> hot, of_slots = np.array([7], np.uint64), np.array([90.0, 10.0])
    >>> plan = shuffling_plan(2, hot)
    >>> counts = EpochCounts(of_slots, of_slots, hot, np.array([60.0]), keys=4)
    >>> expected_loads(plan, counts).tolist()
    [60.0, 40.0]
    """
    rows = _rows_of_hot_keys(plan, counts)
    rest = counts.slot_loads.copy()
    np.subtract.at(rest, slots_of(plan.hot_ids, plan.slot_member, rest.size), rows)
    loads = np.zeros(plan.workers)
    np.add.at(loads, plan.slot_workers, np.maximum(rest, 0.0))
    np.add.at(loads, plan.pieces.workers, _rows_of_pieces(plan, rows))
    return loads


def replication(plan: Plan, counts: EpochCounts) -> float | None:
    """Return on how many workers a key of the micro-batch is on average; null without keys.

    Keys are counted by a sketch, and of a split key's pieces those that its number of rows is
    expected to reach.
    """
    if counts.keys <= 0:
        return None
    rows = _rows_of_hot_keys(plan, counts)
    times = np.repeat(rows, np.diff(plan.pieces.starts))
    reached = 1.0 - (1.0 - _shares(plan)) ** times
    seen = np.count_nonzero(rows)
    return 1.0 + max(float(reached.sum()) - seen, 0.0) / counts.keys


def splits_unevenly(plan: Plan, counts: EpochCounts) -> bool:
    """Whether the rows of split keys missed their pieces by more than chance explains.

    Criterion: a worker is off by more than six standard deviations of a fair draw and by 5 % of
    the average load. Rows that are spread by their content are, where contents are too few.
    """
    rows = _rows_of_hot_keys(plan, counts)
    variances = np.zeros(plan.workers)
    spread = _rows_of_pieces(plan, rows) * (1.0 - _shares(plan))
    np.add.at(variances, plan.pieces.workers, spread)
    # A hot key that is not among the reported ones has fewer rows than any of these.
    unknown = np.count_nonzero(rows == 0) * counts.hot_loads.min(initial=counts.loads.sum())
    margin = _DEVIATIONS * np.sqrt(variances) + _SHARE * counts.loads.mean() + unknown
    off = np.abs(counts.loads - expected_loads(plan, counts))
    return bool(np.any(off > margin))


def _shares(plan: Plan) -> NDArray[np.float64]:
    """Return which part of its key each piece has."""
    starts, _, loads = plan.pieces
    counts = np.diff(starts)
    if counts.size == 0:
        return np.empty(0)
    totals = np.repeat(np.add.reduceat(loads, starts[:-1]), counts)
    shares: NDArray[np.float64] = 1.0 / np.repeat(counts, counts)
    np.divide(loads, totals, out=shares, where=totals > 0)
    return shares


def _rows_of_pieces(plan: Plan, rows: LoadArray) -> LoadArray:
    pieces: LoadArray = np.repeat(rows, np.diff(plan.pieces.starts)) * _shares(plan)
    return pieces


def _rows_of_hot_keys(plan: Plan, counts: EpochCounts) -> LoadArray:
    """Return the rows of each of the plan's hot keys, 0 for those that are hot no more."""
    if counts.hot_ids.size == 0:
        return np.zeros(plan.hot_ids.size)
    order = np.argsort(counts.hot_ids)
    found = counts.hot_ids[order]
    at = np.minimum(np.searchsorted(found, plan.hot_ids), found.size - 1)
    return np.where(found[at] == plan.hot_ids, counts.hot_loads[order[at]], 0.0)
