"""Plan a join by its work: rows in + rows out. Numbers in, tables out; no Spark here.

A key with L rows on the left and R on the right costs L + R + what comes out. The rows of a key
that is too much for one worker are cut on one side, and the rows of the other side are copied to
all workers that hold a part; or on both, as a grid: the left rows are cut into the rows of the
grid, the right ones into its columns, and each pair of rows meets in exactly one cell.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.plan import HASHED_MEMBER, slots_of
from unskew.hashing import Ids
from unskew.scheduling import LoadArray, longest_first, rooms_for, sums_of

FINE_SLOTS = 65_536
"""Hash slots in which rows of keys that are not hot are counted."""

JOIN_GROUPINGS = ("auto", "wrap")
"""How a join may be planned."""

_SLOTS_PER_WORKER = 32
_OWN_PLACE = 1 / 20  # of a worker's share: a key that is worth a place of its own
_LARGE = 1 / 3  # of a worker's share: a key that is better not placed whole
_SMALLEST_PIECE = 1 / 100  # of a worker's share
_MOST_COPIES = 1 / 4  # of a key's work: where one copy of the other side is more, it stays whole
_MANY_COPIES = 1 / 100  # of all rows: so many copies are worth a grid
_FEWEST_IN_GRID = 4
_FULL = 1.02  # of a worker's share: what cells of a grid may fill it to
_ROUNDS = 20


class Counts(NamedTuple):
    """What was learned of two tables: rows of the heaviest keys, and of all others by hash slot.

    Rows with a null in their key, which match nothing, are counted apart.
    """

    ids: Ids
    left: LoadArray
    right: LoadArray
    slot_left: LoadArray
    slot_right: LoadArray
    slot_out: LoadArray
    null_left: float = 0.0
    null_right: float = 0.0


class Copying(NamedTuple):
    """Which side's rows may be copied to several workers."""

    left: bool
    right: bool


def copying_for(how: str, free: bool) -> Copying:
    """Return which side may be copied by a join of this type.

    A side whose unmatched rows come out may be copied only where it is known beforehand which keys
    the other side has (``free``): not with a condition, and not of a stream. In a semi or an anti
    join a left row comes out at most once, and is never copied.
    """
    return Copying(
        left=how in ("inner", "right") or (free and how in ("left", "full")),
        right=how in ("inner", "left", "semi", "anti") or (free and how in ("right", "full")),
    )


class Layout(NamedTuple):
    """Where the keys of a join go; see `unskew.spark.plans.join_plan.JoinPlan`."""

    slot_workers: NDArray[np.int32]
    ids: Ids
    grid_rows: NDArray[np.int64]
    grid_columns: NDArray[np.int64]
    cell_workers: NDArray[np.int32]
    cell_loads: LoadArray
    left_shares: LoadArray
    right_shares: LoadArray
    null_shares: LoadArray
    loads: LoadArray
    copies: float


def rows_out(how: str, left: LoadArray, right: LoadArray) -> LoadArray:
    """Return how many rows a join of so many rows of a key gives.

    >>> two, three, none = np.array([2.0]), np.array([3.0]), np.array([0.0])
    >>> [int(rows_out(how, two, three)[0]) for how in ("inner", "left", "full", "semi", "anti")]
    [6, 6, 6, 2, 0]
    >>> [int(rows_out(how, two, none)[0]) for how in ("inner", "left", "full", "semi", "anti")]
    [0, 2, 2, 0, 2]
    """
    pairs = left * right
    if how == "semi":
        return np.where(right > 0, left, 0.0)
    if how == "anti":
        return np.where(right > 0, 0.0, left)
    unmatched = np.zeros_like(pairs)
    if how in ("left", "full"):
        unmatched = np.where(right > 0, unmatched, left)
    if how in ("right", "full"):
        unmatched = np.where(left > 0, unmatched, right)
    return pairs + unmatched


def hashed_loads(counts: Counts, how: str, workers: int, nulls: float) -> LoadArray:
    """Return the work that plain hashing would give each worker; all null keys go to one."""
    work = counts.left + counts.right + rows_out(how, counts.left, counts.right)
    slots = counts.slot_left + counts.slot_right + counts.slot_out
    loads = hashed_rows(counts.ids, work, slots, workers)
    loads[0] += nulls
    return loads


def hashed_rows(ids: Ids, rows: LoadArray, slots: LoadArray, workers: int) -> LoadArray:
    """Return what plain hashing would give each worker, of keys and of slots of other keys."""
    # Slots are stretches of the hash, as workers are; one that lies on a border counts whole.
    owners = ((np.arange(slots.size) + 0.5) * workers / slots.size).astype(np.int64)
    return sums_of(rows, slots_of(ids, HASHED_MEMBER, workers), workers) + sums_of(
        slots, owners, workers
    )


