"""Placing loads on workers: pure functions, no keys, no streams."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unskew._compiled import compiled
from unskew._validation import check_int

LoadArray = NDArray[np.float64]


def longest_first(
    loads: ArrayLike,
    workers: int,
    *,
    initial: ArrayLike | None = None,
    capacity: ArrayLike | None = None,
) -> NDArray[np.int32]:
    """Place the loads, largest first, each on the worker that has least so far (LPT).

    The largest sum is at most 4/3 − 1/(3·workers) times the smallest possible one [1] if all
    workers are alike.

    Parameters
    ----------
    loads
        What each item brings.
    workers
        Number of workers, at least 1.
    initial
        What each worker has already; nothing by default.
    capacity
        How much each worker can do, above 0: "least" is then measured in parts of it. All are
        alike by default.

    Returns
    -------
    workers
        The worker of each item. Ties go to the item, and to the worker, that comes first.

    Examples
    --------
    >>> longest_first([3, 5, 4, 2], 2).tolist()
    [1, 0, 1, 0]

    References
    ----------
    [1] Graham, "Bounds on Multiprocessing Timing Anomalies", 1969.
    """
    amounts = np.ascontiguousarray(loads, dtype=np.float64)
    order = np.argsort(-amounts, kind="stable")
    placed = np.empty(amounts.size, np.int32)
    placed[order] = one_by_one(amounts[order], workers, initial=initial, capacity=capacity)
    return placed


def one_by_one(
    loads: ArrayLike,
    workers: int,
    *,
    initial: ArrayLike | None = None,
    capacity: ArrayLike | None = None,
) -> NDArray[np.int32]:
    """Place the loads in the order given, each on the worker that has least so far.

    The largest sum is at most 2 − 1/workers times the smallest possible one.

    >>> one_by_one([3, 5, 4, 2], 2).tolist()
    [0, 1, 0, 1]
    >>> one_by_one([1, 1, 1, 1], 2, capacity=[3, 1]).tolist()
    [0, 1, 0, 0]
    """
    workers = check_int("one_by_one", "workers", workers, minimum=1)
    can_do = np.ones(workers) if capacity is None else np.array(capacity, dtype=np.float64)
    start = np.zeros(workers) if initial is None else np.array(initial, dtype=np.float64)
    start /= can_do
    amounts = np.ascontiguousarray(loads, dtype=np.float64)
    placed = np.empty(amounts.size, np.int32)
    heap = np.lexsort((np.arange(workers), start)).astype(np.int32)
    _place(amounts, can_do, start, heap, placed)
    return placed


@compiled
def _place(
    loads: LoadArray,
    capacity: LoadArray,
    sums: LoadArray,
    heap: NDArray[np.int32],
    workers: NDArray[np.int32],
) -> None:
    """Keep the workers in a heap ordered by (sum, number); ``heap`` comes sorted."""
    for item in range(loads.size):
        least = heap[0]
        workers[item] = least
        sums[least] += loads[item] / capacity[least]
        place, child = 0, 1
        while child < heap.size:
            if child + 1 < heap.size and _before(sums, heap[child + 1], heap[child]):
                child += 1
            if not _before(sums, heap[child], least):
                break
            heap[place] = heap[child]
            place, child = child, 2 * child + 1
        heap[place] = least


@compiled
def _before(sums: LoadArray, one: np.int32, other: np.int32) -> bool:
    return bool(sums[one] < sums[other] or (sums[one] == sums[other] and one < other))


def sums_of(loads: LoadArray, places: NDArray[np.integer], n_places: int) -> LoadArray:
    """Return what comes together at each place.

    >>> sums_of(np.array([3.0, 1.0, 2.0]), np.array([0, 2, 0]), 3).tolist()
    [5.0, 0.0, 1.0]
    """
    sums = np.zeros(n_places)
    np.add.at(sums, places, loads)
    return sums


class Pieces(NamedTuple):
    """Items cut into pieces: item i has the pieces ``starts[i] … starts[i + 1] − 1``."""

    starts: NDArray[np.int64]
    workers: NDArray[np.int32]
    loads: LoadArray


def wrap_around(loads: ArrayLike, rooms: ArrayLike) -> Pieces:
    """Lay the loads end to end over the rooms and cut them where a room ends.

    McNaughton's rule [1]: there are at most ``len(rooms) − 1`` more pieces than items, and
    neighbouring workers share the item that was cut between them.

    Parameters
    ----------
    loads
        What each item brings, at least 0.
    rooms
        What each worker can still take. Rooms are stretched or shrunk in proportion so that
        their sum is the sum of the loads; where there is next to no room, all are equal.

    Examples
    --------
    Three items of 4 on four workers with room for 3 each:

    >>> pieces = wrap_around([4, 4, 4], [3, 3, 3, 3])
    >>> pieces.workers.tolist()
    [0, 1, 1, 2, 2, 3]
    >>> pieces.loads.tolist()
    [3.0, 1.0, 2.0, 2.0, 1.0, 3.0]

    References
    ----------
    [1] McNaughton, "Scheduling with Deadlines and Loss Functions", 1959.
    """
    amounts = np.ascontiguousarray(loads, dtype=np.float64)
    space = np.maximum(np.ascontiguousarray(rooms, dtype=np.float64), 0.0)
    if space.sum() <= amounts.sum() / np.finfo(np.float64).max:  # too little to be stretched
        space = np.ones_like(space)
    ends = np.cumsum(space) * (amounts.sum() / space.sum())
    return Pieces(*_cut(amounts, ends))


@compiled
def _cut(
    loads: LoadArray, ends: LoadArray
) -> tuple[NDArray[np.int64], NDArray[np.int32], LoadArray]:
    starts = np.zeros(loads.size + 1, np.int64)
    workers = np.empty(loads.size + ends.size, np.int32)
    amounts = np.empty(loads.size + ends.size, np.float64)
    slack = 1e-9 * ends[-1]  # rounding must not cut off a crumb
    worker, pieces, at = 0, 0, 0.0
    for item in range(loads.size):
        end = at + loads[item]
        while worker < ends.size - 1 and ends[worker] <= at + slack:
            worker += 1
        first = True
        while first or at < end - slack:
            last = worker == ends.size - 1 or end <= ends[worker] + slack
            upto = end if last else ends[worker]
            workers[pieces] = worker
            amounts[pieces] = upto - at
            pieces += 1
            at = upto
            first = False
            if not last:
                worker += 1
        at = end
        starts[item + 1] = pieces
    return starts, workers[:pieces], amounts[:pieces]


def rooms_for(flowing: float, placed: ArrayLike, capacity: ArrayLike | None = None) -> LoadArray:
    """Return what each worker can take of a load that flows so that all end equally full.

    Workers that are fuller than the common level already get nothing: the level is raised (water
    filling) until the rooms of the others hold exactly the flowing load.

    Parameters
    ----------
    flowing
        The load to be taken, at least 0.
    placed
        What each worker has already.
    capacity
        How much each worker can do; all are alike by default.

    Examples
    --------
    >>> rooms_for(6, [1, 3, 9]).tolist()
    [4.0, 2.0, 0.0]
    >>> rooms_for(6, [0, 0], capacity=[2, 1]).tolist()
    [4.0, 2.0]
    """
    base = np.ascontiguousarray(placed, dtype=np.float64)
    can_do = np.ones_like(base) if capacity is None else np.array(capacity, dtype=np.float64)
    order = np.argsort(base / can_do, kind="stable")
    ordered = base[order] / can_do[order]
    levels = (flowing + np.cumsum(base[order])) / np.cumsum(can_do[order])
    filled = np.flatnonzero(levels > ordered)
    level = float(levels[filled[-1]]) if filled.size else float(levels[0])
    rooms: LoadArray = np.maximum(level * can_do - base, 0.0)
    return rooms


@compiled
def pour_anew(pieces: Pieces, capacity: LoadArray, levels: LoadArray, rounds: int) -> None:
    """Let every item share itself again among its workers, as evenly as their levels allow.

    One after the other, until little changes or ``rounds`` have passed. ``pieces.loads`` and
    ``levels`` (what each worker has, over its capacity, pieces included) are changed. The largest
    level never rises.

    >>> pieces = Pieces(np.array([0, 2]), np.array([0, 1], np.int32), np.array([5.0, 1.0]))
    >>> levels = np.array([6.0, 4.0])
    >>> pour_anew(pieces, np.ones(2), levels, 10)
    >>> pieces.loads.tolist(), levels.tolist()
    ([4.0, 2.0], [5.0, 5.0])
    """
    for _ in range(rounds):
        largest_change = 0.0
        for item in range(pieces.starts.size - 1):
            first, end = pieces.starts[item], pieces.starts[item + 1]
            if end - first > 1:
                change = _pour_one(
                    pieces.workers[first:end], pieces.loads[first:end], capacity, levels
                )
                largest_change = max(largest_change, change)
        if largest_change <= 1e-6 * levels.max():
            return


@compiled
def _pour_one(
    workers: NDArray[np.int32], loads: LoadArray, capacity: LoadArray, levels: LoadArray
) -> float:
    total = loads.sum()
    without = np.empty(workers.size)
    for piece in range(workers.size):
        worker = workers[piece]
        without[piece] = levels[worker] - loads[piece] / capacity[worker]
    amount, room, level = total, 0.0, 0.0
    order = np.argsort(without)
    for place in range(order.size):
        worker = workers[order[place]]
        amount += without[order[place]] * capacity[worker]
        room += capacity[worker]
        level = amount / room
        if place + 1 == order.size or level <= without[order[place + 1]]:
            break
    change = 0.0
    for piece in range(workers.size):
        worker = workers[piece]
        load = max(0.0, level - without[piece]) * capacity[worker]
        change = max(change, abs(load - loads[piece]) / capacity[worker])
        loads[piece] = load
        levels[worker] = without[piece] + load / capacity[worker]
    return change
