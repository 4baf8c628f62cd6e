"""Laws of a closed loop of queues."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew_papers.engines.queues import Served, serve

WORK, TRANSIT = 1.0, 2.0


def run(placed: list[int], workers: int, in_flight: int) -> Served:
    return serve(
        np.array(placed, np.int32),
        np.zeros(len(placed), np.int64),
        workers,
        milliseconds=WORK,
        in_flight=in_flight,
        transit_milliseconds=TRANSIT,
    )


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(1, 20))
def test_no_more_rows_than_allowed_are_under_way(workers: list[int], in_flight: int) -> None:
    served = run(workers, 4, in_flight)
    # Little's law: rows under way, on average over time, are throughput times latency.
    assert served.throughput * served.latency <= in_flight + 1e-9
    assert served.latency >= WORK + TRANSIT - 1e-9


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(1, 20))
def test_no_worker_does_more_than_it_can(workers: list[int], in_flight: int) -> None:
    served = run(workers, 4, in_flight)
    makespan = len(workers) / served.throughput
    assert makespan >= TRANSIT + WORK * np.bincount(workers).max() - 1e-9


def test_one_row_at_a_time_takes_its_own_time_alone() -> None:
    served = run([0, 1, 2] * 10, 3, 1)
    assert served.latency == pytest.approx(WORK + TRANSIT)
    assert served.throughput == pytest.approx(1 / (WORK + TRANSIT))


def test_counters_are_the_keys_that_a_worker_saw_in_a_period() -> None:
    # One worker, one row a time: row i is sent at 3i; periods of 30 ms have 10 rows of 5 keys.
    served = serve(
        np.zeros(31, np.int32),
        np.arange(31) % 5,
        1,
        milliseconds=WORK,
        in_flight=1,
        transit_milliseconds=TRANSIT,
        period=30.0,
    )
    assert served.counters == 5
