"""Cut flowing keys into pieces, and give pieces up without changing what any worker gets.

Keys and workers are the nodes of a graph, pieces its edges. Where pieces close a cycle, load can be
shifted around it until one of them is empty, which leaves a forest: at most W − 1 extra pieces.
"""

import heapq

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings.wrap.replanning import owners_of
from unskew.scheduling import LoadArray, Pieces, sums_of


def chain_rooms(loads: LoadArray, workers: int) -> LoadArray:
    """Return how much each worker takes of keys that lie end to end, each cut in the middle.

    There are ``workers − 1`` cuts. Every key gets one, the larger ones more (highest averages,
    as seats are given to parties), so that no two cuts lie far apart. A cut in the middle of a
    piece lets most load flow: what a worker has of either key it can leave to a neighbour.

    Parameters
    ----------
    loads
        What each key brings; more than 0 and fewer than ``workers`` keys.
    workers
        Number of workers.

    Examples
    --------
    >>> chain_rooms(np.array([6.0, 2.0]), 4).tolist()
    [1.5, 3.0, 2.5, 1.0]
    """
    cuts = np.ones(loads.size, np.int64)
    heap = [(-load / 2, key) for key, load in enumerate(loads.tolist())]
    heapq.heapify(heap)
    for _ in range(workers - 1 - loads.size):
        _, key = heap[0]
        cuts[key] += 1
        heapq.heapreplace(heap, (-float(loads[key]) / (cuts[key] + 1), key))
    owners = np.repeat(np.arange(loads.size), cuts)
    number = np.arange(owners.size) - (np.cumsum(cuts) - cuts)[owners]
    begins = np.cumsum(loads) - loads
    places = begins[owners] + loads[owners] * (number + 0.5) / cuts[owners]
    rooms: LoadArray = np.diff(places, prepend=0.0, append=loads.sum())
    return rooms


_Marks = NDArray[np.bool_]
_Numbers = NDArray[np.int64]


def fewer_pieces(pieces: Pieces, workers: int) -> Pieces:
    """Return at most n_items + workers − 1 pieces, with the same load on every worker.

    No item gets a worker that it had not. Large pieces are kept before small ones.

    Parameters
    ----------
    pieces
        Items cut into pieces, no item twice on one worker.
    workers
        Number of workers.

    Examples
    --------
    Two items, both on both workers, are four pieces where three do:

    >>> starts, workers = np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32)
    >>> found = fewer_pieces(Pieces(starts, workers, np.array([3.0, 2.0, 4.0, 1.0])), 2)
    >>> found.starts.tolist(), found.workers.tolist(), found.loads.tolist()
    ([0, 2, 3], [0, 1, 0], [2.0, 3.0, 5.0])
    """
    n_items = pieces.starts.size - 1
    too_many = pieces.workers.size - (n_items + workers - 1)
    if too_many <= 0:
        return pieces
    items, nodes = _graph(pieces)
    loads = pieces.loads.copy()
    largest_first = np.argsort(-loads, kind="stable")
    stays = _cancel(nodes, loads, largest_first, n_items + workers, too_many)
    starts = np.searchsorted(items[stays], np.arange(n_items + 1)).astype(np.int64)
    return Pieces(starts, pieces.workers[stays], loads[stays])


def linked(pieces: Pieces, workers: int) -> Pieces:
    """Return the pieces and empty ones of the largest item, so that load can flow to all workers.

    >>> starts, workers = np.array([0, 2, 3]), np.array([0, 1, 3], np.int32)
    >>> found = linked(Pieces(starts, workers, np.array([3.0, 2.0, 4.0])), 4)
    >>> found.starts.tolist(), found.workers.tolist(), found.loads.tolist()
    ([0, 4, 5], [0, 1, 2, 3, 3], [3.0, 2.0, 0.0, 0.0, 4.0])
    """
    n_items = pieces.starts.size - 1
    if n_items == 0:
        return pieces
    items, nodes = _graph(pieces)
    _, parts = _spanning_forest(nodes, np.arange(items.size), n_items + workers)
    largest = int(np.argmax(sums_of(pieces.loads, items, n_items)))
    names, placed = np.unique(parts[n_items:], return_index=True)
    new = placed[names != parts[largest]].astype(np.int32)
    at = np.full(new.size, pieces.starts[largest + 1])
    starts = pieces.starts.copy()
    starts[largest + 1 :] += new.size
    return Pieces(starts, np.insert(pieces.workers, at, new), np.insert(pieces.loads, at, 0.0))


