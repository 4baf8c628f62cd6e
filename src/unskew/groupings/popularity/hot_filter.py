"""The filter of hot keys that the sources of `Popularity` share, and the loop that routes by it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.groupings.base import Workers
from unskew.groupings.popularity.adaptive_threshold import keep_smallest, new_smallest_hashes
from unskew.hashing import Ids, mix
from unskew.sketches._coin_vectors import (
    EVENTS,
    NEXT_ROW,
    RECORDS,
    ROW,
    Vectors,
    flip_and_update,
)
from unskew.sketches.counting_bloom import add_hash, contains_hash, new_counters, remove_hash

LOG_LENGTH = 4096
"""How many switches of keys are remembered."""

_EVER_BITS = 1 << 21
_FALSE_HOT = 0.01
_THREE, _SEVEN = np.uint64(3), np.uint64(7)
_NEXT_WORKER, _SWITCHES, _PROBES = 0, 1, 2


class Switch(NamedTuple):
    """A key that is shuffled from row ``row`` on (``hot``), or hashed again."""

    row: int
    key_id: int
    hot: bool


class HotFilter(NamedTuple):
    """What the sources look at: the hot keys, the keys ever shuffled, the log of switches."""

    counters: NDArray[np.uint8]
    ever: NDArray[np.uint8]
    smallest: Ids
    log_rows: NDArray[np.int64]
    log_ids: Ids
    log_hot: NDArray[np.bool_]
    cells: NDArray[np.int64]


def new_hot_filter(capacity: int, counts_keys: bool) -> HotFilter:
    """Return a filter without keys that takes ``capacity`` of them."""
    counters, probes = new_counters(capacity, _FALSE_HOT)
    return HotFilter(
        counters=counters,
        ever=np.zeros(_EVER_BITS // 8, np.uint8),
        smallest=new_smallest_hashes() if counts_keys else np.empty(0, np.uint64),
        log_rows=np.zeros(LOG_LENGTH, np.int64),
        log_ids=np.zeros(LOG_LENGTH, np.uint64),
        log_hot=np.zeros(LOG_LENGTH, np.bool_),
        cells=np.array([0, 0, probes], np.int64),
    )


def count_switches(hot: HotFilter) -> int:
    """Return how often a key became hot or ceased to be."""
    return int(hot.cells[_SWITCHES])


def last_switches(hot: HotFilter) -> list[Switch]:
    """Return the last switches, oldest first, at most `LOG_LENGTH`."""
    count = count_switches(hot)
    places = np.arange(max(0, count - LOG_LENGTH), count) % LOG_LENGTH
    columns = (log[places].tolist() for log in (hot.log_rows, hot.log_ids, hot.log_hot))
    return [Switch(*entry) for entry in zip(*columns, strict=True)]


@compiled
def route_rows(
    state: Vectors,
    hot: HotFilter,
    ids: Ids,
    seed: np.uint64,
    workers: int,
    start: int,
    most_records: int,
    out: Workers,
) -> int:
    """Route rows until the batch or the interval ends; return how many rows are done.

    A row is routed by what was known before it, then its coin is flipped.
    """
    cells = state.cells
    done = start
    while done < ids.size and cells[RECORDS] < most_records:
        stop = done + cells[NEXT_ROW] - cells[ROW] + 1
        if hot.smallest.size:
            keep_smallest(hot.smallest, ids[done:stop], seed)
        if stop > ids.size:
            cells[ROW] += ids.size - done
            stop = ids.size
            _rotate_or_hash(hot, ids, seed, workers, done, stop, out)
        else:
            _rotate_or_hash(hot, ids, seed, workers, done, stop, out)
            flip_and_update(state, ids[stop - 1])
            if cells[EVENTS] > 0:
                _follow(hot, state, seed)
        done = stop
    return done


@compiled
def _rotate_or_hash(
    hot: HotFilter,
    ids: Ids,
    seed: np.uint64,
    workers: int,
    start: int,
    stop: int,
    out: Workers,
) -> None:
    counters, probes, modulus = hot.counters, hot.cells[_PROBES], np.uint64(workers)
    worker = hot.cells[_NEXT_WORKER]
    for i in range(start, stop):
        bits = mix(ids[i], seed)
        if contains_hash(counters, probes, bits):
            _remember(hot.ever, bits)
            out[i] = worker
            worker += 1
            if worker == workers:
                worker = 0
        else:
            out[i] = np.int32(bits % modulus)
    hot.cells[_NEXT_WORKER] = worker


@compiled
def _follow(hot: HotFilter, state: Vectors, seed: np.uint64) -> None:
    """Tell the filter which keys the last update made hot or rare, and log them."""
    for event in range(state.cells[EVENTS]):
        key_id = state.event_ids[event]
        bits = mix(key_id, seed)
        if state.event_hot[event]:
            add_hash(hot.counters, hot.cells[_PROBES], bits)
        else:
            remove_hash(hot.counters, hot.cells[_PROBES], bits)
        place = hot.cells[_SWITCHES] % hot.log_ids.size
        hot.log_rows[place] = state.cells[ROW]
        hot.log_ids[place] = key_id
        hot.log_hot[place] = state.event_hot[event]
        hot.cells[_SWITCHES] += 1


@inlined
def _remember(ever: NDArray[np.uint8], bits: np.uint64) -> None:
    """Note that the key with this hash was shuffled, in a Bloom filter that never forgets."""
    last = np.uint64(8 * ever.size - 1)
    first, second = (bits >> np.uint64(20)) & last, (bits >> np.uint64(40)) & last
    ever[first >> _THREE] |= np.uint8(1) << np.uint8(first & _SEVEN)
    ever[second >> _THREE] |= np.uint8(1) << np.uint8(second & _SEVEN)


@compiled
def lone_worker(ever: NDArray[np.uint8], ids: Ids, seed: np.uint64, workers: int) -> int:
    """Return the hash worker of a key that was surely never shuffled, else −1."""
    bits = mix(ids[0], seed)
    last = np.uint64(8 * ever.size - 1)
    first, second = (bits >> np.uint64(20)) & last, (bits >> np.uint64(40)) & last
    seen = (ever[first >> _THREE] >> np.uint8(first & _SEVEN)) & np.uint8(1)
    seen &= (ever[second >> _THREE] >> np.uint8(second & _SEVEN)) & np.uint8(1)
    return -1 if seen else int(bits % np.uint64(workers))
