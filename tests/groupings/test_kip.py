"""KIP: heavy keys one by one, the others by the room left; little moves between plans."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew import KeyGrouping, Kip, drift, simulate, zipf
from unskew.groupings.plan import places_of


def rows(seed: int, shift: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).zipf(1.3, 40_000) % 5_000 + shift


def test_as_many_keys_as_asked_for_are_isolated_and_they_are_the_hottest() -> None:
    keys = rows(1)
    plan = Kip(8, excess=1.5).learn(keys).build().plan
    found, counts = np.unique(keys, return_counts=True)
    hottest = set(found[np.argsort(-counts)][:8].tolist())
    assert plan.hot_ids.size == 12
    assert hottest <= set(plan.hot_ids.astype(np.int64).tolist())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), workers=st.integers(1, 12))
def test_slots_fill_every_worker_up_to_one_level(seed: int, workers: int) -> None:
    plan = Kip(workers).learn(rows(seed)).build().plan
    heavy = np.bincount(plan.pieces.workers, weights=plan.pieces.loads, minlength=workers)
    a_slot = (40_000 - heavy.sum()) / plan.slot_workers.size
    filled = heavy + a_slot * np.bincount(plan.slot_workers, minlength=workers)
    open_ = np.bincount(plan.slot_workers, minlength=workers) > 0
    # A worker without slots is above the level; all others are at it, to a slot.
    assert np.ptp(filled[open_]) <= 2 * a_slot
    assert filled[~open_].min(initial=np.inf) >= filled[open_].max() - 2 * a_slot


def test_a_stream_that_goes_on_alike_moves_nothing_heavy() -> None:
    grouping = Kip(8).learn(rows(1)).build()
    before = grouping.plan
    after = grouping.learn(rows(1)).build().plan
    assert np.mean(before.slot_workers == after.slot_workers) > 0.99
    for key_id in before.hot_ids:
        assert places_of(before, key_id) == places_of(after, key_id)


def test_only_slots_that_the_proportions_ask_for_move() -> None:
    grouping = Kip(8).learn(rows(1)).build()
    before = np.bincount(grouping.plan.slot_workers, minlength=8)
    old = grouping.plan.slot_workers
    new = grouping.learn(rows(2, shift=9_000)).build().plan.slot_workers
    after = np.bincount(new, minlength=8)
    assert np.count_nonzero(old != new) == np.maximum(before - after, 0).sum()


def test_it_is_more_even_than_hashing_where_no_key_fills_a_worker() -> None:
    stream = zipf(keys=10_000, exponent=1.0, rows=400_000, seed=3)
    kip, plain = simulate(Kip(8), stream), simulate(KeyGrouping(8), stream, learn=0.2)
    assert kip.imbalance_percent < 0.6 * plain.imbalance_percent
    assert kip.replication == 1.0


def test_it_follows_a_stream_whose_hot_keys_change() -> None:
    stream = drift(10_000, 1.0, 50_000, 400_000, seed=3)
    planned, plain = (simulate(each, stream, epoch=5_000) for each in (Kip(8), KeyGrouping(8)))
    assert planned.average_imbalance_fraction < plain.average_imbalance_fraction


def test_a_first_plan_from_nothing_is_plain_hashing() -> None:
    grouping = Kip(4)
    before = grouping.plan.slot_workers.copy()
    assert grouping.build().plan.slot_workers.tolist() == before.tolist()


def test_one_key_alone_leaves_the_others_hashed_as_they_were() -> None:
    grouping = Kip(4)
    before = grouping.plan.slot_workers.tolist()
    assert grouping.learn([7] * 50).build().plan.slot_workers.tolist() == before


@pytest.mark.parametrize("excess", [0.0, -1.0])
def test_some_keys_must_be_isolated(excess: float) -> None:
    with pytest.raises(ValueError, match="excess must be a number > 0"):
        Kip(4, excess=excess)
