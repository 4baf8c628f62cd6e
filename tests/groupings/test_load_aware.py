"""Load-aware: weights go up and down as in Storm, and rows follow them."""

import numpy as np
from tests.groupings.uneven import with_a_slow_worker

from unskew import LoadAware, Shuffle

ROUND = ["a"] * 1_000
"""Rows for once round the ring."""


def parts(grouping: LoadAware) -> list[int]:
    return list(np.bincount(grouping.route_many(ROUND), minlength=grouping.workers))


def test_a_round_is_even_while_nothing_is_known() -> None:
    assert parts(LoadAware(8)) == [125] * 8


def test_a_congested_worker_loses_ten_at_each_report_and_gains_one() -> None:
    grouping = LoadAware(2)
    congested, free = np.array([512.0, 0.0]), np.zeros(2)
    # Weights of 100 at the start, so that the first has 1000 · w / (w + 100) of 1,000 places.
    expected = [100 - 10 * reports for reports in range(1, 11)]
    for weight in expected:
        grouping.note_queues(congested, np.ones(2))
        assert abs(parts(grouping)[0] - 1000 * weight / (weight + 100)) <= 2
    for weight in (1, 2, 3):
        grouping.note_queues(free, np.ones(2))
        assert abs(parts(grouping)[0] - 1000 * weight / (weight + 100)) <= 2


def test_queues_within_five_percent_of_the_emptiest_are_alike() -> None:
    grouping = LoadAware(4)
    grouping.note_queues(np.array([0.0, 10.0, 50.0, 51.0]), np.ones(4))
    assert parts(grouping) == [250] * 4


def test_more_workers_than_places_all_get_rows() -> None:
    assert min(np.bincount(LoadAware(1_500).route_many(["a"] * 1_500))) == 1


def test_a_slow_worker_gets_fewer_rows_than_under_plain_shuffling() -> None:
    aware, plain = with_a_slow_worker(LoadAware(4)), with_a_slow_worker(Shuffle(4))
    assert aware.placement.loads[0] < 0.7 * plain.placement.loads[0]
    assert aware.p99 < 0.5 * plain.p99
