"""Dalton: hashing but for keys above a fair share, which learn where to go."""

import numpy as np
from numpy.typing import NDArray

from unskew import Dalton, KeyGrouping, simulate, zipf

SLIDE = 2_000


def half_hot(size: int) -> NDArray[np.int64]:
    keys = np.arange(size)
    keys[::2] = -1
    return keys


def test_keys_below_a_fair_share_stay_where_they_are_hashed() -> None:
    keys = np.random.default_rng(0).integers(0, 200, 50_000)
    workers = Dalton(8).route_many(keys)
    assert all(len(set(workers[keys == key].tolist())) == 1 for key in range(200))


def test_nothing_is_hot_in_the_first_slide() -> None:
    workers = Dalton(8, slide=SLIDE).route_many(np.full(SLIDE, 7))
    assert len(set(workers.tolist())) == 1


def test_a_key_of_half_of_all_rows_learns_to_use_several_workers() -> None:
    workers = Dalton(4, slide=SLIDE).route_many(half_hot(60_000))
    loads = np.bincount(workers[-20_000:], minlength=4)
    assert loads.max() < 1.25 * loads.mean()


def test_without_trials_a_key_moves_on_to_where_no_reward_is_known_yet_never() -> None:
    """The first reward is above −2, the value of what has not been tried."""
    workers = Dalton(4, slide=SLIDE, explore=0.0).route_many(half_hot(20_000))
    assert len(set(workers[::2].tolist())) == 1


def test_a_key_that_is_hot_no_more_is_hashed_again_after_the_next_slide() -> None:
    grouping = Dalton(6, slide=SLIDE)
    home = grouping.route(-1)
    grouping.route_many(half_hot(5 * SLIDE - 1))
    grouping.route_many(np.arange(10 * SLIDE, 12 * SLIDE))
    rare = np.where(np.arange(SLIDE) % 100 == 0, -1, np.arange(20 * SLIDE, 21 * SLIDE))
    assert set(grouping.route_many(rare)[::100].tolist()) == {home}


def test_it_is_more_even_than_hashing_with_hardly_a_copy_more() -> None:
    stream = zipf(keys=10_000, exponent=1.4, rows=300_000, seed=1)
    dalton, plain = simulate(Dalton(10), stream), simulate(KeyGrouping(10), stream)
    assert dalton.imbalance_percent < 0.3 * plain.imbalance_percent
    assert dalton.replication < 1.01
