"""Consistent grouping: no virtual worker above its bound; they move to whom has time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.groupings.uneven import with_a_slow_worker

from unskew import Consistent, Flow, KeyGrouping


@settings(max_examples=40, deadline=None)
@given(
    keys=st.lists(st.integers(0, 30), min_size=1, max_size=600),
    virtual=st.integers(1, 5),
    epsilon=st.sampled_from([0.01, 0.3, 1.0]),
)
def test_no_worker_is_above_the_bound_at_any_moment(
    keys: list[int], virtual: int, epsilon: float
) -> None:
    workers = 6
    placed = Consistent(workers, virtual=virtual, epsilon=epsilon).route_many(keys)
    loads = np.zeros(workers)
    for row, worker in enumerate(placed.tolist(), start=1):
        loads[worker] += 1
        assert loads.max() <= (1 + epsilon) * row / workers + virtual


def test_workers_get_rows_in_proportion_to_their_capacity() -> None:
    keys = np.arange(70_000)
    keys[::3] = -1
    loads = np.bincount(Consistent(3, capacity=[1, 2, 4], virtual=70).route_many(keys))
    assert loads / 10_000 == pytest.approx([1, 2, 4], rel=0.02)


def test_keys_stay_where_they_are_hashed_while_there_is_room() -> None:
    keys = np.arange(50_000)
    workers = Consistent(8, epsilon=1.0).route_many(np.tile(keys, 2))
    assert np.mean(workers[: keys.size] == workers[keys.size :]) > 0.99


def test_an_overloaded_worker_hands_a_virtual_worker_to_an_idle_one() -> None:
    grouping = Consistent(3, virtual=10)
    grouping.note_queues(np.array([500.0, 40.0, 0.0]), np.ones(3))
    loads = np.bincount(grouping.route_many(np.arange(30_000)))
    assert loads / 1_000 == pytest.approx([9, 10, 11], rel=0.02)


def test_few_rows_that_wait_are_no_overload() -> None:
    grouping = Consistent(3, virtual=10)
    grouping.note_queues(np.array([9.0, 1.0, 0.0]), np.ones(3))
    loads = np.bincount(grouping.route_many(np.arange(30_000)))
    assert loads / 1_000 == pytest.approx([10, 10, 10], rel=0.02)


def test_a_slow_worker_ends_with_a_part_that_it_can_do() -> None:
    found = with_a_slow_worker(Consistent(4))
    assert found.placement.loads[0] < 0.6 * found.placement.loads[1]
    for other in (Flow(4), KeyGrouping(4)):
        assert found.p99 < 0.5 * with_a_slow_worker(other).p99
