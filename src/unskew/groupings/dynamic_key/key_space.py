"""The key space of `DynamicKey`: three generations of keys, as in the heap of the Java machine.

A new key is a *baby*. In every cycle the keys that came most often move up, to *teenage* and then
to *old*, and push the others down. All items stand in the same arrays, first the old ones, then
the teenage ones, then the babies in the order in which they came.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew._table import ABSENT, Table, new_table, put, with_room_for
from unskew.hashing import Ids

OLD, TEENAGE, BABY = 0, 1, 2

_Slots = NDArray[np.int64]


class KeySpace(NamedTuple):
    """The items of all generations; arrays change in place, so a loop can carry it along.

    ``widths[i]`` is how many workers key ``i`` has, ``peaks[i]`` the most it ever had. Its first
    ``full[i]`` workers had at least the load ``levels[i]`` when they were last looked at; loads
    never fall, so nobody needs to look again. ``checked[i]`` is when it was last looked at whether
    the key needs more or fewer workers, where not every row looks. ``ends[g]`` is where the items
    of generation ``g`` end and those of the next one start; ``rooms[g]`` is how many items
    generation ``g`` keeps.
    """

    table: Table
    ids: Ids
    occurrences: NDArray[np.int64]
    widths: NDArray[np.int64]
    peaks: NDArray[np.int64]
    full: NDArray[np.int64]
    levels: NDArray[np.float64]
    checked: NDArray[np.float64]
    ends: NDArray[np.int64]
    rooms: NDArray[np.int64]


def new_key_space(expected_keys: int) -> KeySpace:
    """Return an empty space: 10 % of ``expected_keys`` may be old, 40 % teenage, the rest babies.

    >>> new_key_space(100).rooms.tolist()
    [10, 40, 50]
    """
    old, teenage = max(1, round(0.1 * expected_keys)), max(1, round(0.4 * expected_keys))
    baby = max(1, expected_keys - old - teenage)
    room = 2 * (old + teenage + baby)
    return KeySpace(
        table=new_table(room),
        ids=np.zeros(room, np.uint64),
        occurrences=np.zeros(room, np.int64),
        widths=np.zeros(room, np.int64),
        peaks=np.zeros(room, np.int64),
        full=np.zeros(room, np.int64),
        levels=np.zeros(room, np.float64),
        checked=np.zeros(room, np.float64),
        ends=np.zeros(3, np.int64),
        rooms=np.array([old, teenage, baby], np.int64),
    )


def with_room(space: KeySpace, rows: int) -> KeySpace:
    """Return ``space``, or a larger copy of it, with room for ``rows`` more babies."""
    needed = int(space.ends[BABY]) + rows
    if needed <= space.ids.size:
        return space
    more = max(needed, 2 * space.ids.size) - space.ids.size
    return space._replace(
        table=with_room_for(space.table, space.ids.size + more),
        ids=np.append(space.ids, np.zeros(more, np.uint64)),
        occurrences=np.append(space.occurrences, np.zeros(more, np.int64)),
        widths=np.append(space.widths, np.zeros(more, np.int64)),
        peaks=np.append(space.peaks, np.zeros(more, np.int64)),
        full=np.append(space.full, np.zeros(more, np.int64)),
        levels=np.append(space.levels, np.zeros(more, np.float64)),
        checked=np.append(space.checked, np.zeros(more, np.float64)),
    )


@compiled
def add_baby(space: KeySpace, key_id: np.uint64, width: int) -> np.int64:
    """Take a new key in and return its slot; the caller has made room before."""
    slot = np.int64(space.ends[BABY])
    space.ids[slot] = key_id
    space.occurrences[slot] = 0
    space.widths[slot] = width
    space.peaks[slot] = width
    space.full[slot] = 0
    space.checked[slot] = -np.inf
    space.ends[BABY] = slot + 1
    put(space.table, key_id, slot)
    return slot


@compiled
def promote_to_teenage(space: KeySpace) -> None:
    """Forget all but the most frequent babies, then let them rise (algorithm 1)."""
    ends, rooms = space.ends, space.rooms
    old = np.arange(ends[OLD])
    teenage = _largest_first(np.arange(ends[OLD], ends[TEENAGE]), space.occurrences)
    baby = _cut(np.arange(ends[TEENAGE], ends[BABY]), space.occurrences, rooms[BABY])
    baby, teenage = _promote(baby, teenage, space.occurrences, rooms[TEENAGE])
    _arrange(space, old, teenage, baby)


@compiled
def promote_to_old(space: KeySpace) -> None:
    """Let the most frequent teenage keys rise (algorithm 2)."""
    ends, rooms = space.ends, space.rooms
    old = _largest_first(np.arange(ends[OLD]), space.occurrences)
    teenage = _largest_first(np.arange(ends[OLD], ends[TEENAGE]), space.occurrences)
    baby = np.arange(ends[TEENAGE], ends[BABY])
    teenage, old = _promote(teenage, old, space.occurrences, rooms[OLD])
    _arrange(space, old, teenage, baby)


@compiled
def _promote(
    source: _Slots, target: _Slots, occurrences: NDArray[np.int64], room: int
) -> tuple[_Slots, _Slots]:
    """Swap the first of ``source`` with the last of ``target`` while it is not smaller.

    This is algorithm 3, but for what it leaves out: a target that is not full yet takes items
    without giving any back. Both are sorted, largest first.
    """
    free = min(max(0, room - target.size), source.size)
    target = _largest_first(np.concatenate((target, source[:free])), occurrences)
    source = source[free:]
    queue = np.concatenate((source, target))
    swaps = 0
    while source.size > 0 and swaps < target.size:
        first, last = queue[swaps], target[target.size - 1 - swaps]
        if occurrences[last] > occurrences[first]:
            break
        queue[source.size + swaps] = last
        swaps += 1
    risen = queue[:swaps][::-1]
    return queue[swaps : swaps + source.size], np.concatenate(
        (risen, target[: target.size - swaps])
    )


@compiled
def _largest_first(slots: _Slots, occurrences: NDArray[np.int64]) -> _Slots:
    """Sort by occurrences, those that came first in front where equal."""
    return slots[np.argsort(-occurrences[slots], kind="mergesort")]


@compiled
def _cut(slots: _Slots, occurrences: NDArray[np.int64], room: int) -> _Slots:
    """Return the ``room`` most frequent slots, sorted; only these are sorted, to save time."""
    if slots.size <= room:
        return _largest_first(slots, occurrences)
    border = np.partition(occurrences[slots], slots.size - room)[slots.size - room]
    at_border = room - np.sum(occurrences[slots] > border)
    kept = np.empty(room, np.int64)
    count = 0
    for slot in slots:
        if occurrences[slot] > border:
            kept[count] = slot
            count += 1
        elif occurrences[slot] == border and at_border > 0:
            kept[count] = slot
            count += 1
            at_border -= 1
    return _largest_first(kept, occurrences)


@compiled
def _arrange(space: KeySpace, old: _Slots, teenage: _Slots, baby: _Slots) -> None:
    """Bring the items into this order and forget all others."""
    order = np.concatenate((old, teenage, baby))
    size = order.size
    space.ids[:size] = space.ids[order]
    space.occurrences[:size] = space.occurrences[order]
    space.widths[:size] = space.widths[order]
    space.peaks[:size] = space.peaks[order]
    space.full[:size] = space.full[order]
    space.levels[:size] = space.levels[order]
    space.checked[:size] = space.checked[order]
    space.table.values[:] = ABSENT
    for slot in range(size):
        put(space.table, space.ids[slot], np.int64(slot))
    space.ends[OLD] = old.size
    space.ends[TEENAGE] = old.size + teenage.size
    space.ends[BABY] = order.size