def lay_out(
    counts: Counts, how: str, workers: int, copying: Copying, nulls: float
) -> tuple[Layout, Layout]:
    """Return where all keys go so that workers have equal work; and the same with no key split.

    Parameters
    ----------
    counts
        What was learned.
    how
        The type of the join: inner, left, right, full, semi or anti.
    workers
        Number of workers.
    copying
        Which side's rows may be copied; without any, no key is split.
    nulls
        Work of rows with a null key, which go wherever there is room.
    """
    work = counts.left + counts.right + rows_out(how, counts.left, counts.right)
    slot_work = counts.slot_left + counts.slot_right + counts.slot_out
    level = float(work.sum() + slot_work.sum() + nulls) / workers
    own = np.flatnonzero(work >= max(_OWN_PLACE * level, np.finfo(float).tiny))
    own = own[np.argsort(-work[own], kind="stable")]
    others = np.delete(np.arange(work.size), own)
    slots = slot_work.copy()
    np.add.at(slots, slots_of(counts.ids[others], HASHED_MEMBER, slots.size), work[others])
    n_slots = min(slots.size, 1 << math.ceil(math.log2(_SLOTS_PER_WORKER * workers)))
    keys = _Keys(counts.ids[own], counts.left[own], counts.right[own], work[own])
    job = _Job(keys, slots.reshape(n_slots, -1).sum(axis=1), workers, nulls)
    rows = float(counts.left.sum() + counts.right.sum() + counts.slot_left.sum())
    rows += float(counts.slot_right.sum())
    return job.laid(_chosen(keys, level, copying), copying, rows), job.laid({}, copying, rows)


class _Keys(NamedTuple):
    """Keys with places of their own, the heaviest first."""

    ids: Ids
    left: LoadArray
    right: LoadArray
    work: LoadArray


class _Flow(NamedTuple):
    """A key that is cut where a worker is full: what can be cut, and what every piece costs."""

    cuts_left: bool
    work: float
    copies: float


class _Grid(NamedTuple):
    """How the rows of a key are cut, and where the pairs of parts meet."""

    left_shares: LoadArray
    right_shares: LoadArray
    workers: NDArray[np.int32]
    loads: LoadArray


def _chosen(keys: _Keys, level: float, copying: Copying) -> dict[int, _Flow]:
    """Return the keys that are worth cutting, on the side whose copies cost least."""
    flows = {}
    for at in range(keys.ids.size):
        left, right, work = float(keys.left[at]), float(keys.right[at]), float(keys.work[at])
        ways = [(right, True)] if copying.right else []
        ways += [(left, False)] if copying.left else []
        if work < _LARGE * level or not ways:
            continue
        copies, cuts_left = min(ways)
        if copies <= _MOST_COPIES * work:
            flows[at] = _Flow(cuts_left, work - copies, copies)
    return flows


