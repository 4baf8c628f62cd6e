"""What a plan does with the keys of a micro-batch, by calculation."""

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.plan import Plan, slots_of
from unskew.scheduling import Loads
from unskew.spark.observing import Counts

_DEVIATIONS, _SHARE = 6.0, 0.05


def expected_loads(plan: Plan, counts: Counts) -> Loads:
    """Return the rows of each worker if the rows of split keys are dealt as planned.

    A key of 60 rows is cut in two equal pieces; the other 40 rows are where their slots are:

    >>> from unskew.spark.schemes import grouping_for, shuffling_plan
    >>> hot, of_slots = np.array([7], np.uint64), np.array([90.0, 10.0])
    >>> plan = shuffling_plan(grouping_for("popularity", 2), hot)
    >>> expected_loads(plan, Counts(of_slots, of_slots, hot, np.array([60.0]), keys=4)).tolist()
    [60.0, 40.0]
    """
    rows = _rows_of_hot_keys(plan, counts)
    rest = counts.slot_loads.copy()
    np.subtract.at(rest, slots_of(plan.hot_ids, plan.slot_member, rest.size), rows)
    loads = np.zeros(plan.workers)
    np.add.at(loads, plan.slot_workers, np.maximum(rest, 0.0))
    np.add.at(loads, plan.pieces.workers, _rows_of_pieces(plan, rows))
    return loads


def replication(plan: Plan, counts: Counts) -> float | None:
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


def is_dealt_unevenly(plan: Plan, counts: Counts) -> bool:
    """Whether the rows of split keys missed their pieces by more than chance explains.

    Criterion: a worker is off by more than six standard deviations of a fair deal and by 5 % of
    the average load. Rows that are dealt by their content are, where contents are too few.
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


def _rows_of_pieces(plan: Plan, rows: Loads) -> Loads:
    pieces: Loads = np.repeat(rows, np.diff(plan.pieces.starts)) * _shares(plan)
    return pieces


def _rows_of_hot_keys(plan: Plan, counts: Counts) -> Loads:
    """Return the rows of each of the plan's hot keys, 0 for those that are hot no more."""
    if counts.hot_ids.size == 0:
        return np.zeros(plan.hot_ids.size)
    order = np.argsort(counts.hot_ids)
    found = counts.hot_ids[order]
    at = np.minimum(np.searchsorted(found, plan.hot_ids), found.size - 1)
    return np.where(found[at] == plan.hot_ids, counts.hot_loads[order[at]], 0.0)
