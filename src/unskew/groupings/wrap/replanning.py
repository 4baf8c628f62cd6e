"""Change a plan no more than what was learned since asks for.

Every key that moves takes state with it, and every new piece of a key is memory. So what is there
stays as long as it can carry the loads within a tolerance; only what is too much for a worker is
taken away and laid into the gaps of the others.
"""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings.plan import Plan
from unskew.hashing import Ids
from unskew.scheduling import LoadArray, Pieces, pour_anew, rooms_for, sums_of, wrap_around

_ROUNDS = 50


class Flow(NamedTuple):
    """Keys that may be cut, and what each of them brings."""

    ids: Ids
    loads: LoadArray


class Cut(NamedTuple):
    """Pieces in any order; an item and a worker may come together more than once."""

    owners: NDArray[np.int64]
    workers: NDArray[np.int32]
    loads: LoadArray

    @classmethod
    def nothing(cls) -> Self:
        """Return no pieces at all."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))

    def and_also(self, other: "Cut") -> "Cut":
        """Return the pieces of both."""
        return Cut(
            np.concatenate((self.owners, other.owners)),
            np.concatenate((self.workers, other.workers)),
            np.concatenate((self.loads, other.loads)),
        )


def settle(
    loads: LoadArray,
    places: NDArray[np.int32],
    capacity: LoadArray,
    *,
    rooms: LoadArray,
    slack: float,
) -> NDArray[np.int32]:
    """Return ``places`` with few items moved, so that no worker is over its limit for long.

    Parameters
    ----------
    loads, places
        What each item brings, and its worker.
    capacity
        How much each worker can do.
    rooms
        What each worker should have at most, over its capacity.
    slack
        By how much it may exceed that before items are moved away: largest first, as long as one
        does more good here than harm there.

    Examples
    --------
    >>> loads, places = np.array([5.0, 4.0, 3.0, 1.0]), np.array([0, 0, 0, 1], np.int32)
    >>> settle(loads, places, np.ones(2), rooms=np.full(2, 7.0), slack=1.0).tolist()
    [1, 0, 0, 1]
    >>> settle(loads, places, np.ones(2), rooms=np.full(2, 7.0), slack=5.0).tolist()
    [0, 0, 0, 1]
    """
    settled = places.copy()
    levels = sums_of(loads, places, capacity.size) / capacity
    crowded = np.flatnonzero(levels > rooms + slack)
    for worker in crowded[np.argsort((rooms - levels)[crowded], kind="stable")]:
        own = np.flatnonzero(settled == worker)
        own = own[np.argsort(-loads[own], kind="stable")]
        _move_away(loads, own, settled, int(worker), capacity, levels, rooms)
    return settled


@compiled
def _move_away(
    loads: LoadArray,
    own: NDArray[np.int64],
    places: NDArray[np.int32],
    worker: int,
    capacity: LoadArray,
    levels: LoadArray,
    rooms: LoadArray,
) -> None:
    room = rooms[worker]
    for item in own:
        if levels[worker] <= room or loads[item] <= 0.0:
            return
        other = np.argmin(levels - rooms)
        here, there = loads[item] / capacity[worker], loads[item] / capacity[other]
        # Not below the room by more than it was above, and not only to trade places.
        if levels[worker] - here < room - (levels[worker] - room) / 2:
            continue
        if levels[other] - rooms[other] + there < levels[worker] - room:
            places[item] = other
            levels[worker] -= here
            levels[other] += there


def repour(
    flow: Flow, old: Plan, placed: LoadArray, capacity: LoadArray, *, slack: LoadArray
) -> Cut:
    """Return pieces of the flowing keys: the old ones where they can carry the load.

    Parameters
    ----------
    flow
        The keys that may be cut.
    old
        Where they were.
    placed
        What each worker has besides.
    capacity
        How much each worker can do.
    slack
        By how much a worker may exceed the common level and still keep what it has.
    """
    kept = _kept_pieces(flow, old)
    levels = (placed + sums_of(kept.loads, kept.workers, capacity.size)) / capacity
    pour_anew(kept, capacity, levels, _ROUNDS)
    level = float((placed.sum() + flow.loads.sum()) / capacity.sum())
    left = np.where(np.diff(kept.starts) == 0, flow.loads, 0.0)
    _take_excess(kept, capacity, levels, level, slack, left)
    keys = np.flatnonzero(left > 0)
    new = wrap_around(left[keys], rooms_for(float(left.sum()), levels * capacity, capacity))
    old_ones = Cut(owners_of(kept), kept.workers, kept.loads)
    return old_ones.and_also(Cut(keys[owners_of(new)], new.workers, new.loads))


def owners_of(pieces: Pieces) -> NDArray[np.int64]:
    """Return the item of every piece."""
    counts = np.diff(pieces.starts)
    owners: NDArray[np.int64] = np.repeat(np.arange(counts.size, dtype=np.int64), counts)
    return owners


def _kept_pieces(flow: Flow, old: Plan) -> Pieces:
    """Return the old places of those keys that had any, with their loads as they are now."""
    _, new, before = np.intersect1d(flow.ids, old.hot_ids, return_indices=True)
    number = np.full(flow.ids.size, -1)
    number[new] = before
    counts = (
        np.where(number >= 0, np.diff(old.pieces.starts)[number], 0) if new.size else 0 * number
    )
    starts = np.concatenate(([0], np.cumsum(counts)))
    owners = np.repeat(np.arange(flow.ids.size), counts)
    at = old.pieces.starts[number[owners]] + np.arange(owners.size) - starts[owners]
    shares = old.pieces.loads[at]
    whole = sums_of(shares, owners, flow.ids.size)[owners]
    parts = np.divide(shares, whole, out=1.0 / counts[owners], where=whole > 0)
    return Pieces(starts, old.pieces.workers[at], parts * flow.loads[owners])


@compiled
def _take_excess(
    pieces: Pieces,
    capacity: LoadArray,
    levels: LoadArray,
    level: float,
    slack: LoadArray,
    left: LoadArray,
) -> None:
    """Take from crowded workers what is above the common level, and add it to ``left``."""
    for item in range(pieces.starts.size - 1):
        for piece in range(pieces.starts[item], pieces.starts[item + 1]):
            worker = pieces.workers[piece]
            if levels[worker] > level + slack[worker]:
                taken = min((levels[worker] - level) * capacity[worker], pieces.loads[piece])
                pieces.loads[piece] -= taken
                levels[worker] -= taken / capacity[worker]
                left[item] += taken


def joined(cut: Cut, n_items: int, *, smallest: float = 0.0, most: int | None = None) -> Pieces:
    """Return one piece an item and worker; small ones, and those beyond ``most``, are given up.

    What is given up goes to the largest piece of its item, which stays in any case.

    >>> cut = Cut(np.array([0, 0, 0]), np.array([2, 1, 2], np.int32), np.array([3.0, 0.5, 1.0]))
    >>> pieces = joined(cut, 1, smallest=1.0)
    >>> pieces.workers.tolist(), pieces.loads.tolist()
    ([2], [4.5])
    """
    workers = int(cut.workers.max(initial=0)) + 1
    pairs, at = np.unique(cut.owners * workers + cut.workers, return_inverse=True)
    amounts = sums_of(cut.loads, at, pairs.size)
    items, places = pairs // workers, (pairs % workers).astype(np.int32)
    order = np.lexsort((-amounts, items))
    begin = np.searchsorted(items[order], np.arange(n_items + 1))
    rank = np.arange(order.size) - begin[items[order]]
    allowed = rank < (order.size if most is None else most)
    stays = np.empty(pairs.size, bool)
    stays[order] = (rank == 0) | (allowed & (amounts[order] >= smallest))
    np.add.at(amounts, order[begin[items[~stays]]], amounts[~stays])
    starts = np.searchsorted(items[stays], np.arange(n_items + 1)).astype(np.int64)
    return Pieces(starts, places[stays], amounts[stays])
