"""The coin and the bit vectors of `CoinSynopsis`, as steps for compiled loops.

Flip *j* of row *i* is one bit of a hash of (i, j, seed): it depends on nothing else, so a stream
may be cut into batches anywhere. One hash gives the *j*-th flip of 64 rows at once, which makes the
search for the next row with a run of heads cost a small fraction of a hash per row.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew._table import ABSENT, Table, get, new_table, put, remove
from unskew.hashing import Ids, mix

SIZE = 0  # vectors held
ROW = 1  # rows seen
NEXT_ROW = 2  # the next row that reaches the synopsis
SKIP = 3  # vectors to pass over before the next shift
DRAWS = 4  # random numbers used for the decline
EVENTS = 5  # events of the last update
RECORDS = 6  # updates since the last `take_census`
HOT_RECORDS = 7  # of these, updates of keys that were hot
FORCED = 8  # vectors thrown out because there was no room
THRESHOLD = 9  # heads a row needs to reach the synopsis
WIDTH = 10  # bits of a vector
_CELLS = 11

_NEVER = 1 << 62
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROWS_PER_HASH = np.uint64(64)
_UNIT = 2.0**-53


class Vectors(NamedTuple):
    """What a synopsis holds; arrays change in place, so a loop can carry it along."""

    table: Table
    ids: Ids
    vectors: Ids
    marked: NDArray[np.bool_]
    digit_odds: NDArray[np.float64]
    cells: NDArray[np.int64]
    seeds: Ids
    event_ids: Ids
    event_hot: NDArray[np.bool_]


class Census(NamedTuple):
    """What reached the synopsis within an interval."""

    records: int
    hot_records: int
    hot_keys: int
    keys: int


def new_vectors(
    capacity: int, threshold_bits: int, vector_bits: int, decline: float, seeds: Ids
) -> Vectors:
    """Return an empty synopsis whose coin stands before row 0."""
    cells = np.zeros(_CELLS, np.int64)
    cells[WIDTH] = vector_bits
    state = Vectors(
        table=new_table(capacity),
        ids=np.zeros(capacity, np.uint64),
        vectors=np.zeros(capacity, np.uint64),
        marked=np.zeros(capacity, np.bool_),
        digit_odds=np.empty(0, np.float64),
        cells=cells,
        seeds=seeds,
        event_ids=np.zeros(capacity + 2, np.uint64),
        event_hot=np.zeros(capacity + 2, np.bool_),
    )
    return with_rates(state, threshold_bits, decline)


def with_rates(state: Vectors, threshold_bits: int, decline: float) -> Vectors:
    """Return the same synopsis, from the next row on with another coin and another decline."""
    state = state._replace(digit_odds=_digit_odds(decline))
    state.cells[THRESHOLD] = threshold_bits
    state.cells[NEXT_ROW] = next_reaching(state.cells[ROW], state.cells[THRESHOLD], state.seeds[0])
    state.cells[SKIP] = _NEVER if decline == 0 else _gap(state)
    return state


def _digit_odds(decline: float) -> NDArray[np.float64]:
    """Return the probability of a one in each binary digit of a gap between two shifts.

    Digit i of a geometric number is one with odds (1 − p)^(2^i) to 1. Repeated squares are the same
    on every machine, bit for bit, unlike logarithms.
    """
    odds: list[float] = []
    stay = 1.0 - decline
    while decline > 0 and stay > _UNIT:
        odds.append(stay / (1.0 + stay))
        stay *= stay
    return np.array(odds, np.float64)


def take_census(state: Vectors) -> Census:
    """Return what happened since the last census, and start the next interval."""
    cells, size = state.cells, int(state.cells[SIZE])
    marked = int(np.count_nonzero(state.marked[:size]))
    census = Census(int(cells[RECORDS]), int(cells[HOT_RECORDS]), marked, size)
    cells[RECORDS] = cells[HOT_RECORDS] = 0
    state.marked[:] = False
    return census


@inlined
def _flips(block: np.uint64, flip: int, seed: np.uint64) -> np.uint64:
    return mix((block * _ROWS_PER_HASH + np.uint64(flip)) * _GOLDEN, seed)


@compiled
def next_reaching(row: int | np.int64, threshold: int, seed: np.uint64) -> np.int64:
    """Return the first row from ``row`` on whose first ``threshold`` flips are all heads."""
    block = np.uint64(row >> 6)
    heads = _ALL << np.uint64(row & 63)
    while True:
        for flip in range(threshold):
            heads &= _flips(block, flip, seed)
            if heads == _ZERO:
                break
        if heads != _ZERO:
            first = 0
            while (heads >> np.uint64(first)) & _ONE == _ZERO:
                first += 1
            return np.int64(block * _ROWS_PER_HASH) + np.int64(first)
        block += _ONE
        heads = _ALL


@compiled
def further_heads(row: np.int64, threshold: int, width: int, seed: np.uint64) -> int:
    """Return how many heads follow the first ``threshold`` of ``row``, at most ``width`` − 1."""
    block, place = np.uint64(row >> 6), np.uint64(row & 63)
    heads = 0
    while heads < width - 1 and (_flips(block, threshold + heads, seed) >> place) & _ONE == _ONE:
        heads += 1
    return heads


@inlined
def is_hot(vector: np.uint64) -> bool:
    """Return whether a vector has at least two ones."""
    return bool(vector & (vector - np.uint64(1)) != np.uint64(0))


@inlined
def flip_and_update(state: Vectors, key_id: np.uint64) -> None:
    """Record the key of row `NEXT_ROW`, fade all vectors, and find the row that is next."""
    cells = state.cells
    row, threshold, coin = cells[NEXT_ROW], cells[THRESHOLD], state.seeds[0]
    record(state, key_id, further_heads(row, threshold, cells[WIDTH], coin))
    cells[ROW] = row + 1
    cells[NEXT_ROW] = next_reaching(row + 1, threshold, coin)


@inlined
def record(state: Vectors, key_id: np.uint64, value: int) -> None:
    """Set bit ``value`` of the key's vector, then let all vectors fade; leaves the events."""
    cells, vectors = state.cells, state.vectors
    cells[EVENTS] = 0
    slot = get(state.table, key_id)
    if slot == ABSENT:
        slot = _take_slot(state, key_id)
    before = vectors[slot]
    cells[RECORDS] += 1
    if is_hot(before):
        cells[HOT_RECORDS] += 1
        state.marked[slot] = True
    unite(state, slot, _ONE << np.uint64(value))
    # A compiled call with so many arrays costs more than all the rest: only when it must be.
    if cells[SKIP] < cells[SIZE]:
        _fade(state)
    else:
        cells[SKIP] -= cells[SIZE]


