"""Compiled loops that choose the least loaded of a key's candidates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew._compiled import compiled, inlined
from unskew.groupings.base import Weights, Workers
from unskew.hashing import Ids, mix, to_range

Candidates = NDArray[np.int64]

_BLOCK = 256  # hashes of a block do not wait for the loads of the rows before it


@inlined
def apart(first: np.int64, second: np.int64, workers: int) -> np.int64:
    """Return the second candidate, or the worker after the first where both coincide."""
    other = np.int64(first + 1)
    other = np.int64(0) if other == workers else other
    return other if second == first else second


@inlined
def stride(bits: np.uint64, workers: int) -> int:
    """Return a step in which all workers are gone through, each once, before any comes again."""
    found = 1 + int(bits % np.uint64(workers))
    while _have_common_divisor(found, workers):
        found = found % workers + 1
    return found


@compiled
def _have_common_divisor(first: int, second: int) -> bool:
    while second:
        first, second = second, first % second
    return first > 1


@compiled
def choose_of_two(
    ids: Ids, seeds: Ids, weights: Weights, loads: NDArray[Any], out: Workers
) -> None:
    """Send every row to the less loaded of its key's two workers; a tie goes to the first."""
    size = np.uint64(loads.size)
    firsts, seconds = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    one = loads.dtype.type(1)
    for start in range(0, ids.size, _BLOCK):
        count = min(_BLOCK, ids.size - start)
        for j in range(count):
            firsts[j] = to_range(mix(ids[start + j], seeds[0]), size)
            second = to_range(mix(ids[start + j], seeds[1]), size)
            seconds[j] = apart(firsts[j], second, loads.size)
        for j in range(count):
            first_load, second_load = loads[firsts[j]], loads[seconds[j]]
            second_is_less = second_load < first_load
            worker = seconds[j] if second_is_less else firsts[j]
            load = second_load if second_is_less else first_load
            loads[worker] = load + (weights[start + j] if weights.size else one)
            out[start + j] = worker


@compiled
def hash_choices(ids: Ids, seeds: Ids, workers: int, distinct: bool) -> Candidates:
    """Return the candidates of every key, one row per key, made ``distinct`` if asked."""
    candidates = np.empty((ids.size, seeds.size), np.int64)
    for i in range(ids.size):
        for c in range(seeds.size):
            candidates[i, c] = to_range(mix(ids[i], seeds[c]), np.uint64(workers))
    if distinct:
        make_distinct(candidates, workers)
    return candidates


@compiled
def make_distinct(candidates: Candidates, workers: int) -> None:
    """Move a candidate that coincides with an earlier one of its key on to the next free worker.

    Where a key has more candidates than there are workers, those left over stay where they are.
    """
    for i in range(candidates.shape[0]):
        for c in range(1, min(candidates.shape[1], workers)):
            while _among(candidates[i, :c], candidates[i, c]):
                candidates[i, c] = (candidates[i, c] + 1) % workers


@compiled
def _among(workers: Candidates, worker: np.int64) -> bool:
    for other in workers:  # noqa: SIM110 (any() over a generator does not compile)
        if other == worker:
            return True
    return False


@compiled
def least_loaded(candidates: Candidates, loads: NDArray[Any]) -> np.int64:
    """Return the least loaded candidate; a tie goes to the first."""
    best = candidates[0]
    for c in range(1, candidates.size):
        if loads[candidates[c]] < loads[best]:
            best = candidates[c]
    return np.int64(best)


@compiled
def choose_least_loaded(
    candidates: Candidates, weights: Weights, loads: NDArray[Any], out: Workers
) -> None:
    """Send every row to the least loaded of its candidates."""
    one = loads.dtype.type(1)
    for i in range(out.size):
        worker = least_loaded(candidates[i], loads)
        loads[worker] += weights[i] if weights.size else one
        out[i] = worker


@compiled
def choose_with_probing(
    candidates: Candidates,
    weights: Weights,
    true_loads: Weights,
    seen_by_source: NDArray[Any],
    position: int,
    probe_every: int,
    out: Workers,
) -> int:
    """Give rows to the sources round-robin; each chooses by what it has sent since its probe."""
    n_sources = seen_by_source.shape[0]
    for i in range(out.size):
        turn, source = divmod(position + i, n_sources)
        if turn % probe_every == probe_every - 1:
            seen_by_source[source] = true_loads
        worker = least_loaded(candidates[i], seen_by_source[source])
        weight = weights[i] if weights.size else 1.0
        seen_by_source[source, worker] += weight
        true_loads[worker] += weight
        out[i] = worker
    return position + out.size
