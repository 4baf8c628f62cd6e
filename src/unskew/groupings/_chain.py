"""Where to cut flowing keys so that every worker can pass load on to its neighbours."""

import heapq

import numpy as np

from unskew.scheduling import Loads


def chain_rooms(loads: Loads, workers: int) -> Loads:
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
    rooms: Loads = np.diff(places, prepend=0.0, append=loads.sum())
    return rooms
