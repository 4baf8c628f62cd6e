"""Lay keys out over workers: whole where they fit, cut only where a worker is full."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.groupings.plan import HASHED_MEMBER, Plan
from unskew.hashing import Ids
from unskew.scheduling import LoadArray, Pieces, longest_first, rooms_for, sums_of, wrap_around

_ABSORBED = 0.02  # of a worker's share: what is left of a key and not worth a piece
_MORE_WORKERS = 1.05  # the next number of workers to try where keys do not fit


class KeyLoads(NamedTuple):
    """What is to be placed: keys that may be cut, and hash slots of others, which may not."""

    ids: Ids
    loads: LoadArray
    slot_loads: LoadArray


def even_layout(keys: KeyLoads, workers: int, *, tolerance: float) -> Plan:
    """Return a plan that gives all workers about the same, with as few cuts as that takes.

    A key that is larger than a worker's share fills workers of its own. What is left of it, and
    all other keys and slots, are placed whole, largest first. Only if a worker would then exceed
    the mean by more than ``tolerance`` are the largest of them, few at first, laid end to end over
    the room that the others leave. There are at most ``workers − 1`` more pieces than keys.

    Parameters
    ----------
    keys
        What is to be placed; identities are those that Spark computes.
    workers
        Number of workers, at least 1.
    tolerance
        By what share of the mean a worker may exceed it before a key is cut for that.

    Examples
    --------
    The first key fills two workers and has 0.5 left, which shares the third with the others:

    >>> keys = KeyLoads(np.array([7, 8], np.uint64), np.array([2.5, 0.25]), np.array([0.25]))
    >>> plan = even_layout(keys, 3, tolerance=0.01)
    >>> plan.pieces.loads.tolist(), plan.predicted_loads.tolist()
    ([1.0, 1.0, 0.5, 0.25], [1.0, 1.0, 1.0])
    """
    share = float(keys.loads.sum() + keys.slot_loads.sum()) / workers
    cut = _fill(keys.loads, share, tolerance=min(tolerance, _ABSORBED), most=workers)
    free = workers - cut.filled
    if free == 0:
        return _plan(keys, cut, [], np.zeros(keys.slot_loads.size, np.int32), workers)
    rest_first = np.argsort(-cut.rest, kind="stable")
    flowing, best = 0, None
    while True:
        flow, whole = rest_first[:flowing], np.sort(rest_first[flowing:])
        items = np.concatenate((cut.rest[whole], keys.slot_loads))
        places = longest_first(items, free)
        placed = sums_of(items, places, free)
        laid = wrap_around(cut.rest[flow], rooms_for(float(cut.rest[flow].sum()), placed))
        fullest = float((placed + sums_of(laid.loads, laid.workers, free)).max())
        if best is None or fullest < best[0]:
            best = fullest, flow, whole, places, laid
        most = min(free, int(np.count_nonzero(cut.rest > 0)))
        if fullest <= share * (1 + tolerance) or flowing >= most:
            break
        flowing = min(max(1, 2 * flowing), most)
    _, flow, whole, places, laid = best
    owners = np.concatenate((flow[np.repeat(np.arange(flow.size), np.diff(laid.starts))], whole))
    rest = _Placed(
        owners,
        np.concatenate((laid.workers, places[: whole.size])) + np.int32(cut.filled),
        np.concatenate((laid.loads, cut.rest[whole])),
    )
    return _plan(keys, cut, [rest], places[whole.size :] + np.int32(cut.filled), workers)


def sized_layout(keys: KeyLoads, size: float, *, tolerance: float) -> Plan:
    """Return a plan for as many workers as it takes so that none gets much more than ``size``.

    A key that is larger is cut into pieces of ``size``, and what is left of it; or, where that is
    little, into fewer pieces that are larger by ``tolerance`` at most. No other key is cut. A slot
    that is larger than ``size`` stays whole.

    Parameters
    ----------
    keys
        What is to be placed; identities are those that Spark computes.
    size
        What a worker should get, above 0.
    tolerance
        By what share of ``size`` a worker may exceed it.

    Examples
    --------
    A key of 2.5 becomes 1, 1 and 0.5; the other two share workers with what is left:

    >>> keys = KeyLoads(np.array([7, 8], np.uint64), np.array([2.5, 0.25]), np.array([0.25]))
    >>> plan = sized_layout(keys, 1.0, tolerance=0.1)
    >>> plan.workers, plan.pieces.loads.tolist(), plan.extra_pieces
    (3, [1.0, 1.0, 0.5, 0.25], 2)
    """
    cut = _fill(keys.loads, size, tolerance=tolerance, most=None)
    items = np.concatenate((cut.rest, keys.slot_loads))
    largest = max(size * (1 + tolerance), float(items.max(initial=0.0)))
    others = max(1, math.ceil(items.sum() / size))
    if cut.filled and items.sum() == 0:
        others = 0
        places = np.zeros(items.size, np.int32)
    else:
        places = longest_first(items, others)
        while sums_of(items, places, others).max() > largest:
            others = max(others + 1, math.ceil(_MORE_WORKERS * others))
            places = longest_first(items, others)
    left = np.flatnonzero((cut.rest > 0) | (cut.counts == 0))
    rest = _Placed(left, places[left] + np.int32(cut.filled), cut.rest[left])
    slots = places[cut.rest.size :] + np.int32(cut.filled if others else 0)
    return _plan(keys, cut, [rest], slots, cut.filled + others)


class _Placed(NamedTuple):
    """Pieces: of which key, on which worker, how large."""

    owners: NDArray[np.int64]
    workers: NDArray[np.int32]
    loads: LoadArray


class _Filled(NamedTuple):
    """How many workers each key fills, with how much each, and what is left of it."""

    counts: NDArray[np.int64]
    sizes: LoadArray
    rest: LoadArray

    @property
    def filled(self) -> int:
        return int(self.counts.sum())


def _fill(loads: LoadArray, share: float, *, tolerance: float, most: int | None) -> _Filled:
    """Let large keys fill workers; what is left of one, if little, goes on them, too."""
    large = loads > share * (1 + tolerance)
    whole = np.floor(loads / share + 1e-9) if share > 0 else np.zeros_like(loads)
    counts = np.where(large, whole, 0).astype(np.int64)
    rest = np.where(large, np.maximum(loads - counts * share, 0.0), loads)
    absorbed = large & ((rest <= tolerance * share * counts) | (counts.sum() == most))
    sizes = np.where(absorbed, loads / np.maximum(counts, 1), share)
    return _Filled(counts, sizes, np.where(absorbed, 0.0, rest))


def _plan(
    keys: KeyLoads,
    cut: _Filled,
    placed: list[_Placed],
    slot_workers: NDArray[np.int32],
    workers: int,
) -> Plan:
    owners = np.repeat(np.arange(cut.counts.size), cut.counts)
    full = _Placed(owners, np.arange(owners.size, dtype=np.int32), cut.sizes[owners])
    parts = [full, *placed]
    owners = np.concatenate([part.owners for part in parts])
    loads = np.concatenate([part.loads for part in parts])
    places = np.concatenate([part.workers for part in parts]).astype(np.int32)
    # A key that fills its workers to the last row has nothing left that would need a place.
    kept = (loads > 0) | ~np.isin(owners, full.owners)
    order = np.flatnonzero(kept)[np.argsort(owners[kept], kind="stable")]
    starts = np.searchsorted(owners[order], np.arange(cut.counts.size + 1)).astype(np.int64)
    predicted = sums_of(loads[order], places[order], workers)
    np.add.at(predicted, slot_workers, keys.slot_loads)
    unknown = np.flatnonzero(keys.slot_loads == 0)  # no row of these slots was seen: hash them
    slot_workers[unknown] = np.arange(unknown.size, dtype=np.int32) % np.int32(workers)
    if unknown.size == slot_workers.size:
        slot_workers = np.arange(workers, dtype=np.int32)
    return Plan(
        workers=workers,
        slot_member=HASHED_MEMBER,
        slot_workers=slot_workers.astype(np.int32),
        hot_ids=keys.ids,
        pieces=Pieces(starts, places[order], loads[order]),
        predicted_loads=predicted,
    )