class _Job(NamedTuple):
    """What has to be placed, and on how many workers."""

    keys: _Keys
    slots: LoadArray
    workers: int
    nulls: float

    def laid(self, flows: dict[int, _Flow], copying: Copying, rows: float) -> Layout:
        """Place grids, then whole keys and slots, then cut ``flows`` into the rooms left."""
        keys, base = self.keys, np.zeros(self.workers)
        grids = self._grids(flows, copying, rows, base)
        whole = [at for at in range(keys.ids.size) if at not in flows]
        loads = np.concatenate((keys.work[whole], self.slots))
        places = longest_first(loads, self.workers, initial=base)
        base += sums_of(loads, places, self.workers)
        for at, worker in zip(whole, places, strict=False):
            one = np.array([worker], np.int32)
            grids[at] = _Grid(np.ones(1), np.ones(1), one, keys.work[at : at + 1])
        cut = {at: flow for at, flow in flows.items() if at not in grids}
        for at, pieces in _cut_into_rooms(cut, base).items():
            grids[at] = _strip(cut[at], pieces)
            np.add.at(base, grids[at].workers, grids[at].loads)
        rooms = rooms_for(self.nulls, base) if self.nulls else np.ones(self.workers)
        base += rooms if self.nulls else 0.0
        return self._layout(grids, places[len(whole) :], rooms / rooms.sum(), base)

    def _grids(
        self, flows: dict[int, _Flow], copying: Copying, rows: float, base: LoadArray
    ) -> dict[int, _Grid]:
        """Return the keys that are cut on both sides into equal cells, and add them to ``base``."""
        grids: dict[int, _Grid] = {}
        level = float(self.keys.work.sum() + self.slots.sum() + self.nulls) / self.workers
        for at, flow in flows.items() if all(copying) else ():
            pieces = math.ceil((flow.work + flow.copies) / level)
            strip = (pieces - 1) * flow.copies
            if pieces < _FEWEST_IN_GRID or strip <= _MANY_COPIES * rows:
                continue
            left, right = float(self.keys.left[at]), float(self.keys.right[at])
            shape = _shape(left, right, flow.work, base, level)
            if shape is None or (shape[0] - 1) * right + (shape[1] - 1) * left > 0.5 * strip:
                continue
            high, wide = shape
            cells = high * wide
            chosen = np.sort(np.argsort(base, kind="stable")[:cells]).astype(np.int32)
            load = float(self.keys.work[at] - left - right) / cells + left / high + right / wide
            base[chosen] += load
            grids[at] = _Grid(
                np.full(high, 1 / high), np.full(wide, 1 / wide), chosen, np.full(cells, load)
            )
        return grids

    def _layout(
        self,
        grids: dict[int, _Grid],
        slot_workers: NDArray[np.int32],
        null_shares: LoadArray,
        loads: LoadArray,
    ) -> Layout:
        ordered = [grids[at] for at in range(self.keys.ids.size)]
        high = np.array([grid.left_shares.size for grid in ordered], np.int64)
        wide = np.array([grid.right_shares.size for grid in ordered], np.int64)
        nothing = np.empty(0)
        return Layout(
            slot_workers=slot_workers,
            ids=self.keys.ids,
            grid_rows=high,
            grid_columns=wide,
            cell_workers=np.concatenate([np.empty(0, np.int32), *(one.workers for one in ordered)]),
            cell_loads=np.concatenate([nothing, *(one.loads for one in ordered)]),
            left_shares=np.concatenate([nothing, *(one.left_shares for one in ordered)]),
            right_shares=np.concatenate([nothing, *(one.right_shares for one in ordered)]),
            null_shares=null_shares,
            loads=loads,
            copies=float(((high - 1) * self.keys.right + (wide - 1) * self.keys.left).sum()),
        )


def _shape(
    left: float, right: float, work: float, base: LoadArray, level: float
) -> tuple[int, int] | None:
    """Return the grid with fewest copies whose cells have room on the emptiest workers."""
    emptiest = np.sort(base)
    best, least = None, (math.inf, math.inf)
    for high in range(2, base.size // 2 + 1):
        for wide in range(2, base.size // high + 1):
            copies = (high - 1) * right + (wide - 1) * left
            cell = work / (high * wide) + right / wide + left / high
            has_room = cell + emptiest[high * wide - 1] <= _FULL * level
            if has_room and (copies, cell) < least:
                best, least = (high, wide), (copies, cell)
    return best


def _strip(flow: _Flow, pieces: list[tuple[int, float]]) -> _Grid:
    """Return the key cut on one side: pieces are (worker, work), without the copies."""
    workers = np.array([worker for worker, _ in pieces], np.int32)
    parts = np.array([part for _, part in pieces])
    shares, whole = parts / parts.sum(), np.ones(1)
    loads = parts + flow.copies
    if flow.cuts_left:
        return _Grid(shares, whole, workers, loads)
    return _Grid(whole, shares, workers, loads)


def _cut_into_rooms(flows: dict[int, _Flow], base: LoadArray) -> dict[int, list[tuple[int, float]]]:
    """Lay keys end to end over the workers, at the lowest level at which they fit."""
    if not flows:
        return {}
    total = base.sum() + sum(flow.work + flow.copies for flow in flows.values())
    low = float(total) / base.size
    high = low
    while (best := _laid_at(flows, base, high)) is None:
        low, high = high, 1.5 * high
    for _ in range(_ROUNDS):
        middle = 0.5 * (low + high)
        found = _laid_at(flows, base, middle)
        if found is None:
            low = middle
        else:
            best, high = found, middle
    return best


def _laid_at(
    flows: dict[int, _Flow], base: LoadArray, level: float
) -> dict[int, list[tuple[int, float]]] | None:
    """Cut the keys where a worker reaches ``level``; None if they do not fit.

    Every piece brings its copies along: a worker with hardly more room than for these is passed.
    """
    order = np.argsort(base, kind="stable")
    rooms = level - base[order]
    smallest = _SMALLEST_PIECE * level
    pieces: dict[int, list[tuple[int, float]]] = {at: [] for at in flows}
    place = 0
    for at, flow in flows.items():
        rest = flow.work
        while rest > 0:
            if place == order.size:
                return None
            room = rooms[place] - flow.copies
            if room < min(rest, smallest):
                place += 1
                continue
            part = min(rest, room)
            pieces[at].append((int(order[place]), part))
            rooms[place] -= part + flow.copies
            rest -= part
            if rest > 0:
                place += 1
    return pieces
