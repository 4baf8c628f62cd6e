"""The compiled loop of `Flow`, and what one source remembers.

A key starts on its *home*, the worker that its hash gives it, and stays there as long as that has
room for it. A key that had to leave gets a *ring*: its workers, one after the other, of which one
is the present one. Counts of keys are kept in a table of buckets with eight places each; a key that
finds no free place wears down the count of another one, as in the summary of Misra and Gries.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import borrowed, compiled, inlined
from unskew._lowest import Lowest, borrow_lowest, lowest_of_any, new_lowest
from unskew.groupings.base import Weights, Workers
from unskew.hashing import Ids, mix, to_range
from unskew.sketches.bloom import add_hash

DEVIATIONS = 2.0
"""How many standard deviations of chance any key puts up with."""
HOT_EXCESS = 0.2
"""Which part of the excess that any key puts up with the hottest one does."""
_STRIDE = 2e-4
"""A key looks at its other workers once its present one has grown by this part of the mean."""

_WAYS = 8
_ENTRIES_PER_WORKER, _FEWEST_ENTRIES, _MOST_ENTRIES = 256, 4096, 1 << 18
_ROWS_PER_WORKER, _FEWEST_ROWS = 500, 5000  # between two times that counts are halved
_TRIES = 64  # of a key's own order, before the least loaded of all is taken
_LOOKED_AT = 8  # of a key's workers, before one that merely has room is looked for
_OFTEN = 64
_NO_NODE = -1
_NEXT = np.uint64(0x9E3779B97F4A7C15)

_ENTRY = np.dtype(
    [
        ("count", np.float64),
        ("since", np.float64),
        ("node", np.int32),
        ("worker", np.int32),  # that of the node
        ("limit", np.float64),  # with this load of that worker its others are looked at again
    ]
)
_NODE = np.dtype([("worker", np.int32), ("next", np.int32)])
_RULE = np.dtype(
    [
        ("excess", np.float64),
        ("slack", np.float64),
        ("hot", np.float64),
        ("most", np.int64),  # workers of a key
        ("seed", np.uint64),
        ("capacity", np.float64),  # of all workers together
        ("weight", np.float64),  # of all rows so far
        ("rows", np.int64),
        ("unit", np.float64),  # the mean weight of a row
        ("easy", np.float64),  # how far above the mean a worker is as good as at it
        ("patience", np.float64),  # how many means the hottest key puts up with
        ("stride", np.float64),  # what a worker may grow by before that
        ("chance", np.float64),  # a standard deviation of a worker's load by chance
        ("next_look", np.int64),  # at which row what changes slowly is worked out again
        ("window", np.int64),  # rows between two times that counts are halved
        ("halve_at", np.int64),
        ("moves", np.int64),  # how many times a key was given another worker
        ("free", np.int64),  # the first of the free nodes
        ("forgot", np.int64),  # whether a worker of some key is not remembered any more
        ("probes", np.int64),  # of the Bloom filter
        ("filter_seed", np.uint64),
    ]
)


class Memory(NamedTuple):
    """What one source remembers; its size depends on the number of workers alone."""

    loads: NDArray[np.float64]
    """What was sent to each worker, over its capacity."""
    steps: NDArray[np.float64]
    """What a row of weight 1 adds to a worker's load: 1 over its capacity."""
    homes: NDArray[np.int64]
    """Workers in proportion to their capacity, which hashes point into; empty if all are alike."""
    ids: Ids
    """The keys of the table; a bucket is eight in a row."""
    entries: NDArray[Any]
    """What is known of each: its count, since when it counts, its present node."""
    nodes: NDArray[Any]
    """Workers of keys, in rings; free ones in a chain."""
    lowest: Lowest
    """The search for the least loaded worker."""
    moved: NDArray[np.uint64]
    """The words of a Bloom filter that holds all keys which ever left their home."""
    rule: NDArray[Any]


def table_size(workers: int) -> int:
    """Return for how many keys there is room.

    >>> table_size(8), table_size(100), table_size(10_000)
    (4096, 32768, 262144)
    """
    wanted = min(max(_FEWEST_ENTRIES, _ENTRIES_PER_WORKER * workers), _MOST_ENTRIES)
    return 1 << math.ceil(math.log2(wanted))


