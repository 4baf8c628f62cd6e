"""The steps of the counting Bloom filter, through a small class that only tests need."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from unskew._compiled import compiled
from unskew.hashing import Ids, Key, Keys, derive_seeds, identities, mix
from unskew.sketches.counting_bloom import add_hash, contains_hash, new_counters, remove_hash


class CountingBloom:
    """A set of keys, each as often as it was added."""

    def __init__(self, capacity: int, *, false_positive_rate: float = 0.01, seed: int = 0) -> None:
        self.counters, self.probes = new_counters(capacity, false_positive_rate)
        self._hash_seed = derive_seeds(seed, 1, purpose="counting-bloom")[0]

    def add(self, key: Key) -> None:
        self.add_many([key])

    def add_many(self, keys: Keys) -> None:
        _add_many(self.counters, self.probes, identities(keys), self._hash_seed)

    def remove(self, key: Key) -> bool:
        """Undo one `add` of ``key``; return False, and do nothing, if it is surely absent."""
        return bool(_remove(self.counters, self.probes, identities([key]), self._hash_seed))

    def contains(self, key: Key) -> bool:
        return bool(self.contains_many([key])[0])

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        ids = identities(keys)
        out = np.empty(ids.size, np.bool_)
        _contains_many(self.counters, self.probes, ids, self._hash_seed, out)
        return out


@compiled
def _add_many(counters: NDArray[np.uint8], probes: int, ids: Ids, seed: np.uint64) -> None:
    for i in range(ids.size):
        add_hash(counters, probes, mix(ids[i], seed))


@compiled
def _remove(counters: NDArray[np.uint8], probes: int, ids: Ids, seed: np.uint64) -> bool:
    bits = mix(ids[0], seed)
    present = contains_hash(counters, probes, bits)
    if present:
        remove_hash(counters, probes, bits)
    return present


@compiled
def _contains_many(
    counters: NDArray[np.uint8], probes: int, ids: Ids, seed: np.uint64, out: NDArray[np.bool_]
) -> None:
    for i in range(ids.size):
        out[i] = contains_hash(counters, probes, mix(ids[i], seed))


small_keys = st.lists(st.integers(0, 30), max_size=200)


@settings(deadline=None, max_examples=60)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=300))
def test_a_key_added_more_often_than_removed_is_never_denied(steps: list[tuple[bool, int]]) -> None:
    bloom, truth = CountingBloom(8), Counter[int]()
    for adds, key in steps:
        if adds:
            bloom.add(key)
            truth[key] += 1
        elif truth[key] > 0:
            assert bloom.remove(key)
            truth[key] -= 1
    held = [key for key, count in truth.items() if count > 0]
    assert bloom.contains_many(held).all()


@settings(deadline=None, max_examples=40)
@given(keys=small_keys)
def test_removing_all_that_was_added_leaves_nothing(keys: list[int]) -> None:
    bloom = CountingBloom(50)
    bloom.add_many(keys)
    for key in keys:
        assert bloom.remove(key)
    assert not bloom.counters.any()


@pytest.mark.parametrize("capacity", [1, 10, 300, 5_000, 100_000])
@pytest.mark.parametrize("rate", [0.2, 0.01, 0.001])
def test_a_full_filter_wrongly_claims_at_most_the_promised_share(
    capacity: int, rate: float
) -> None:
    absent, trials = 200_000, 5
    claimed = 0
    for seed in range(trials):
        bloom = CountingBloom(capacity, false_positive_rate=rate, seed=seed)
        bloom.add_many(np.arange(capacity))
        claimed += int(bloom.contains_many(np.arange(capacity, capacity + absent)).sum())
    tests = absent * trials
    assert claimed <= rate * tests + 4 * math.sqrt(rate * (1 - rate) * tests)


def test_an_overflowing_counter_stays_where_it_is() -> None:
    bloom = CountingBloom(4)
    for _ in range(300):
        bloom.add("often")
    for _ in range(300):
        assert bloom.remove("often")
    assert bloom.contains("often")
    assert bloom.counters.max() == 255


def test_additions_below_the_limit_of_a_counter_are_counted_exactly() -> None:
    bloom = CountingBloom(4)
    for _ in range(254):
        bloom.add("often")
    for _ in range(254):
        bloom.remove("often")
    assert not bloom.contains("often")


def test_removing_an_absent_key_does_nothing() -> None:
    bloom = CountingBloom(100)
    bloom.add_many(range(50))
    before = bloom.counters.copy()
    absent = next(key for key in range(1000, 2000) if not bloom.contains(key))
    assert not bloom.remove(absent)
    assert np.array_equal(bloom.counters, before)
