"""The laws of d-choices that w-choices does not share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew.errors import InvalidParameterError
from unskew.groupings.choices.d_choices import DChoices, distinct_workers, fewest_choices
from unskew.groupings.choices.w_choices import WChoices
from unskew.groupings.partial_key import PartialKey


def zipf_keys(exponent: float, n_keys: int, n_rows: int, seed: int) -> NDArray[np.int64]:
    cumulative = np.cumsum(np.arange(1, n_keys + 1) ** -exponent)
    draws = np.random.default_rng(seed).random(n_rows) * cumulative[-1]
    keys: NDArray[np.int64] = np.searchsorted(cumulative, draws).astype(np.int64)
    return keys


def holds(choices: int, shares: list[float], n: int, tolerance: float) -> bool:
    """The inequality of the paper, term by term, for every prefix of the head."""
    for h in range(1, len(shares) + 1):
        b = n - n * ((n - 1) / n) ** (h * choices)
        prefix, rest, tail = sum(shares[:h]), sum(shares[h:]), 1 - sum(shares)
        load = prefix + (b / n) ** choices * rest + (b / n) ** 2 * tail
        if load > b * (1 / n + tolerance) + 1e-12:
            return False
    return True


shares_of_head = (
    st.lists(st.floats(0.01, 1), max_size=12)
    .map(lambda parts: sorted((part / (sum(parts) + 0.5) for part in parts), reverse=True))
    .map(lambda shares: [share for share in shares if share >= 0.001])
)


@given(shares_of_head, st.integers(1, 60), st.sampled_from([0.0, 1e-4, 1e-2]))
@settings(deadline=None)
def test_choices_are_the_fewest_that_the_inequality_allows(
    shares: list[float], workers: int, tolerance: float
) -> None:
    found = fewest_choices(np.array(shares), workers, tolerance)
    assert not any(holds(d, shares, workers, tolerance - 1e-9) for d in range(2, found))
    assert found == workers or holds(found, shares, workers, tolerance)


def test_choices_follow_from_the_share_of_a_single_key() -> None:
    # 0.25 + 0.75 x² <= 1.002 x for x = b / n gives x >= 0.332, so 0.95^d <= 0.668: d >= 7.9.
    assert fewest_choices(np.array([0.25]), 20, 1e-4) == 8
    # No d < n is enough for a key that has everything, two are where nothing is hot.
    assert fewest_choices(np.array([1.0]), 20, 1e-4) == 20
    assert fewest_choices(np.empty(0), 20, 1e-4) == 2


@given(st.integers(2, 300), st.data())
@settings(deadline=None)
def test_distinct_workers_are_the_mean_of_independent_choices(
    workers: int, data: st.DataObject
) -> None:
    choices = data.draw(st.integers(1, workers - 1))
    mean = workers * (1 - (1 - 1 / workers) ** choices)
    assert mean - 1e-9 <= distinct_workers(choices, workers) < mean + 1 + 1e-9
    assert distinct_workers(choices, workers) <= choices


def test_a_hot_key_has_the_workers_that_the_inequality_asks_for() -> None:
    workers = 20
    keys = np.arange(200_000)
    keys[::4] = -1
    grouping = DChoices(workers, seed=5)
    used = set(grouping.route_many(keys)[::4].tolist())
    # 8 choices (see above) hit 6.7 of 20 workers on average; the very first estimates of the
    # share come from few rows and may have asked for a little more or less.
    assert 6 <= len(used) <= 9
    assert used <= set(grouping.candidates(-1))


def test_candidates_of_a_hot_key_start_with_those_of_two_choices() -> None:
    for key in range(50):
        two = set(PartialKey(30, seed=3).candidates(key))
        grouping = DChoices(30, seed=3)
        assert set(grouping.candidates(key)) == two
        grouping.route_many([key, *range(1000, 1010)] * 300)
        assert two <= set(grouping.candidates(key))


def test_hot_keys_are_on_fewer_workers_than_with_w_choices() -> None:
    keys = zipf_keys(1.2, 20_000, 400_000, seed=4)
    hottest = keys == 0
    few = set(DChoices(100).route_many(keys)[hottest].tolist())
    many = set(WChoices(100).route_many(keys)[hottest].tolist())
    assert len(few) < 50
    assert len(many) == 100


def test_a_higher_tolerance_needs_fewer_workers() -> None:
    keys = zipf_keys(1.4, 20_000, 200_000, seed=4)
    spread = [
        len(set(DChoices(50, tolerance=tolerance).route_many(keys)[keys == 0].tolist()))
        for tolerance in (1e-4, 5e-3)
    ]
    assert spread[1] < spread[0]


@pytest.mark.parametrize("workers", [3, 20, 130])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_rows_of_a_hot_key_go_to_its_least_loaded_candidate(workers: int, weight: float) -> None:
    grouping = DChoices(workers, tolerance=0.6 / workers, seed=1)
    loads = np.zeros(workers)
    for row in range(1500):
        key = (0, 1, 0)[row % 3]
        worker = grouping.route(key, weight=weight)
        # By now it is known how many candidates the two keys need.
        if row >= 600:
            assert loads[worker] == min(loads[list(grouping.candidates(key))])
        loads[worker] += 1


@pytest.mark.parametrize("tolerance", [-1e-9, float("nan"), "much"])
def test_a_bad_tolerance_is_refused(tolerance: float) -> None:
    with pytest.raises(InvalidParameterError, match="DChoices: tolerance must be a number >= 0"):
        DChoices(4, tolerance=tolerance)