def new_memory(capacity: NDArray[np.float64], moved: NDArray[np.uint64]) -> Memory:
    """Return the memory of a source that has sent nothing yet."""
    workers, size = capacity.size, table_size(capacity.size)
    entries = np.zeros(size, _ENTRY)
    entries["node"] = entries["worker"] = _NO_NODE
    nodes = np.zeros(size + 8 * workers, _NODE)
    nodes["next"] = np.arange(1, nodes.size + 1)
    nodes["next"][-1] = _NO_NODE
    rule = np.zeros(1, _RULE)
    rule["capacity"] = capacity.sum()
    rule["window"] = rule["halve_at"] = rows_to_halve(workers)
    return Memory(
        loads=np.zeros(workers),
        steps=1.0 / capacity,
        homes=_in_proportion(capacity),
        ids=np.zeros(size, np.uint64),
        entries=entries,
        nodes=nodes,
        lowest=new_lowest(workers),
        moved=moved,
        rule=rule,
    )


def go_on_at(memory: Memory, row_times: NDArray[np.float64], waiting: NDArray[np.float64]) -> None:
    """Go on with workers of other speeds, from the queues that they have.

    Loads begin anew at the mean, a worker with a longer queue above it, so that the past, in which
    speeds were others, is not made up for.
    """
    rule = memory.rule[0]
    memory.steps[:] = row_times / row_times.mean()
    capacity = 1.0 / memory.steps
    rule["capacity"] = capacity.sum()
    times = waiting * memory.steps
    ahead = times - times @ capacity / capacity.sum()
    memory.loads[:] = np.maximum(rule["weight"] / capacity.sum() + ahead, 0.0)
    memory.entries["limit"] = 0.0
    for values in memory.lowest:  # its bounds hold for loads that only grow
        values[:] = np.zeros(1, values.dtype)
    rule["next_look"] = 0


def rows_to_halve(workers: int) -> int:
    """Return after how many rows counts are halved.

    >>> rows_to_halve(8), rows_to_halve(100)
    (5000, 50000)
    """
    return max(_FEWEST_ROWS, _ROWS_PER_WORKER * workers)


def _in_proportion(capacity: NDArray[np.float64]) -> NDArray[np.int64]:
    if np.all(capacity == capacity[0]):
        return np.empty(0, np.int64)
    shares = np.cumsum(capacity) / capacity.sum()
    points = (np.arange(64 * capacity.size) + 0.5) / (64 * capacity.size)
    return np.searchsorted(shares, points).astype(np.int64)


@inlined
def _borrow(memory: Memory) -> Memory:
    return Memory(
        borrowed(memory.loads),
        borrowed(memory.steps),
        borrowed(memory.homes),
        borrowed(memory.ids),
        borrowed(memory.entries),
        borrowed(memory.nodes),
        borrow_lowest(memory.lowest),
        borrowed(memory.moved),
        borrowed(memory.rule),
    )


