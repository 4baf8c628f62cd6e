"""Laws of the online greedy scheduler that knows every cost."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.groupings.full_knowledge import FullKnowledge

costs_lists = st.lists(st.floats(0, 1e6), min_size=1, max_size=150)


def loads_of(placed: list[int], costs: list[float], workers: int) -> list[float]:
    return [float(load) for load in np.bincount(placed, weights=costs, minlength=workers)]


@settings(deadline=None, max_examples=80)
@given(costs=costs_lists, workers=st.integers(1, 12))
def test_the_largest_load_keeps_grahams_bound(costs: list[float], workers: int) -> None:
    placed = FullKnowledge(workers).route_many(np.arange(len(costs)), weights=costs)
    largest = max(loads_of(placed.tolist(), costs, workers))
    bound = sum(costs) / workers + max(costs) * (1 - 1 / workers)
    assert largest <= bound * (1 + 1e-9)


@pytest.mark.parametrize("workers", [2, 3, 5, 8])
def test_the_bound_is_reached_by_the_papers_example(workers: int) -> None:
    costs = [1.0] * (workers * (workers - 1)) + [float(workers)]
    placed = FullKnowledge(workers).route_many(np.arange(len(costs)), weights=costs)
    best = sum(costs) / workers  # all small rows on k − 1 workers, the large one on the last
    assert max(loads_of(placed.tolist(), costs, workers)) == (2 - 1 / workers) * best


@settings(deadline=None, max_examples=60)
@given(
    costs=costs_lists,
    speeds=st.lists(st.floats(0.1, 10), min_size=3, max_size=3),
)
def test_each_row_goes_to_a_worker_that_is_free_first(
    costs: list[float], speeds: list[float]
) -> None:
    workers = FullKnowledge(3, speeds=speeds).route_many(np.arange(len(costs)), weights=costs)
    loads = [0.0] * 3
    for worker, cost in zip(workers.tolist(), costs, strict=True):
        assert loads[worker] == min(loads)
        loads[worker] += cost * speeds[worker]


def test_rows_without_costs_are_spread_evenly() -> None:
    workers = FullKnowledge(4).route_many(["same key"] * 103)
    counts = np.bincount(workers, minlength=4)
    assert counts.max() - counts.min() == 1


def test_the_seed_picks_the_first_worker() -> None:
    firsts = [int(FullKnowledge(4, seed=seed).route("a")) for seed in (0, 1, 6, -1)]
    assert firsts == [0, 1, 2, 3]


def test_changed_speeds_count_from_then_on() -> None:
    grouping = FullKnowledge(2)
    assert grouping.route_many([1, 2], weights=[1, 1]).tolist() == [0, 1]
    grouping.change_speeds([1.0, 3.0])
    # Worker 1 now takes thrice as long: of loads (1, 1) the first row goes to 0, then one to 1.
    assert grouping.route_many([1] * 5, weights=[1] * 5).tolist() == [0, 1, 0, 0, 0]


def test_every_worker_is_a_candidate_and_all_sources_share_one_object() -> None:
    grouping = FullKnowledge(3)
    assert grouping.candidates("any") == (0, 1, 2)
    assert grouping.splits_keys
    assert grouping.needs_costs
    assert grouping.for_source(1, 2) is grouping


def test_a_pickle_made_mid_stream_goes_on_alike() -> None:
    costs = np.random.default_rng(1).uniform(1, 64, 400)
    grouping = FullKnowledge(5, speeds=[1, 2, 1, 2, 1])
    grouping.route_many(np.arange(200), weights=costs[:200])
    copy = pickle.loads(pickle.dumps(grouping))
    rest = (np.arange(200), costs[200:])
    ours, theirs = (one.route_many(rest[0], weights=rest[1]) for one in (grouping, copy))
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("speeds", [[1.0], [1.0, 0.0], [1.0, -2.0], [1.0, float("nan")], "ab"])
def test_bad_speeds_are_refused(speeds: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="FullKnowledge: speeds must be 2 numbers > 0"):
        FullKnowledge(2, speeds=speeds)
