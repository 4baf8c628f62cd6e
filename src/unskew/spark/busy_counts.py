"""What keys took in a micro-batch, in place of their rows, for a driver that plans by busy time."""

from collections.abc import Sequence

import numpy as np

from unskew.spark._key_times import WorkTimes
from unskew.spark.observing import Counts
from unskew.spark.work_stats import WorkerStats


def busy_counts(counts: Counts, stats: Sequence[WorkerStats]) -> Counts | None:
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
    >>> counts = Counts(rows, rows, np.array([3], np.uint64), np.array([90.0]), keys=2)
    >>> seconds, work = np.array([1, 3], "f4"), np.array([90, 10], "u4")
    >>> times = WorkTimes(np.array([7], "u8"), seconds[1:], seconds, work[1:], work)
    >>> busy = busy_counts(counts, [WorkerStats(1, 10, 3.5, times.packed())])
    >>> busy.loads.tolist(), busy.slot_loads.tolist(), busy.hot_loads.tolist()
    ([0.0, 100.0], [25.0, 75.0], [75.0])
    """
    told = [(one.worker, WorkTimes.unpacked(one.payload)) for one in stats if one.payload]
    loads = np.zeros(counts.loads.size)
    slots = np.zeros(counts.slot_loads.size)
    for worker, times in told:
        loads[worker] = times.slot_seconds.sum(dtype=np.float64)
        slots += times.slot_seconds
    if not loads.any():
        return None
    ids, places = np.unique(np.concatenate([times.ids for _, times in told]), return_inverse=True)
    seconds = np.concatenate([times.key_seconds for _, times in told]).astype(np.float64)
    unit = loads.sum() / counts.loads.sum()
    keys = np.bincount(places, weights=seconds, minlength=ids.size)
    return Counts(loads / unit, slots / unit, ids, keys / unit, counts.keys)
