"""The loop of `DynamicKey`: algorithms 4 to 6 of the paper for row after row."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew._table import ABSENT, get
from unskew.groupings.base import Weights, Workers
from unskew.groupings.dynamic_key.key_space import OLD, KeySpace, add_baby
from unskew.hashing import Ids, mix
from unskew.sketches.bloom import add_hash

_NONE = -1


class Widened(NamedTuple):
    """The keys that ever had more than two workers, and the most that any had."""

    words: Ids
    probes: int
    hash_seed: np.uint64
    widest: NDArray[np.int64]


@compiled
def route_rows(
    space: KeySpace,
    widened: Widened,
    loads: NDArray[Any],
    sent: NDArray[Any],
    ids: Ids,
    weights: Weights,
    seed: np.uint64,
    limit: float,
    max_width: int,
    times: NDArray[np.float64],
    check_every: float,
    whole: bool,
    out: Workers,
) -> None:
    """Choose the best worker of every row (algorithm 4).

    Without ``times`` every row has a look at whether its key needs more or fewer workers; with them
    those rows do that are later than the key's last look by more than ``check_every``. Then loads
    can also be compared in ``whole`` percents.
    """
    table, occurrences, widths = space.table, space.occurrences, space.widths
    peaks, full, levels = space.peaks, space.full, space.levels
    workers, old_end = loads.size, space.ends[OLD]
    for i in range(ids.size):
        slot = get(table, ids[i])
        if slot == ABSENT:
            slot = add_baby(space, ids[i], min(2, workers))
        occurrences[slot] += 1
        first = np.int64(mix(ids[i], seed) % np.uint64(workers))
        width = widths[slot]
        overload = _rounded_up(loads, limit * sent[0])
        if times.size:
            due = times[i] - space.checked[slot] > check_every
            if due:
                space.checked[slot] = times[i]
                if width > 2 and _count_below(loads, first, width, overload) >= 2:
                    width = widths[slot] = width - 1
            if whole:
                worker = _least_in_percents(loads, sent[0], first, width)
            else:
                worker = _least_loaded(loads, first, width, loads.dtype.type(-1))
            overloaded = due and loads[worker] >= overload
        elif width <= 2:
            worker = _less_loaded(loads, first, _wrapped(first + width - 1, workers))
            overloaded = loads[worker] >= overload
        else:
            known = min(width, full[slot]) if levels[slot] == overload else np.int64(0)
            worker, width, full[slot] = _scale_down(loads, first, width, overload, known)
            widths[slot], levels[slot] = width, overload
            overloaded = worker == _NONE
        if overloaded:
            further = _wrapped(first + width, workers)
            may_widen = slot < old_end and width < max_width
            if worker == _NONE and not (may_widen and loads[further] < overload):
                worker = _least_loaded(loads, first, width, overload)
            if may_widen and (worker == _NONE or _is_less(loads, sent[0], further, worker, whole)):
                worker = further
                widths[slot] = width + 1
                if width + 1 > peaks[slot]:
                    peaks[slot] = width + 1
                    _remember(widened, ids[i], width + 1)
        weight = weights[i] if weights.size else loads.dtype.type(1)
        loads[worker] += weight
        sent[0] += weight
        out[i] = worker


@inlined
def _rounded_up(loads: NDArray[Any], amount: float) -> Any:
    """Return the least load of the type of ``loads`` that is not below ``amount``."""
    whole = loads.dtype.type(amount)
    return whole + loads.dtype.type(whole < amount)


@inlined
def _wrapped(worker: np.int64, workers: int) -> np.int64:
    return worker - workers if worker >= workers else worker


@inlined
def _less_loaded(loads: NDArray[Any], first: np.int64, second: np.int64) -> np.int64:
    return second if loads[second] < loads[first] else first


@compiled
def _least_loaded(loads: NDArray[Any], first: np.int64, width: np.int64, least: Any) -> np.int64:
    """Return the least loaded of ``width`` workers from ``first`` on, the nearest if equal.

    None is loaded less than ``least``, so the search ends at one that is loaded just so.
    """
    best, step = first, 1
    while loads[best] != least and step < width:
        best = _less_loaded(loads, best, _wrapped(first + step, loads.size))
        step += 1
    return best


@compiled
def _least_in_percents(
    loads: NDArray[Any], sent: Any, first: np.int64, width: np.int64
) -> np.int64:
    best = first
    for step in range(1, width):
        worker = _wrapped(first + step, loads.size)
        best = worker if _is_less(loads, sent, worker, best, True) else best
    return best


@inlined
def _is_less(loads: NDArray[Any], sent: Any, one: np.int64, other: np.int64, whole: bool) -> bool:
    """Tell whether one worker is less loaded than another, also if only whole percents count."""
    less: bool = loads[one] < loads[other]
    if whole and less:
        less = np.floor(100 * loads[one] / sent) < np.floor(100 * loads[other] / sent)
    return less


@compiled
def _count_below(loads: NDArray[Any], first: np.int64, width: np.int64, overload: Any) -> int:
    count = 0
    for step in range(width):
        count += loads[_wrapped(first + step, loads.size)] < overload
    return count


@compiled
def _scale_down(
    loads: NDArray[Any], first: np.int64, width: np.int64, overload: Any, known: np.int64
) -> tuple[np.int64, np.int64, np.int64]:
    """Return the least loaded worker, how many workers stay, and how many of the first are full.

    While two workers are below the limit the last one goes (algorithm 6, which algorithm 4 calls
    again and again), but two stay: so the second one below the limit goes, and all that follow it.
    The one below it that is left is the least loaded; `_NONE` stands for it where all are full.
    The first ``known`` workers are full, so they are passed over.
    """
    lone, full = np.int64(_NONE), width
    for step in range(known, width):
        worker = _wrapped(first + step, loads.size)
        if loads[worker] < overload:
            if lone != _NONE:
                width = max(np.int64(2), np.int64(step))
                break
            lone, full = worker, np.int64(step)
    if width == 2:
        lone = _less_loaded(loads, first, _wrapped(first + 1, loads.size))
    return lone, width, full


@compiled
def _remember(widened: Widened, key_id: np.uint64, width: np.int64) -> None:
    add_hash(widened.words, widened.probes, mix(key_id, widened.hash_seed))
    widened.widest[0] = max(widened.widest[0], width)


@compiled
def hash_worker(ids: Ids, seed: np.uint64, workers: int) -> np.int64:
    """Return the first candidate of the first key."""
    return np.int64(mix(ids[0], seed) % np.uint64(workers))
