import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.scheduling import longest_first, one_by_one, wrap_around

some_loads = st.lists(st.floats(0, 1e6), max_size=40)
few_loads = st.lists(st.integers(0, 50), min_size=1, max_size=7)


def greedy(loads: list[float], workers: int) -> list[int]:
    """The definition, written out."""
    sums, placed = [0.0] * workers, []
    for load in loads:
        worker = min(range(workers), key=lambda w: (sums[w], w))
        sums[worker] += load
        placed.append(worker)
    return placed


@settings(deadline=None)
@given(some_loads, st.integers(1, 12))
def test_one_by_one_takes_the_least_loaded_worker_and_the_first_on_a_tie(
    loads: list[float], workers: int
) -> None:
    assert one_by_one(loads, workers).tolist() == greedy(loads, workers)


@settings(deadline=None, max_examples=60)
@given(few_loads, st.integers(1, 4))
def test_longest_first_is_within_grahams_bound(loads: list[int], workers: int) -> None:
    placed = longest_first(loads, workers)
    largest = np.bincount(placed, weights=loads, minlength=workers).max()
    best = min(
        np.bincount(choice, weights=loads, minlength=workers).max()
        for choice in itertools.product(range(workers), repeat=len(loads))
    )
    assert largest <= (4 / 3 - 1 / (3 * workers)) * best + 1e-9


@settings(deadline=None)
@given(some_loads, st.lists(st.floats(0, 1e6), min_size=1, max_size=10))
def test_longest_first_goes_on_from_what_workers_have(
    loads: list[float], initial: list[float]
) -> None:
    workers = longest_first(loads, len(initial), initial=initial)
    sums = np.array(initial)
    for item in np.argsort(-np.array(loads), kind="stable"):
        assert sums[workers[item]] == sums.min()
        sums[workers[item]] += loads[item]


@settings(deadline=None)
@given(
    st.lists(st.floats(0.001, 1e4), min_size=1, max_size=30),
    st.lists(st.floats(0, 1e4), min_size=1, max_size=12),
)
def test_wrap_around_fills_the_rooms_with_few_cuts(loads: list[float], rooms: list[float]) -> None:
    pieces = wrap_around(loads, rooms)
    total = sum(loads)
    assert pieces.workers.size <= len(loads) + len(rooms) - 1
    sizes = np.diff(pieces.starts)
    assert (sizes >= 1).all()
    for item, load in enumerate(loads):
        own = slice(pieces.starts[item], pieces.starts[item + 1])
        assert pieces.loads[own].sum() == pytest.approx(load, abs=1e-6 * total)
        assert len(set(pieces.workers[own].tolist())) == sizes[item]
    space = np.array(rooms) if sum(rooms) > 0 else np.ones(len(rooms))
    received = np.bincount(pieces.workers, weights=pieces.loads, minlength=len(rooms))
    assert received == pytest.approx(space * total / space.sum(), abs=1e-6 * total)


def test_no_loads_have_no_workers() -> None:
    assert longest_first([], 3).size == 0
    assert wrap_around([], [1.0, 2.0]).workers.size == 0


def test_no_workers_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="workers must be an int >= 1, got 0"):
        longest_first([1.0], 0)
