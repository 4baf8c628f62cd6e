"""Adaptive: as Flink chooses among the next channels; round-robin where nothing waits."""

import numpy as np
import pytest
from tests.groupings.uneven import with_a_slow_worker

from unskew import Adaptive, Shuffle


@pytest.mark.parametrize(
    ("traverse", "waiting", "chosen"),
    [
        # Rows of the table in Flink's own AdaptiveLoadBasedRecordWriterTest.
        (2, [2, 3, 4], 0),
        (2, [0, 0, 0], 0),
        (3, [2, 3, 4], 0),
        (2, [2, 3, 4, 2, 3, 4], 0),
        (2, [3, 2, 4, 2, 3, 4], 1),
        (2, [0, 0, 4, 2, 3, 4], 0),
    ],
)
def test_it_chooses_as_flink_does(traverse: int, waiting: list[int], chosen: int) -> None:
    workers = len(waiting)
    grouping = Adaptive(workers, traverse=traverse, seed=workers - 1)  # next is the first
    grouping.note_queues(np.array(waiting, np.float64), np.ones(workers))
    assert grouping.route("a") == chosen


def test_it_is_round_robin_where_nothing_is_known_to_wait() -> None:
    placed = Adaptive(5, seed=4).route_many(["hot"] * 1_000)
    assert placed.tolist() == Shuffle(5).route_many(["hot"] * 1_000).tolist()


def test_looking_at_one_worker_is_round_robin_whatever_waits() -> None:
    grouping = Adaptive(3, traverse=1)
    grouping.note_queues(np.array([0.0, 900.0, 0.0]), np.ones(3))
    assert grouping.route_many(["a"] * 4).tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(("workers", "sources"), [(6, 3), (7, 3), (3, 5)])
def test_sources_that_rescale_have_parts_that_make_up_all_workers(
    workers: int, sources: int
) -> None:
    parts = [each.candidates("a") for each in Adaptive(workers, rescale=True).for_sources(sources)]
    assert set().union(*parts) == set(range(workers))
    if sources <= workers:
        assert sum(map(len, parts)) == workers


def test_a_slow_worker_gets_fewer_rows_and_holds_nobody_up() -> None:
    adaptive, plain = with_a_slow_worker(Adaptive(4)), with_a_slow_worker(Shuffle(4))
    assert adaptive.placement.loads[0] < 0.5 * adaptive.placement.loads[1]
    assert adaptive.p99 < 0.05 * plain.p99