def _graph(pieces: Pieces) -> tuple[_Numbers, _Numbers]:
    """Return the item of every piece, and the two nodes that it joins."""
    items = owners_of(pieces)
    return items, np.stack((items, pieces.starts.size - 1 + pieces.workers.astype(np.int64)))


@compiled
def _cancel(
    nodes: _Numbers, loads: LoadArray, largest_first: _Numbers, n_nodes: int, too_many: int
) -> _Marks:
    """Shift loads until ``too_many`` pieces are empty, and return which pieces stay."""
    in_forest, _ = _spanning_forest(nodes, largest_first, n_nodes)
    stays = np.ones(loads.size, np.bool_)
    for piece in largest_first[::-1]:
        if too_many == 0:
            break
        if in_forest[piece] or not stays[piece]:
            continue
        path = _path(nodes, in_forest, n_nodes, nodes[0, piece], nodes[1, piece])
        # The worker has less of this piece, more of the next, whose item has less elsewhere …
        emptied = piece
        for taken in path[1::2]:
            if loads[taken] < loads[emptied]:
                emptied = taken
        shift = loads[emptied]
        loads[piece] -= shift
        for place in range(path.size):
            loads[path[place]] += shift if place % 2 == 0 else -shift
        in_forest[piece] = True
        in_forest[emptied] = False
        stays[emptied] = False
        too_many -= 1
    return stays


@compiled
def _spanning_forest(nodes: _Numbers, order: _Numbers, n_nodes: int) -> tuple[_Marks, _Numbers]:
    """Return which pieces join what those before them left apart, and the part of every node."""
    part = np.arange(n_nodes)
    joins = np.zeros(order.size, np.bool_)
    for piece in order:
        one, other = nodes[0, piece], nodes[1, piece]
        while part[one] != one:
            part[one] = part[part[one]]
            one = part[one]
        while part[other] != other:
            part[other] = part[part[other]]
            other = part[other]
        if one != other:
            part[one] = other
            joins[piece] = True
    for node in range(n_nodes):
        while part[node] != part[part[node]]:
            part[node] = part[part[node]]
    return joins, part


@compiled
def _path(nodes: _Numbers, in_forest: _Marks, n_nodes: int, start: int, goal: int) -> _Numbers:
    """Return the pieces on the only way through the forest, beginning at the goal."""
    first = np.full(n_nodes, -1)
    following = np.full((2, in_forest.size), -1)
    for piece in np.flatnonzero(in_forest):
        for side in range(2):
            following[side, piece] = first[nodes[side, piece]]
            first[nodes[side, piece]] = piece
    came_by = np.full(n_nodes, -1)
    reached = np.empty(n_nodes, np.int64)
    reached[0] = start
    count, at = 1, 0
    while came_by[goal] < 0:
        node = reached[at]
        piece = first[node]
        while piece >= 0:
            side = 0 if nodes[0, piece] == node else 1
            other = nodes[1 - side, piece]
            if other != start and came_by[other] < 0:
                came_by[other] = piece
                reached[count] = other
                count += 1
            piece = following[side, piece]
        at += 1
    path = np.empty(n_nodes, np.int64)
    length, node = 0, goal
    while node != start:
        piece = came_by[node]
        path[length] = piece
        length += 1
        node = nodes[0, piece] if nodes[1, piece] == node else nodes[1, piece]
    return path[:length]
