"""Time lost to uneven tasks: what must hold for every stage that Spark may run."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.advisor.history.tasks import lost_time, most_at_a_time

Times = list[float]
times = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)
slots = st.integers(1, 8)


def scheduled(lengths: Times, n_slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Run tasks as Spark does: whichever slot is free takes the next."""
    free = [0.0] * n_slots
    starts = []
    for length in lengths:
        first = free.index(min(free))
        starts.append(free[first])
        free[first] += length
    return np.array(starts), np.array(starts) + lengths


@settings(deadline=None)
@given(length=st.floats(0.01, 100), n=st.integers(1, 40), n_slots=slots)
def test_equal_tasks_lose_nothing_however_many_waves_they_need(
    length: float, n: int, n_slots: int
) -> None:
    launched, finished = scheduled([length] * n, n_slots)
    assert lost_time(launched, finished, n_slots).lost == pytest.approx(0, abs=1e-9 * length * n)


@settings(deadline=None)
@given(lengths=times, n_slots=slots)
def test_the_time_is_the_even_time_and_the_lost_time_for_a_stage_on_its_own(
    lengths: Times, n_slots: int
) -> None:
    launched, finished = scheduled(lengths, n_slots)
    found = lost_time(launched, finished, n_slots)
    assert found.lost == pytest.approx(max(0.0, found.wall - found.even), abs=1e-6)


@settings(deadline=None)
@given(lengths=times)
def test_with_a_slot_for_each_task_longest_minus_mean_is_lost(lengths: Times) -> None:
    launched, finished = scheduled(lengths, len(lengths))
    lost = lost_time(launched, finished, len(lengths)).lost
    assert lost == pytest.approx(max(lengths) - np.mean(lengths), abs=1e-9)


@settings(deadline=None)
@given(lengths=times, n_slots=slots, delay=st.floats(0, 1000))
def test_waiting_for_others_is_not_lost_to_uneven_tasks(
    lengths: Times, n_slots: int, delay: float
) -> None:
    launched, finished = scheduled(lengths, n_slots)
    launched[-1] += delay
    finished[-1] += delay
    late = lost_time(launched, finished, n_slots)
    # Graham's bound, written out: no order of the tasks ends later.
    bound = sum(lengths) / n_slots + max(lengths) * (1 - 1 / n_slots)
    assert late.even + late.lost <= max(bound, late.even, max(lengths)) + 1e-6


@settings(deadline=None)
@given(lengths=times, n_slots=slots)
def test_slots_are_found_from_tasks_that_ran_at_once(lengths: Times, n_slots: int) -> None:
    launched, finished = scheduled(lengths, n_slots)
    assert most_at_a_time(launched, finished) <= n_slots
    if len(lengths) >= n_slots:
        assert most_at_a_time(launched, finished) == n_slots
