import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unskew.errors import InvalidParameterError
from unskew.groupings.key import KeyGrouping
from unskew.groupings.partial_key import PartialKey
from unskew.groupings.plan import slots_of
from unskew.groupings.wrap import Wrap
from unskew.simulator.loads import simulate
from unskew.streams.zipf import zipf


@pytest.mark.parametrize("n_workers", [10, 50, 100])
@pytest.mark.parametrize("exponent", [0.8, 1.0, 1.2, 1.6, 2.0])
def test_wrap_is_even_at_the_memory_of_key_grouping(exponent: float, n_workers: int) -> None:
    stream = zipf(keys=100_000, exponent=exponent, messages=5_000_000, seed=1)
    result = simulate(Wrap(n_workers), stream)
    assert result.learned_messages == 1_000_000
    assert result.imbalance_percent <= 1.5
    assert result.memory <= result.keys + n_workers - 1


@settings(deadline=None, max_examples=40)
@given(
    counts=st.lists(st.integers(1, 400), min_size=1, max_size=60),
    n_workers=st.integers(1, 20),
    seed=st.integers(0, 100),
)
def test_a_plan_splits_little_and_loses_nothing(
    counts: list[int], n_workers: int, seed: int
) -> None:
    keys = np.repeat(np.arange(len(counts)), counts)
    plan = Wrap(n_workers, seed=seed).learn(keys).build().plan
    assert plan.extra_pieces <= n_workers - 1
    assert plan.predicted_loads.sum() == pytest.approx(sum(counts))
    # Every key is known here, so what is not even is less than the largest slot placed whole.
    slots = slots_of(np.arange(len(counts), dtype=np.uint64), plan.slot_member, 65_536)
    whole = ~np.isin(np.arange(len(counts)), plan.hot_ids)
    largest = np.bincount(slots[whole], weights=np.array(counts)[whole], minlength=1).max()
    assert plan.predicted_loads.max() <= sum(counts) / n_workers + largest + 1e-6


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 30), st.integers(0, 50))
def test_rows_of_a_key_go_only_to_its_pieces(n_workers: int, seed: int) -> None:
    keys = np.random.default_rng(seed).zipf(1.4, 3_000) % 300
    grouping = Wrap(n_workers).learn(keys).build()
    workers = grouping.route_many(keys)
    for key in np.unique(keys)[:20].tolist():
        assert set(workers[keys == key].tolist()) <= set(grouping.candidates(key))


def test_a_key_that_was_not_in_the_sample_finds_a_worker() -> None:
    grouping = Wrap(7).learn([1, 2, 3] * 50).build()
    assert 0 <= grouping.route(4_711) < 7


def test_slots_that_the_sample_missed_are_dealt_evenly() -> None:
    grouping = Wrap(10, slots=1_000).learn([1] * 50).build()
    assert np.bincount(grouping.plan.slot_workers, minlength=10).max() <= 120


def test_it_beats_key_grouping_and_partial_key_where_one_key_is_hot() -> None:
    stream = zipf(keys=10_000, exponent=1.4, messages=400_000, seed=5)
    ours, plain, split = (
        simulate(scheme, stream, sources=5, learn=0.2)
        for scheme in (Wrap(20), KeyGrouping(20), PartialKey(20))
    )
    assert ours.imbalance_percent < 0.1 * split.imbalance_percent < plain.imbalance_percent
    assert ours.replication < split.replication


def test_new_plans_follow_a_stream_that_changes() -> None:
    first, then = np.arange(60_000) % 3, np.arange(60_000) % 3 + 10
    once = simulate(Wrap(8), np.concatenate([first, then]), learn=0.5)
    again = simulate(Wrap(8), np.concatenate([first, then]), epoch=10_000)
    assert again.imbalance_percent < once.imbalance_percent


def test_weights_are_balanced_instead_of_rows() -> None:
    rng = np.random.default_rng(6)
    keys = rng.zipf(1.3, 60_000) % 2_000
    weights = np.where(keys % 2 == 0, 9.0, 1.0)
    grouping = Wrap(10).learn(keys, weights=weights).build()
    workers = grouping.route_many(keys, weights=weights)
    loads = np.bincount(workers, weights=weights, minlength=10)
    assert loads.max() / loads.mean() < 1.02


def test_an_empty_sample_gives_a_plan_all_the_same() -> None:
    workers = Wrap(4).build().route_many(np.arange(4_000))
    assert np.bincount(workers, minlength=4).min() > 800


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slots": 0}, "slots must be an int in"),
        ({"hot_keys": 0}, "hot_keys must be an int >= 1"),
        ({"decay": 1.5}, r"decay must be a number in \[0, 1\]"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Wrap(5, **parameters)
