"""The compiled loop of d-choices and w-choices: few hot keys on many workers, the rest on two.

Every row is counted in a SpaceSaving sketch. Its key is in the *head* if it has, for certain, at
least a given share of all weight so far (and was in some rows); then the row goes to the least
loaded of the key's ``choices`` candidates, or of all workers where ``choices`` is their number.
Else it goes to the less loaded of two, which are the first two candidates in either case.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import borrowed, compiled, inlined
from unskew._lowest import Lowest, borrow_lowest, lowest_by_ones, lowest_of_any, new_lowest
from unskew.groupings.base import Weights, Workers
from unskew.groupings.candidates import apart
from unskew.groupings.choices.load_levels import (
    Levels,
    borrow_levels,
    is_in,
    least_by_comparison,
    least_loaded,
    new_levels,
    put_in,
    raise_load,
    start_levels,
)
from unskew.hashing import Ids, mix, to_range
from unskew.sketches.bloom import Bloom, add_hash
from unskew.sketches.space_saving import Counters, SpaceSaving, borrow, step

EVIDENCE = 10
"""In how many rows of mean weight a key must have been to be hot: fewer may be chance."""

_NO_SET = -1

# What is known of the key that has a slot in the sketch; of no use once another key took the slot.
_NOTE = np.dtype([("id", np.uint64), ("remembered", np.int32), ("set", np.int32)])
_RULE = np.dtype(
    [
        ("share", np.float64),  # from which a key is in the head
        ("rows", np.int64),
        ("choices", np.int64),  # of a key in the head
        ("most_choices", np.int64),  # that were ever in use
        ("probes", np.int64),  # of the Bloom filter
        ("filter_seed", np.uint64),
    ]
)


class Head(NamedTuple):
    """What one source knows of its hot keys."""

    counters: Counters
    workers: Lowest
    """The search for the least loaded of all workers."""
    seeds: Ids
    """Of the hash functions that give a key its candidates, one after the other."""
    notes: NDArray[Any]
    """A record a slot of the sketch."""
    levels: Levels
    """The candidates of the hottest keys, and the search for the least loaded of them."""
    ever_head: NDArray[np.uint64]
    """The words of a Bloom filter that holds all keys which ever were in the head."""
    rule: NDArray[Any]


def new_head(sketch: SpaceSaving, ever_head: Bloom, seeds: Ids, workers: int, n_sets: int) -> Head:
    """Return the state before the first row; routing updates ``sketch`` and ``ever_head`` too."""
    notes = np.zeros(sketch.capacity, _NOTE)
    notes["set"] = _NO_SET
    rule = np.zeros(1, _RULE)
    rule["probes"], rule["filter_seed"] = ever_head.probes, ever_head.hash_seed
    return Head(
        counters=sketch.counters,
        workers=new_lowest(workers),
        seeds=seeds,
        notes=notes,
        levels=new_levels(workers, n_sets),
        ever_head=ever_head.words,
        rule=rule,
    )


@inlined
def _borrow_head(head: Head) -> Head:
    return Head(
        borrow(head.counters),
        borrow_lowest(head.workers),
        borrowed(head.seeds),
        borrowed(head.notes),
        borrow_levels(head.levels),
        borrowed(head.ever_head),
        borrowed(head.rule),
    )


@compiled
def route_rows(
    owned: Head, owned_loads: NDArray[Any], whole: bool, ids: Ids, weights: Weights, out: Workers
) -> None:
    """Choose a worker for every row; empty ``weights`` mean that all are 1.

    ``whole`` tells that loads have only ever grown by ones.
    """
    head, loads = _borrow_head(owned), borrowed(owned_loads)
    size, one = np.uint64(loads.size), loads.dtype.type(1)
    rule = head.rule[0]
    share, rows = rule.share, rule.rows + 1
    by_level = whole and rule.choices < loads.size
    seed, other_seed = head.seeds[0], head.seeds[1]
    for i in range(ids.size):
        first = to_range(mix(ids[i], seed), size)
        second = apart(first, to_range(mix(ids[i], other_seed), size), loads.size)
        slot = step(head.counters, ids[i], weights[i] if weights.size else 1.0)
        certain = head.counters.counts[slot] - head.counters.slots[slot].error
        load, other_load = loads[first], loads[second]
        less = other_load < load
        worker = second if less else first
        load = other_load if less else load
        total = head.counters.summary[0].total
        if certain >= share * total and certain * (rows + i) >= EVIDENCE * total:
            worker = _of_head(head, loads, whole, ids[i], slot)
            load = loads[worker]
        loads[worker] = load + (weights[i] if weights.size else one)
        if by_level:
            raise_load(head.levels, worker, np.int64(load))
        out[i] = worker
    rule.rows += ids.size


@inlined
def _of_head(head: Head, loads: NDArray[Any], whole: bool, key_id: np.uint64, slot: int) -> Any:
    note, rule = head.notes[slot], head.rule[0]
    if note.id != key_id or not note.remembered:
        if note.id != key_id:
            note.id, note.set = key_id, _NO_SET
        note.remembered = 1
        add_hash(head.ever_head, rule.probes, mix(key_id, rule.filter_seed))
    if rule.choices < loads.size:
        if note.set == _NO_SET:
            worker = _of_hashes(head.seeds, rule.choices, loads, key_id)
        elif whole:
            worker = least_loaded(head.levels, note.set, loads)
        else:
            worker = least_by_comparison(head.levels.sets, note.set, loads)
    elif whole:
        worker = lowest_by_ones(head.workers, loads)
    else:
        worker = lowest_of_any(head.workers, loads)
    return worker


@compiled
def _of_hashes(seeds: Ids, choices: int, loads: NDArray[Any], key_id: np.uint64) -> Any:
    """Return the least loaded candidate of a key for which no set is kept yet.

    From the third on, candidates that coincide do not move on here: all are among those of a set.
    """
    first = best = to_range(mix(key_id, seeds[0]), np.uint64(loads.size))
    for choice in range(1, choices):
        worker = to_range(mix(key_id, seeds[choice]), np.uint64(loads.size))
        worker = apart(first, worker, loads.size) if choice == 1 else worker
        best = worker if loads[worker] < loads[best] else best
    return best


@compiled
def keep_candidates(owned: Head, slots: NDArray[np.int64], loads: NDArray[Any]) -> None:
    """Keep the candidates of the keys in ``slots``, hottest first, as far as there is room.

    A candidate that coincides with an earlier one moves on to the next free worker.
    """
    head = _borrow_head(owned)
    for slot in range(head.notes.size):
        head.notes[slot].set = _NO_SET
    sets = head.levels.sets
    sets[:] = np.uint64(0)
    n_sets = min(slots.size, sets.shape[0])
    for at in range(n_sets):
        note, key_id = head.notes[slots[at]], head.counters.slots[slots[at]].id
        note.remembered = note.remembered if note.id == key_id else 0
        note.id, note.set = key_id, at
        for choice in range(head.rule[0].choices):
            worker = to_range(mix(key_id, head.seeds[choice]), np.uint64(loads.size))
            while is_in(sets, at, worker):
                worker = np.int64((worker + 1) % loads.size)
            put_in(sets, at, worker)
    start_levels(head.levels, n_sets, loads)
