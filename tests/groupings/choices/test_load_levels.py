"""The search for the least loaded of a set of workers, against plain comparison."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.groupings.choices.load_levels import (
    Levels,
    least_by_comparison,
    least_loaded,
    lowest_bit,
    new_levels,
    put_in,
    raise_load,
    start_levels,
)


@compiled
def answers(
    levels: Levels, loads: NDArray[np.int64], asked: NDArray[np.int64], also: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Load the least loaded of each set that is asked for, and another worker ``also``."""
    out = np.empty(asked.size, np.int64)
    for i in range(asked.size):
        out[i] = least_loaded(levels, asked[i], loads)
        for worker in (out[i], also[i]):
            raise_load(levels, worker, loads[worker])
            loads[worker] += 1
    return out


@compiled
def lowest_bits(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    out = np.empty(words.size, np.int64)
    for i in range(words.size):
        out[i] = lowest_bit(words[i])
    return out


def test_the_lowest_bit_of_a_word_is_found_at_all_64_places() -> None:
    words = np.uint64(2**64 - 1) << np.arange(64, dtype=np.uint64)
    assert lowest_bits(words).tolist() == list(range(64))
    assert lowest_bits(np.uint64(1) << np.arange(64, dtype=np.uint64)).tolist() == list(range(64))


@pytest.mark.parametrize("largest_start", [0, 10, 5000])
@given(workers=st.integers(1, 140), seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_answers_are_the_first_of_the_least_loaded(
    largest_start: int, workers: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    n_sets, n_rows = 4, 600
    members = [
        random.permutation(workers)[: random.integers(1, workers + 1)] for _ in range(n_sets)
    ]
    levels, loads = new_levels(workers, n_sets), random.integers(0, largest_start + 1, workers)
    for at, placed in enumerate(members):
        for worker in placed.tolist():
            put_in(levels.sets, at, worker)
    start_levels(levels, n_sets, loads)
    asked, also = random.integers(0, n_sets, n_rows), random.integers(0, workers, n_rows)
    expected_loads, expected = loads.copy(), []
    for at, other in zip(asked.tolist(), also.tolist(), strict=True):
        worker = min(members[at].tolist(), key=lambda worker: (expected_loads[worker], worker))
        expected.append(worker)
        expected_loads[worker] += 1
        expected_loads[other] += 1
    assert answers(levels, loads, asked, also).tolist() == expected


@given(st.lists(st.floats(0, 9), min_size=1, max_size=140), st.data())
@settings(deadline=None)
def test_comparison_works_for_loads_of_any_kind(loads: list[float], data: st.DataObject) -> None:
    workers = data.draw(st.sets(st.integers(0, len(loads) - 1), min_size=1))
    levels = new_levels(len(loads), 1)
    for worker in workers:
        put_in(levels.sets, 0, worker)
    expected = min(sorted(workers), key=lambda worker: loads[worker])
    assert least_by_comparison(levels.sets, 0, np.array(loads)) == expected