@compiled
def unite(state: Vectors, slot: np.int64, bits: np.uint64) -> None:
    """Set all of ``bits`` in a vector."""
    before = state.vectors[slot]
    state.vectors[slot] = before | bits
    if is_hot(before | bits) and not is_hot(before):
        _tell(state, state.ids[slot], True)


@compiled
def merge_vectors(state: Vectors, key_id: np.uint64, bits: np.uint64) -> None:
    """Unite the key's vector with one of another synopsis; leaves the events."""
    state.cells[EVENTS] = 0
    slot = get(state.table, key_id)
    if slot == ABSENT:
        slot = _take_slot(state, key_id)
    unite(state, slot, bits)


@compiled
def _take_slot(state: Vectors, key_id: np.uint64) -> np.int64:
    if state.cells[SIZE] == state.ids.size:
        weakest = np.int64(np.argmin(state.vectors))
        if is_hot(state.vectors[weakest]):
            _tell(state, state.ids[weakest], False)
        _evict(state, weakest)
        state.cells[FORCED] += 1
    slot = np.int64(state.cells[SIZE])
    state.ids[slot] = key_id
    state.vectors[slot] = _ZERO
    state.marked[slot] = False
    put(state.table, key_id, slot)
    state.cells[SIZE] = slot + 1
    return slot


@compiled
def _evict(state: Vectors, slot: np.int64) -> None:
    last = state.cells[SIZE] - 1
    remove(state.table, state.ids[slot])
    if slot != last:
        state.ids[slot] = state.ids[last]
        state.vectors[slot] = state.vectors[last]
        state.marked[slot] = state.marked[last]
        put(state.table, state.ids[slot], slot)
    state.cells[SIZE] = last


@compiled
def _fade(state: Vectors) -> None:
    """Shift every vector with the same probability; only those that are shifted cost time."""
    cells, vectors = state.cells, state.vectors
    slot = cells[SKIP]
    while slot < cells[SIZE]:
        before = vectors[slot]
        vectors[slot] = before >> _ONE
        if is_hot(before) and not is_hot(vectors[slot]):
            _tell(state, state.ids[slot], False)
        if vectors[slot] == _ZERO:
            _evict(state, slot)  # the last vector now stands here and has not been tried yet
        else:
            slot += 1
        slot += _gap(state)
    cells[SKIP] = slot - cells[SIZE]


@compiled
def _gap(state: Vectors) -> np.int64:
    """Return how many vectors stay as they are before the next one is shifted.

    This number is geometric, and the binary digits of a geometric number are independent.
    """
    draw = np.uint64(state.cells[DRAWS])
    gap = np.int64(0)
    for digit in range(state.digit_odds.size):
        bits = mix((draw + np.uint64(digit)) * _GOLDEN, state.seeds[1])
        one = np.float64(bits >> np.uint64(11)) * _UNIT < state.digit_odds[digit]
        gap += np.int64(one) << digit
    state.cells[DRAWS] += state.digit_odds.size
    return gap


@compiled
def _tell(state: Vectors, key_id: np.uint64, hot: bool) -> None:
    number = state.cells[EVENTS]
    state.event_ids[number] = key_id
    state.event_hot[number] = hot
    state.cells[EVENTS] = number + 1