@compiled
def route_rows(
    owned: Memory, ids: Ids, weights: Weights, out: Workers, moved: NDArray[np.bool_]
) -> None:
    """Choose a worker for every row; empty ``weights`` mean that all are 1.

    Of the rows whose key is given another worker for them, ``moved`` is set; it may be empty.
    """
    memory = _borrow(owned)
    loads, steps, entries = memory.loads, memory.steps, memory.entries
    rule = memory.rule[0]
    buckets = np.uint64(memory.ids.size // _WAYS - 1)
    seed, per_capacity = rule.seed, 1.0 / rule.capacity
    total, rows = rule.weight, rule.rows
    easy, next_look = rule.easy, rule.next_look
    for i in range(ids.size):
        key_id = ids[i]
        weight = weights[i] if weights.size else 1.0
        bits = mix(key_id, seed)
        worker = _home(memory, bits)
        total += weight
        rows += 1
        mean = total * per_capacity
        if rows >= next_look:
            _look_at_clock(memory, total, rows)
            easy, next_look = rule.easy, rule.next_look
        place = _find(memory, bits & buckets, key_id)
        if place >= 0:
            entries[place].count += weight
            present = np.int64(entries[place].worker)
            worker = present if present >= 0 else worker
        load = loads[worker] + weight * steps[worker]
        if load > mean + easy:
            if place < 0:
                place = _try_to_count(memory, bits & buckets, key_id, weight, total, rows)
            elif entries[place].node >= 0 and load > entries[place].limit:
                worker = _go_on(memory, place, worker, weight, mean)
                load = loads[worker] + weight * steps[worker]
            if load > mean * rule.patience + 2.0 * easy:
                room = mean + _tolerated(memory, place, mean, total)
                if load > room:
                    moves = rule.moves
                    worker = _further(
                        memory, bits, place, worker, weight, mean + easy, room, total, key_id
                    )
                    load = loads[worker] + weight * steps[worker]
                    if moved.size:
                        moved[i] = rule.moves > moves
        loads[worker] = load
        out[i] = worker
        if rows == rule.halve_at:
            rule.halve_at += rule.window
            _halve(memory, total)
    rule.weight, rule.rows = total, rows


@inlined
def _look_at_clock(memory: Memory, total: float, rows: int) -> None:
    """Work out what changes slowly: a few rows more or less make no difference to it."""
    rule = memory.rule[0]
    per_worker = memory.loads.size / rule.capacity
    rule.unit = total / rows
    rule.easy = 0.5 * rule.slack * rule.unit * per_worker
    rule.chance = math.sqrt(rows / memory.loads.size) * rule.unit * per_worker
    rule.stride = _STRIDE * total / rule.capacity
    rule.next_look = rows + 1 + rows // 64 if rows < 64 * _OFTEN else rows + _OFTEN


@inlined
def _home(memory: Memory, bits: np.uint64) -> Any:
    """Return the worker that a hash points to."""
    worker = to_range(bits, np.uint64(memory.homes.size or memory.loads.size))
    return memory.homes[worker] if memory.homes.size else worker


@inlined
def _find(memory: Memory, bucket: np.uint64, key_id: np.uint64) -> Any:
    """Return the place of a key in the table, −1 if it has none."""
    first = np.int64(bucket) * _WAYS
    place: Any = np.int64(-1)
    for at in range(first, first + _WAYS):
        place = at if memory.ids[at] == key_id else place
    return place


@inlined
def _try_to_count(
    memory: Memory,
    bucket: np.uint64,
    key_id: np.uint64,
    weight: float,
    total: float,
    rows: int,
) -> Any:
    """Return the place of a key that is new in the table; −1 if the one that it tries is taken."""
    place = np.int64(bucket) * _WAYS + (rows & (_WAYS - 1))
    entry = memory.entries[place]
    if entry.node >= 0:
        place = np.int64(-1)
    elif entry.count < memory.rule[0].unit:
        memory.ids[place] = key_id
        entry.count = weight
        entry.since = total - weight
    else:
        entry.count -= weight
        place = np.int64(-1)
    return place


@inlined
def _tolerated(memory: Memory, place: int, mean: float, total: float) -> Any:
    """Return by how much a key's worker may be above the mean: the hotter, the less."""
    rule = memory.rule[0]
    most = rule.excess * mean + DEVIATIONS * rule.chance
    if place >= 0:
        entry = memory.entries[place]
        count = entry.count / rule.unit
        # What it has for certain, roughly: a few rows in a short time may be chance.
        certain = (count - 1.0 - math.sqrt(count)) * rule.unit
        fair = (total - entry.since) / memory.loads.size
        if certain > 0.0:
            share = certain / fair
            spare = _n_workers(memory, entry.node) / (1.0 + share)
            hot = DEVIATIONS * rule.chance * rule.hot / share * spare * spare
            most = min(most, HOT_EXCESS * rule.excess * mean + hot)
    return most + 2.0 * rule.easy


@inlined
def _n_workers(memory: Memory, node: int) -> Any:
    """Return how many workers a key has."""
    count = 1
    if node >= 0:
        at = memory.nodes[node].next
        while at != node:
            count += 1
            at = memory.nodes[at].next
    return count


@inlined
def _go_on(memory: Memory, place: int, worker: Any, weight: float, mean: float) -> Any:
    """Return the next of a key's workers that is at the mean, else the best of a few."""
    loads, steps, nodes, enough = memory.loads, memory.steps, memory.nodes, memory.rule[0].easy
    node = np.int64(memory.entries[place].node)
    least = loads[worker] + weight * steps[worker]
    found, at = node, np.int64(nodes[node].next)
    for _ in range(_LOOKED_AT):
        if at == node or least <= mean + enough:
            break
        other = np.int64(nodes[at].worker)
        load = loads[other] + weight * steps[other]
        if load < least:
            worker, least, found = other, load, at
        at = np.int64(nodes[at].next)
    _go_to(memory, place, found, worker, least + memory.rule[0].stride)
    return worker


@inlined
def _go_to(memory: Memory, place: int, node: Any, worker: Any, limit: float) -> None:
    """Make a worker the present one of a key, until it has a load of ``limit``."""
    entry = memory.entries[place]
    entry.node, entry.worker, entry.limit = node, worker, limit


@compiled
def _further(
    memory: Memory,
    bits: np.uint64,
    place: int,
    worker: int,
    weight: float,
    mean: float,
    room: float,
    total: float,
    key_id: np.uint64,
) -> Any:
    """Return the next worker of a key that has room, else a new one, which is remembered."""
    loads, steps, nodes = memory.loads, memory.steps, memory.nodes
    node = np.int64(memory.entries[place].node) if place >= 0 else np.int64(_NO_NODE)
    if node >= 0:
        at = np.int64(nodes[node].next)
        while at != node:
            other = np.int64(nodes[at].worker)
            if loads[other] + weight * steps[other] <= room:
                _go_to(memory, place, at, other, 0.0)
                return other
            at = np.int64(nodes[at].next)
    new = _another(memory, bits, worker, weight, mean)
    if new != worker:
        _remember(memory, bits, place, worker, new, weight, total, key_id)
    return new


@inlined
def _another(memory: Memory, bits: np.uint64, worker: int, weight: float, mean: float) -> Any:
    """Return the first worker in the key's own order that is below the mean.

    All sources have that order, so that they choose alike although they do not know each other.
    """
    loads, steps, rule = memory.loads, memory.steps, memory.rule[0]
    limited = rule.most < loads.size
    best = worker
    tries = min(rule.most, _TRIES) if limited else _TRIES
    for attempt in range(1, tries):
        other = _home(memory, mix(bits, np.uint64(attempt) * _NEXT))
        load = loads[other] + weight * steps[other]
        if load <= mean:
            return other
        if load < loads[best] + weight * steps[best]:
            best = other
    return best if limited else lowest_of_any(memory.lowest, loads)


@compiled
def _remember(
    memory: Memory,
    bits: np.uint64,
    place: int,
    worker: int,
    new: int,
    weight: float,
    total: float,
    key_id: np.uint64,
) -> None:
    """Make a new worker the present one of a key."""
    rule, entries, nodes = memory.rule[0], memory.entries, memory.nodes
    add_hash(memory.moved, rule.probes, mix(key_id, rule.filter_seed))
    if place < 0:
        place = _make_place(memory, bits, key_id, weight, total)
    node = np.int64(entries[place].node)
    if node < 0:
        node = _take_node(memory, worker)
        if node < 0:
            return
        nodes[node].next = node
        entries[place].node, entries[place].worker = node, worker
    at = np.int64(nodes[node].next)
    while at != node and nodes[at].worker != new:
        at = np.int64(nodes[at].next)
    if nodes[at].worker != new:
        at = _take_node(memory, new)
        if at < 0:
            return
        rule.moves += 1
        nodes[at].next = nodes[node].next
        nodes[node].next = at
    _go_to(memory, place, at, new, 0.0)


@compiled
def start_with(
    memory: Memory,
    ids: Ids,
    shares: NDArray[np.float64],
    starts: NDArray[np.int64],
    workers: NDArray[np.int64],
) -> None:
    """Let a source that has sent nothing know keys, as if it had met them at this rate."""
    before = 0.5 * memory.rule[0].window
    for i in range(ids.size):
        bits = mix(ids[i], memory.rule[0].seed)
        place = _make_place(memory, bits, ids[i], before * shares[i], 0.0)
        memory.entries[place].since = -before
        home = _home(memory, bits)
        for at in range(starts[i], starts[i + 1]):
            if workers[at] != home:
                _remember(memory, bits, place, home, workers[at], 0.0, 0.0, ids[i])


@inlined
def _make_place(
    memory: Memory, bits: np.uint64, key_id: np.uint64, weight: float, total: float
) -> Any:
    """Return a place for a key that has to have one: that of the coldest key of the bucket.

    Keys that are at home come first: nothing is lost with them.
    """
    entries = memory.entries
    first = np.int64(bits & np.uint64(memory.ids.size // _WAYS - 1)) * _WAYS
    place: Any = first
    for at in range(first + 1, first + _WAYS):
        homely, other = entries[at].node < 0, entries[place].node < 0
        if (homely and not other) or (homely == other and entries[at].count < entries[place].count):
            place = at
    if entries[place].node >= 0:
        _forget(memory, place)
    memory.ids[place] = key_id
    entries[place].count = weight
    entries[place].since = total - weight
    return place


@inlined
def _take_node(memory: Memory, worker: int) -> Any:
    """Return a free node for a worker, −1 if there is none: the worker will not be remembered."""
    rule = memory.rule[0]
    node = np.int64(rule.free)
    if node < 0:
        rule.forgot = 1
    else:
        rule.free = memory.nodes[node].next
        memory.nodes[node].worker = worker
    return node


@inlined
def _forget(memory: Memory, place: int) -> None:
    """Send a key home: its workers are not remembered any more."""
    _shorten(memory, place, 1)
    rule, node = memory.rule[0], memory.entries[place].node
    memory.nodes[node].next = rule.free
    rule.free = node
    rule.forgot = 1
    memory.entries[place].node = memory.entries[place].worker = _NO_NODE


@compiled
def _shorten(memory: Memory, place: int, kept: int) -> None:
    """Keep the present worker of a key and the next ones, ``kept`` in all; give back the others."""
    rule, nodes = memory.rule[0], memory.nodes
    node = last = np.int64(memory.entries[place].node)
    for _ in range(kept - 1):
        last = np.int64(nodes[last].next)
        if last == node:
            return
    first = tail = np.int64(nodes[last].next)
    if first == node:
        return
    while nodes[tail].next != node:
        tail = np.int64(nodes[tail].next)
    nodes[tail].next = rule.free
    rule.free = first
    rule.forgot = 1
    nodes[last].next = node


@compiled
def _halve(memory: Memory, total: float) -> None:
    """Let counts fade; a key that has cooled gives back the workers that it needs no more."""
    entries = memory.entries
    for place in range(entries.size):
        entry = entries[place]
        age = total - entry.since
        if entry.node >= 0 and age > 0:
            needed = entry.count * memory.loads.size / age
            _shorten(memory, place, 2 + int(2.0 * needed))
        entry.count *= 0.5
        entry.since = total - 0.5 * age


@compiled
def workers_of(memory: Memory, key_id: np.uint64, moved: bool) -> NDArray[np.bool_]:
    """Tell of every worker whether a key may be on it, if it ``moved`` and if it did not."""
    rule = memory.rule[0]
    bits = mix(key_id, rule.seed)
    found = np.zeros(memory.loads.size, np.bool_)
    found[_home(memory, bits)] = True
    place = _find(memory, bits & np.uint64(memory.ids.size // _WAYS - 1), key_id)
    node = np.int64(memory.entries[place].node) if place >= 0 else np.int64(_NO_NODE)
    if moved and rule.most < found.size:
        for attempt in range(1, rule.most):
            found[_home(memory, mix(bits, np.uint64(attempt) * _NEXT))] = True
    elif moved and (rule.forgot or node < 0):
        found[:] = True
    elif moved:
        at = np.int64(memory.nodes[node].next)
        found[memory.nodes[node].worker] = True
        while at != node:
            found[memory.nodes[at].worker] = True
            at = np.int64(memory.nodes[at].next)
    return found
