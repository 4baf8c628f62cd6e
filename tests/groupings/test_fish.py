"""FISH: width by heat, forgetting by epoch, the worker that is done first."""

import numpy as np
import pytest
from numpy.typing import NDArray

from unskew import Fish, WChoices, drift, simulate


def mixed(size: int, **shares: float) -> NDArray[np.int64]:
    """Rows of the keys 1, 2 … with these shares, all others seen once."""
    chance = np.random.default_rng(0)
    drawn = chance.random(size)
    keys = np.arange(1_000_000, 1_000_000 + size)
    start = 0.0
    for key, share in enumerate(shares.values(), start=1):
        keys[(drawn >= start) & (drawn < start + share)] = key
        start += share
    return keys


def width(keys: NDArray[np.int64], workers: NDArray[np.int32], key: int) -> int:
    return len(set(workers[keys == key].tolist()))


def test_a_key_has_half_as_many_workers_for_each_half_of_the_heat() -> None:
    keys = mixed(100_000, top=0.4, quarter=0.08, cold=0.002)
    workers = Fish(16).route_many(keys)
    settled = slice(50_000, None)
    assert width(keys, workers, 1) == 16
    # 0.08 is a fifth of 0.4, so ⌊log₂ 5⌋ = 2; chance in an epoch may make it ⌊log₂ 3.9⌋ = 1.
    assert width(keys[settled], workers[settled], 2) in (4, 8)
    assert width(keys, workers, 3) <= 2


def test_a_key_that_is_not_hot_has_two_workers_at_most() -> None:
    keys = np.random.default_rng(1).integers(0, 5_000, 60_000)
    workers = Fish(10).route_many(keys)
    assert max(width(keys, workers, key) for key in range(5_000)) <= 2


def test_a_key_that_was_hot_is_forgotten_within_a_few_epochs() -> None:
    grouping = Fish(10)
    grouping.route_many(np.full(5_000, 7))
    others = np.arange(10, 20_010)
    grouping.route_many(others)
    late = np.where(np.arange(20_000) % 400 == 0, 7, np.arange(30_000, 50_000))
    workers = grouping.route_many(late)
    assert width(late, workers, 7) <= 2


def test_a_worker_that_takes_three_times_as_long_gets_a_third_of_a_hot_key() -> None:
    grouping = Fish(4)
    grouping.note_queues(np.zeros(4), np.array([3.0, 1.0, 1.0, 1.0]))
    loads = np.bincount(grouping.route_many(np.full(20_000, 7)))
    assert loads[0] / loads[1:].mean() == pytest.approx(1 / 3, rel=0.05)


def test_it_is_evener_than_counts_of_all_rows_allow_where_hot_keys_change() -> None:
    stream = drift(10_000, 1.4, 10_000, 200_000, seed=3)
    fish, other = simulate(Fish(20), stream), simulate(WChoices(20), stream)
    assert fish.imbalance_percent < other.imbalance_percent


def test_the_key_whose_identity_is_zero_may_be_hot_like_any_other() -> None:
    fish = Fish(300)
    workers = fish.route_many(np.zeros(17, np.int64))
    assert set(workers.tolist()) <= set(fish.candidates(0))
    assert len(set(workers.tolist())) > 2
